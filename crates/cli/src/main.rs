//! The program `outbox`: the outbox for shells, scripts and other languages. It reads its arguments, opens what they name,
//! and calls the library; rules about messages live there.

#![expect(
    clippy::doc_markdown,
    clippy::doc_link_with_quotes,
    reason = "the doc comments of arguments are what --help prints"
)]

mod args;
mod command;
mod exit;
mod failure;
mod line;
mod logs;
mod output;
mod publisher;
mod redact;
mod signals;
mod store;
mod table;

use std::{
    env,
    ffi::OsString,
    io::{self, Write},
    process::ExitCode,
};

use clap::Parser;

use crate::{args::Cli, exit::Exit, failure::Failure, output::Output};

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return ExitCode::from(explain(&error, env::args_os()).code()),
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
    let runtime = tokio::runtime::Runtime::new()
        .map_err(|error| Failure::new(Exit::Broken, format!("cannot start: {error}")))?;
    let result = runtime.block_on(command::run(cli.command, output));
    // A write to a pipe that nobody empties must not hold the program.
    runtime.shutdown_background();
    result
}

/// Prints help, or what is wrong with the arguments. An argument in the wrong place may be a URL with a password.
fn explain(error: &clap::Error, args: impl Iterator<Item = OsString>) -> Exit {
    if !error.use_stderr() {
        return match error.print() {
            Ok(()) => Exit::Done,
            Err(_) => Exit::Closed,
        };
    }
    let text = error.render().to_string();
    // What was not understood cannot say whether it asked for JSON, so the words are looked at.
    let args: Vec<OsString> = args.collect();
    if args.iter().any(|arg| arg == "--json") {
        let output = Output::new(true);
        let to_stdout = args
            .iter()
            .any(|arg| arg == "stdout:" || arg == "--to=stdout:");
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
