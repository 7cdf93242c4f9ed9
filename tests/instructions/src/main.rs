//! The pure hot paths, for `cargo xtask instructions`, which runs each under valgrind and counts its instructions.
//!
//! Without arguments it prints the names of the paths; with a name and a number it goes that way so often. It measures nothing
//! itself. It is a package of its own, so that no feature that another crate asks for changes what is counted.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program talks to who runs it"
)]

use std::env;
use std::process::ExitCode;

mod meter;
mod path;

use meter::Meter;

fn main() -> ExitCode {
    let paths = path::all();
    let args: Vec<_> = env::args().skip(1).collect();
    let [name, rounds] = &args[..] else {
        for path in &paths {
            println!("{}", path.name);
        }
        return ExitCode::SUCCESS;
    };
    let path = paths.iter().find(|path| path.name == *name);
    let (Some(path), Ok(rounds)) = (path, rounds.parse::<u32>()) else {
        eprintln!("usage: outbox-instructions [<one of the paths it prints> <rounds>]");
        return ExitCode::FAILURE;
    };
    // What is done once in the life of a process is no part of a path.
    path.go(Meter::Off);
    for _ in 0..rounds {
        path.go(Meter::On);
    }
    ExitCode::SUCCESS
}
