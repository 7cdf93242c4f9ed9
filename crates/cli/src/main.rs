//! The program `outbox`: the outbox for shells, scripts and other languages. It reads its arguments, opens what they name,
//! and calls the library; rules about messages live there.

#![expect(
    clippy::doc_markdown,
    clippy::doc_link_with_quotes,
    reason = "the doc comments of arguments are what --help prints"
)]

mod actor;
mod args;
mod command;
mod config;
mod exit;
mod failure;
mod line;
mod logs;
mod output;
mod publisher;
mod redact;
mod routes;
mod signals;
mod store;
mod table;

use std::{
    env,
    io::{self, Write},
    process::ExitCode,
};

use clap::{
    Parser,
    error::{ContextKind, ErrorKind},
};
use mimalloc::MiMalloc;
use tokio::runtime::{Builder, Runtime};

use crate::{args::Cli, config::Arguments, exit::Exit, failure::Failure, output::Output};

/// A message is allocated in one thread and freed in another, which the allocators of C libraries do slowly, that of musl most
/// of all.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    let arguments = match Arguments::gather(env::args_os().collect()) {
        Ok(arguments) => arguments,
        Err(failure) => {
            let json = env::args_os().any(|arg| arg == "--json");
            Output::new(json).failure(&failure);
            return ExitCode::from(failure.exit.code());
        }
    };
    let cli = match Cli::try_parse_from(&arguments.all) {
        Ok(cli) => cli,
        Err(error) => return ExitCode::from(explain(&error, &arguments).code()),
    };
    let output = Output::new(cli.json);
    let exit = match run(cli, output) {
        Ok(exit) => exit,
        Err(failure) => {
            output.failure(&failure);
            failure.exit
        }
    };
    ExitCode::from(exit.code())
}

fn run(cli: Cli, output: Output) -> Result<Exit, Failure> {
    logs::start(cli.log_format, cli.command.log_filter())?;
    let runtime = start(cli.command.threads())
        .map_err(|error| Failure::new(Exit::Broken, format!("cannot start: {error}")))?;
    let result = runtime.block_on(command::run(cli.command, output));
    // A write to a pipe that nobody empties must not hold the program.
    runtime.shutdown_background();
    result
}

/// The runtime. With one thread, what ends wakes no other thread, which is half the work of a relay whose broker is fast.
fn start(threads: Option<usize>) -> io::Result<Runtime> {
    let mut builder = match threads {
        Some(1) => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    if let Some(threads) = threads {
        builder.worker_threads(threads);
    }
    builder.enable_all().build()
}

/// Where options can stand, for those who miss one.
const ELSEWHERE: &str =
    "\nAn option may also stand in the environment, --store as OUTBOX_STORE, or in outbox.toml.\n";

/// Prints help, or what is wrong with the arguments. An argument in the wrong place may be a URL with a password.
fn explain(error: &clap::Error, arguments: &Arguments) -> Exit {
    if !error.use_stderr() {
        return match error.print() {
            Ok(()) => Exit::Done,
            Err(_) => Exit::Closed,
        };
    }
    let mut text = error.render().to_string();
    let named = error.get(ContextKind::InvalidArg).map(ToString::to_string);
    if let Some(source) = named.as_deref().and_then(|named| arguments.source(named)) {
        text = format!("{text}\nThe value comes from {source}.\n");
    }
    if error.kind() == ErrorKind::MissingRequiredArgument {
        text.push_str(ELSEWHERE);
    }
    // What was not understood cannot say whether it asked for JSON, so the words are looked at.
    if arguments.all.iter().any(|arg| arg == "--json") {
        let output = Output::new(true);
        let to_stdout = arguments.all.iter().any(|arg| {
            let arg = arg.to_string_lossy();
            arg == "stdout:" || arg.ends_with("=stdout:")
        });
        let output = if to_stdout {
            output.beside_stdout()
        } else {
            output
        };
        output.failure(&wrong_usage(&text));
    } else {
        // Nobody is left to tell.
        let _ = io::stderr().write_all(redact::redact(&text).as_bytes());
    }
    Exit::Input
}

/// The parser's text, whose first paragraph is the error.
fn wrong_usage(text: &str) -> Failure {
    let (what, hint) = text.split_once("\n\n").unwrap_or((text, ""));
    let words: Vec<&str> = what.split_whitespace().collect();
    let lines: Vec<&str> = hint
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let what = words.join(" ");
    Failure::new(Exit::Input, what.strip_prefix("error: ").unwrap_or(&what)).hint(lines.join("\n"))
}
