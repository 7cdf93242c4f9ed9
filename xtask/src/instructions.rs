//! `cargo xtask instructions`: how many instructions the pure hot paths take, which does not depend on how fast or how busy a
//! machine is, beside what they took when that was last accepted.
//!
//! Valgrind runs the package `outbox-instructions`, one path at a time. What is counted is the code of this workspace, of what it
//! depends on and of Rust's standard library. That of the C library is left out: there the count depends on its version, on the
//! vectors of the processor and on what the heap went through. Of what it does only the allocations are counted.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::metadata;
use crate::server::install::install;
use crate::shell::{self, Failure, Result, cargo};

mod counts;
mod profile;

use counts::{Counts, Environment};
use profile::Cost;

/// The package and its program.
const PACKAGE: &str = "outbox-instructions";
/// What is accepted.
const COUNTS: &str = "tests/instructions/counts.json";

/// How often each path is gone. Each hash map of the standard library has a seed of its own, drawn at random: over so many the
/// counts of a path agree to a thousandth.
const ROUNDS: u64 = 20;

const ACCEPT: &str = "make the path as cheap as it was, or, if the change is meant, accept it in the same commit and say why \
     in its body: cargo xtask instructions --accept (it rewrites tests/instructions/counts.json)";

/// Counts, and compares with what is accepted.
///
/// # Errors
///
/// A failure if a path costs more or less than the margin allows.
pub(crate) fn judge() -> Result {
    let file = metadata::read()?.root.join(COUNTS);
    let accepted = Counts::read(&file)?;
    let here = environment()?;
    if here.host != accepted.environment.host {
        let (host, there) = (&here.host, &accepted.environment.host);
        println!("warning: instructions: the counts are of {there}, and say nothing about {host}");
        return Ok(());
    }
    let now = count(here)?;
    print!("{}", now.table());
    if now.environment != accepted.environment {
        println!(
            "counted with {}, and accepted with {}, which alone may change counts",
            now.environment, accepted.environment
        );
    }
    shell::report("instructions", &accepted.offences(&now), ACCEPT)
}

/// Counts, and writes down what is accepted from now on. What is within the margin stays as it is, so that many small losses do
/// not add up to a large one.
pub(crate) fn accept() -> Result {
    let file = metadata::read()?.root.join(COUNTS);
    let now = count(environment()?)?;
    print!("{}", now.table());
    let accepted = match Counts::read(&file) {
        Ok(accepted) => accepted.moved_to(now),
        Err(_) => now, // There is none, or it cannot be read: this is what mends it.
    };
    accepted.write(&file)
}

fn count(environment: Environment) -> Result<Counts> {
    provide()?;
    let program = build()?;
    let names = shell::read(
        &mut Command::new(&program),
        "it prints the names of its paths",
    )?;
    let paths = names
        .lines()
        .map(|name| Ok((name.to_owned(), cost(&program, name)?)));
    Ok(Counts {
        environment,
        paths: paths.collect::<Result<_>>()?,
    })
}

/// Builds the program as it is built everywhere, whatever flags stand in this machine's settings.
fn build() -> Result<PathBuf> {
    let mut build = cargo(["build", "--profile", "instructions", "-p", PACKAGE]);
    build
        .env("CARGO_ENCODED_RUSTFLAGS", "")
        .env("CARGO_INCREMENTAL", "0");
    shell::run(&mut build, "mend what the compiler says above")?;
    let programs = metadata::read()?.target_directory.join("instructions");
    Ok(programs.join(PACKAGE))
}

/// Goes one path under valgrind.
fn cost(program: &Path, name: &str) -> Result<Cost> {
    let out = program.with_file_name("callgrind.out");
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--tool=callgrind", "--toggle-collect=*instructions_of*"])
        .args(["--dump-instr=yes", "--dump-line=no"])
        .args(["--compress-strings=no", "--compress-pos=no"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(program)
        .args([name, &ROUNDS.to_string()])
        .env_clear();
    let fix = format!(
        "see what valgrind says: valgrind --tool=callgrind {}",
        program.display()
    );
    let failed = |what: &dyn std::fmt::Display| Failure::new(format!("{name}: {what}"), &fix);
    let done = valgrind.output().map_err(|error| failed(&error))?;
    if !done.status.success() {
        return Err(failed(&String::from_utf8_lossy(&done.stderr)));
    }
    let profile = std::fs::read_to_string(&out).map_err(|error| failed(&error))?;
    profile::cost(&profile, PACKAGE, ROUNDS).ok_or_else(|| failed(&"nothing was counted"))
}

/// Sees to it that valgrind is installed.
fn provide() -> Result {
    if is_there() || (install(&["valgrind"])? && is_there()) {
        return Ok(());
    }
    Err(Failure::new(
        "instructions: valgrind is not installed",
        "install it (Debian and Ubuntu: apt-get install valgrind)",
    ))
}

fn is_there() -> bool {
    let mut valgrind = Command::new("valgrind");
    valgrind.arg("--version").stdout(Stdio::null());
    valgrind.status().is_ok_and(|status| status.success())
}

/// What the counts depend on beside the code.
fn environment() -> Result<Environment> {
    let told = shell::read(Command::new("rustc").arg("-vV"), "install Rust")?;
    let host = told.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(Environment {
        compiler: told.lines().next().unwrap_or_default().to_owned(),
        host: host.unwrap_or_default().to_owned(),
    })
}
