//! `cargo xtask test`: every test, doctest and example of the workspace with servers for them, the ten slowest tests, and
//! what the pure hot paths cost.
//!
//! The tests run under plain `cargo test`. Stable libtest does not tell how long a test took, so each test program is
//! started by `test/timed.rs`, which asks it to; doctests are not timed one by one.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::instructions;
use crate::lint::EVERY_PART;
use crate::metadata::{self, Workspace};
use crate::server::Servers;
use crate::shell::{self, Failure, Result, cargo};

pub(crate) mod timed;
mod times;

/// Examples that go on until they are told to stop; a test of outbox-tests runs each.
const SERVERS: &[&str] = &["axum_service", "inbox_service"];

const SLOWEST: usize = 10;

/// Runs the tests; `args` go to `cargo test`, and with any the examples and the counting are left out. Without `-p`
/// all crates are tested.
pub(crate) fn run(args: &[String]) -> Result {
    let workspace = metadata::read()?;
    let times = workspace.target_directory.join("xtask-test-times");
    // Left from an earlier run; it is not there the first time.
    let _ = fs::remove_file(&times);

    let chosen = args
        .iter()
        .any(|arg| arg.starts_with("-p") || arg.starts_with("--package"));
    let servers = Servers::find(&[])?;
    let mut tests = cargo(["test", "--profile", "ci", "--no-fail-fast"]);
    tests
        .args(if chosen {
            &[][..]
        } else {
            &["--workspace", "--features", EVERY_PART]
        })
        .args(["--config", &runner()?])
        .args(args)
        .env(timed::TIMES, &times);
    servers.lend(&mut tests);
    let tested = shell::run(
        &mut tests,
        "run the failed test alone: cargo xtask test -p <crate> <name>",
    );
    print_slowest(&times);
    tested?;
    if args.is_empty() {
        examples(&workspace, &servers)?;
        instructions::judge()?;
    }
    Ok(())
}

/// Tells cargo to start each test program by `cargo xtask timed`.
fn runner() -> Result<String> {
    let this = env::current_exe().map_err(|error| {
        Failure::new(
            format!("cannot find this program: {error}"),
            "run it as cargo xtask test",
        )
    })?;
    Ok(format!(
        "target.\"cfg(all())\".runner = [\"{}\", \"{}\"]",
        this.display(),
        timed::COMMAND
    ))
}

fn print_slowest(times: &Path) {
    let kept = fs::read_to_string(times).unwrap_or_default();
    let slowest = times::slowest(&kept, SLOWEST);
    if slowest.is_empty() {
        return;
    }
    println!("\nthe {} slowest tests:", slowest.len());
    for (seconds, name) in slowest {
        println!("{seconds:>9.3} s  {name}");
    }
}

/// Runs each example of the facade; `cargo test` has built them.
fn examples(workspace: &Workspace, servers: &Servers) -> Result {
    let facade = workspace
        .packages
        .iter()
        .filter(|package| package.name == "outbox");
    let targets = facade.flat_map(|package| &package.targets);
    let examples = targets.filter(|target| target.kind.iter().any(|kind| kind == "example"));
    for example in examples.filter(|example| !SERVERS.contains(&example.name.as_str())) {
        let program = workspace
            .target_directory
            .join("ci/examples")
            .join(&example.name);
        let mut program = Command::new(program);
        servers.lend(&mut program);
        println!();
        shell::run(
            &mut program,
            "mend crates/outbox/examples; if it was not built, a member turns on the features that it requires",
        )?;
    }
    Ok(())
}
