//! `cargo xtask fuzz`: looks for bodies that break a law of outbox-envelope, guided by what code they reach.
//!
//! libFuzzer does it, in programs of the folder `fuzz`, which is a workspace of its own. Its guidance needs nothing but code
//! generation options of the stable compiler. There is no address sanitizer, which would need another compiler: the code has
//! no `unsafe`. What the ordinary tests replay lies in [`CORPUS`]; what a run finds beyond it stays under the target folder.

use std::fs;
use std::path::Path;

use clap::builder::PossibleValuesParser;

use crate::metadata::{self, Workspace};
use crate::shell::{self, Failure, Result, cargo};

const CORPUS: &str = "crates/envelope/tests/corpus/bodies";

/// The programs, one for each law.
const TARGETS: [&str; 3] = ["decode", "poison", "splice"];

/// What makes libFuzzer see the branches and comparisons that a body reaches.
const COVERAGE: [&str; 5] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];

/// What to do.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which law; all of them, one after the other, if none is named.
    #[arg(value_parser = PossibleValuesParser::new(TARGETS))]
    target: Option<String>,
    /// Files with bodies: holds the law to these alone, and looks for no others.
    #[arg(conflicts_with_all = ["seconds", "keep"])]
    bodies: Vec<String>,
    /// How long to look, for each law.
    #[arg(long, default_value_t = 60)]
    seconds: u32,
    /// Adds to the committed corpus what reached code that no body of it reaches.
    #[arg(long)]
    keep: bool,
}

/// Fuzzes one law, or all of them.
pub(crate) fn run(args: &Args) -> Result {
    let workspace = metadata::read()?;
    let chosen = |target: &&&str| args.target.as_deref().is_none_or(|named| named == **target);
    let done = TARGETS
        .iter()
        .filter(chosen)
        .map(|target| fuzz(&workspace, target, args));
    Failure::join(done.filter_map(Result::err).collect())
}

fn fuzz(workspace: &Workspace, target: &str, args: &Args) -> Result {
    let folder = workspace.target_directory.join("fuzz");
    if !args.bodies.is_empty() {
        return program(
            workspace,
            &folder,
            target,
            &args.bodies,
            "mend the law or what breaks it",
        );
    }
    let (reached, found) = (folder.join("reached").join(target), folder.join("found"));
    for folder in [&reached, &found] {
        fs::create_dir_all(folder).map_err(|error| {
            Failure::new(format!("{}: {error}", folder.display()), "make room there")
        })?;
    }
    let committed = workspace.root.join(CORPUS).display().to_string();
    let reached = reached.display().to_string();
    let options = [
        format!("-max_total_time={}", args.seconds),
        format!(
            "-dict={}",
            workspace.root.join("fuzz/envelope.dict").display()
        ),
        format!("-artifact_prefix={}/{target}-", found.display()),
        "-max_len=1024".to_owned(),
        "-timeout=10".to_owned(),
        "-print_final_stats=1".to_owned(),
        // What is found goes into the first.
        reached.clone(),
        committed.clone(),
    ];
    let fix = format!(
        "the body lies where libFuzzer says: cargo xtask fuzz {target} <file> shows it again; once it is mended, add it to {CORPUS}"
    );
    program(workspace, &folder, target, &options, &fix)?;
    if args.keep {
        // Whether code is reached counts, and not how often.
        let options = ["-merge=1", "-use_counters=0", &committed, &reached].map(str::to_owned);
        program(
            workspace,
            &folder,
            target,
            &options,
            "see what libFuzzer says above",
        )?;
    }
    Ok(())
}

/// Builds the program of a law, if need be, and runs it.
fn program(
    workspace: &Workspace,
    folder: &Path,
    target: &str,
    args: &[String],
    fix: &str,
) -> Result {
    let mut program = cargo(["run", "--release", "--bin", target]);
    program
        .arg("--manifest-path")
        .arg(workspace.root.join("fuzz/Cargo.toml"))
        .arg("--target-dir")
        .arg(folder)
        // With a target of its own, what only runs at build time is not instrumented.
        .args(["--target", "host-tuple", "--"])
        .args(args)
        .env("RUSTFLAGS", COVERAGE.join(" "));
    shell::run(&mut program, fix)
}
