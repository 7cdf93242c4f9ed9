//! The project's own commands, run as `cargo xtask <command>`. One file for each command; nothing here is published.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command talks to the person who runs it"
)]

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod check;
mod lint;
mod shell;
mod test;

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
    /// Formatting, clippy and documentation, all without warnings.
    Lint,
    /// Every test of the workspace.
    Test,
}

fn main() -> ExitCode {
    let done = match Xtask::parse().command {
        Command::Check => check::run(),
        Command::Lint => lint::run(),
        Command::Test => test::run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("\n{failure}");
            ExitCode::FAILURE
        }
    }
}
