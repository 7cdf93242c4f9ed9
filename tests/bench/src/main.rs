//! The scenarios of `cargo xtask bench`. Every system is a program of its own, so that what it costs can be told from what
//! its server costs; this program starts them in turn and measures.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "programs that talk to each other and to the person who runs them"
)]

mod costs;
mod drain;
mod files;
mod fleet;
mod measurement;
mod plot;
mod process;
mod program;
mod report;
mod scenario;
mod server;
mod system;
mod template;

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};
use mimalloc::MiMalloc;
use tokio::runtime::Builder;

/// As in the program `outbox`.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// What may go wrong: a bench ends with the first error.
pub(crate) type Result<T = ()> =
    std::result::Result<T, Box<dyn std::error::Error + Send + Sync + 'static>>;

#[derive(Debug, Parser)]
#[command(name = "outbox-bench")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measures scenarios and writes what was found.
    Run(Run),
    /// The systems themselves, which `run` starts.
    #[command(flatten)]
    Program(program::Program),
}

/// What to measure.
#[derive(Debug, clap::Args)]
pub(crate) struct Run {
    /// Numbers of scenarios; all if none is given.
    scenarios: Vec<u8>,
    /// Also writes every measurement to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// A peer: its name and its command, whose words are separated by the character U+001F. May be given more than once.
    #[arg(long, value_name = "NAME=COMMAND")]
    peer: Vec<system::Peer>,
    /// The packages of a peer and their versions, for the report.
    #[arg(long, value_name = "TEXT")]
    beside: Vec<String>,
    /// Small amounts and single rounds: shows that everything works, and says nothing about speed.
    #[arg(long)]
    small: bool,
    /// Writes the tables into this page, between the marks it has for them, and the plots beside it.
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

fn main() -> ExitCode {
    match start(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Relays have one thread, as in the program `outbox`.
fn start(command: Command) -> Result {
    let mut builder = match &command {
        Command::Program(program) if program.relays() => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    let runtime = builder.enable_all().build()?;
    runtime.block_on(async {
        match command {
            Command::Run(run) => scenario::run(run).await,
            Command::Program(program) => program.run().await,
        }
    })
}
