//! The project's own commands, run as `cargo xtask <command>`. One file for each command; nothing here is published.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command talks to the person who runs it"
)]

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use services::Action;

mod bench;
mod check;
mod dist;
mod fuzz;
mod instructions;
mod layers;
mod lint;
mod metadata;
mod package;
mod server;
mod services;
mod shell;
mod soak;
mod test;
mod tidy;
mod tools;

/// The commands of this workspace.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask", version)]
struct Xtask {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// What to run before a commit: lint, then test.
    Check,
    /// Formatting, tidy, layers, clippy and documentation, all without warnings.
    Lint,
    /// Every test, doctest and example, with servers for them, and `instructions`; prints the ten slowest tests.
    Test {
        /// Passed to `cargo test`; the examples and `instructions` are then left out.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// The arrows between crates, what they must never reach, and the features of `serde_json`.
    Layers,
    /// A sentence on top of every file, complete manifests, links that resolve.
    Tidy,
    /// An archive of every published crate, each built from its archive alone.
    Package,
    /// The program as one static file, in `target/dist`; for the musl target of this processor unless another is named.
    Dist {
        /// A target of the compiler, such as `x86_64-unknown-linux-gnu`.
        #[arg(long)]
        target: Option<String>,
    },
    /// The scenarios of docs/performance.md, on a private Postgres; or a bench by its name.
    Bench(bench::Args),
    /// Brings and builds the published packages that the benches compare with, and prints how each is driven.
    Peers,
    /// Looks for bodies that break a law of outbox-envelope.
    Fuzz(fuzz::Args),
    /// What the pure hot paths cost in instructions, beside what they may cost; with valgrind.
    Instructions {
        /// Makes what they cost now what they may cost.
        #[arg(long)]
        accept: bool,
    },
    /// The long forms of tests, with servers for them; each prints a report.
    Soak {
        /// Which of them; all if none is named.
        #[arg(value_parser = soak::names())]
        names: Vec<String>,
        /// Only tells what there is.
        #[arg(long, conflicts_with = "names")]
        list: bool,
    },
    /// A Postgres to play with, and where they are installed a pgbouncer in front of it and the brokers.
    Services {
        /// What to do with them.
        #[command(subcommand)]
        action: Action,
    },
    /// Starts one test program; `test` asks cargo to do it.
    #[command(name = test::timed::COMMAND, hide = true)]
    Timed {
        /// The program and its arguments.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        program: Vec<OsString>,
    },
}

fn main() -> ExitCode {
    let done = match Xtask::parse().command {
        Command::Check => check::run(),
        Command::Lint => lint::run(),
        Command::Test { args } => test::run(&args),
        Command::Layers => layers::run(),
        Command::Tidy => tidy::run(),
        Command::Package => package::run(),
        Command::Dist { target } => dist::run(target.as_deref()),
        Command::Bench(args) => bench::run(&args),
        Command::Peers => tools::peers::run(),
        Command::Fuzz(args) => fuzz::run(&args),
        Command::Instructions { accept: true } => instructions::accept(),
        Command::Instructions { accept: false } => instructions::judge(),
        Command::Soak { list: true, .. } => {
            soak::list();
            Ok(())
        }
        Command::Soak { names, .. } => soak::run(&names),
        Command::Services { action } => services::run(action),
        Command::Timed { program } => return test::timed::run(&program),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("\n{failure}");
            ExitCode::FAILURE
        }
    }
}
