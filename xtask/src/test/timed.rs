//! Starts one test program for cargo, asks it how long each test takes and keeps the answers in a file. Programs of
//! doctests are started as they are.

use std::env;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus, Stdio};

use super::times;

/// The hidden command of this program that does it.
pub(crate) const COMMAND: &str = "timed";
/// The variable that names the file.
pub(crate) const TIMES: &str = "XTASK_TEST_TIMES";

/// Runs the program with its arguments and ends as it ended.
pub(crate) fn run(program: &[OsString]) -> ExitCode {
    match start(program) {
        Ok(status) => code(status),
        Err(error) => {
            eprintln!("cannot run {program:?}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn start(program: &[OsString]) -> io::Result<ExitStatus> {
    let (path, args) = program.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(path);
    command.args(args);
    // Cargo names the package that the program belongs to.
    let package = env::var("CARGO_PKG_NAME").unwrap_or_default();
    let Some(test) = times::test_name(&package, Path::new(path)) else {
        // What rustdoc itself sets when it starts the program: with it, each doctest gets a process of its own.
        return command.env("RUSTDOC_DOCTEST_BIN_PATH", path).status();
    };
    // The flag is unstable; the variable opens it for this program only, nothing is compiled with it.
    let mut child = command
        .args(["-Zunstable-options", "--report-time"])
        .env("RUSTC_BOOTSTRAP", "1")
        .stdout(Stdio::piped())
        .spawn()?;
    let stdout = child.stdout.take().expect("stdout is piped");
    let times = copy(stdout, &test);
    let status = child.wait()?;
    keep(&times?)?;
    Ok(status)
}

/// Passes the program's output on and collects its times.
fn copy(from: impl io::Read, test: &str) -> io::Result<String> {
    let mut from = BufReader::new(from);
    let mut to = io::stdout().lock();
    let mut times = String::new();
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line)? > 0 {
        to.write_all(&line)?;
        to.flush()?;
        times.extend(times::record(test, &String::from_utf8_lossy(&line)));
        line.clear();
    }
    Ok(times)
}

fn keep(times: &str) -> io::Result<()> {
    let Some(path) = env::var_os(TIMES) else {
        return Ok(());
    };
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(times.as_bytes())
}

fn code(status: ExitStatus) -> ExitCode {
    if status.success() {
        return ExitCode::SUCCESS;
    }
    // A signal has no code and is told in words.
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    if code.is_none() {
        eprintln!("the test program ended with {status}");
    }
    ExitCode::from(code.unwrap_or(101))
}
