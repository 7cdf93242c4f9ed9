//! Starting a server as a child and waiting until it answers. What it says goes to a log, whose end is told when it does
//! not start.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Instant;

use crate::kind::Kind;
use crate::process::{LOOK, PATIENCE};
use crate::{Error, Result, os, port};

/// How many ports are tried: another program may take the free port before the server does.
const TRIES: usize = 5;

/// Who ends a server besides this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// Ctrl-C, which ends everything that was started from the terminal.
    Terminal,
    /// Nobody.
    Own,
}

/// Why a server did not start.
#[derive(Debug)]
pub enum Refusal {
    /// Somebody listens on its port.
    PortTaken(Error),
    /// What its log tells.
    Other(Error),
}

impl From<Error> for Refusal {
    /// What is told before the server is started is not about its port.
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::PortTaken(error) | Refusal::Other(error) => error,
        }
    }
}

/// Starts a server on a free port, this one if possible.
pub(crate) fn on_free_port(
    preferred: Option<u16>,
    start: impl Fn(u16) -> std::result::Result<Child, Refusal>,
) -> Result<(u16, Child)> {
    let pick = |number| port::free(preferred.filter(|_| number == 1));
    on_free_ports(pick, |port| start(*port))
}

/// Starts a server on ports that are picked anew for each try; the first is number 1.
pub(crate) fn on_free_ports<P, S>(
    pick: impl Fn(usize) -> Result<P>,
    start: impl Fn(&P) -> std::result::Result<S, Refusal>,
) -> Result<(P, S)> {
    let mut number = 1;
    loop {
        let ports = pick(number)?;
        match start(&ports) {
            Ok(server) => return Ok((ports, server)),
            Err(Refusal::PortTaken(_)) if number < TRIES => number += 1,
            Err(refusal) => return Err(refusal.into()),
        }
    }
}

/// Starts a server and waits until it is ready.
pub(crate) fn start(
    kind: &Kind,
    mut command: Command,
    group: Group,
    log: &Path,
    ready: impl Fn(u32) -> bool,
) -> std::result::Result<Child, Refusal> {
    let other = |error: &dyn std::fmt::Display| Refusal::Other(Error::path(log, error));
    let file = open(log).map_err(|error| other(&error))?;
    let begin = file.metadata().map_err(|error| other(&error))?.len();
    let also = file.try_clone().map_err(|error| other(&error))?;
    command.stdin(Stdio::null()).stdout(also).stderr(file);
    if group == Group::Own {
        os::own_group(&mut command);
    }
    let name = kind.name;
    let mut child = command.spawn().map_err(|error| {
        let program = command.get_program().display();
        Refusal::Other(Error::new(
            format!("{program}: {error}"),
            "install the program anew",
        ))
    })?;
    let started = Instant::now();
    let why = loop {
        match child.try_wait() {
            Ok(None) if ready(child.id()) => return Ok(child),
            Ok(None) if started.elapsed() < PATIENCE => thread::sleep(LOOK),
            Ok(None) => break format!("is not ready after {} s", PATIENCE.as_secs()),
            Ok(Some(status)) => break format!("ended with {status}"),
            Err(error) => break error.to_string(),
        }
    };
    // Without effect on one that has ended.
    let _ = child.kill();
    let _ = child.wait();
    let said = since(log, begin);
    let error = Error::new(
        format!("{name} {why}\n{}", said.trim_end()),
        format!("mend what it says; all of it is in {}", log.display()),
    );
    Err(if is_port_taken(&said) {
        Refusal::PortTaken(error)
    } else {
        Refusal::Other(error)
    })
}

fn open(log: &Path) -> std::io::Result<File> {
    if let Some(folder) = log.parent() {
        fs::create_dir_all(folder)?;
    }
    OpenOptions::new().create(true).append(true).open(log)
}

/// What was written since the log was this long.
fn since(log: &Path, begin: u64) -> String {
    let mut text = Vec::new();
    let read = File::open(log).and_then(|mut file| {
        file.seek(SeekFrom::Start(begin))?;
        file.read_to_end(&mut text)
    });
    match read {
        Ok(_) => String::from_utf8_lossy(&text).into_owned(),
        Err(error) => format!("its log cannot be read: {error}"),
    }
}

/// Reads the system's own words, which no server translates under the locale C, and Erlang's name for them. NATS writes
/// them in small letters, and a program that is linked with musl has words of its own.
fn is_port_taken(said: &str) -> bool {
    let taken = [
        "Address already in use",
        "address already in use",
        "Address in use",
        "eaddrinuse",
    ];
    taken.iter().any(|words| said.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::REDIS;
    use std::env;
    use std::process;

    #[test]
    fn a_program_that_does_not_start_is_told_with_what_it_said() {
        let log = env::temp_dir().join(format!("outbox-launch-{}.log", process::id()));
        fs::write(&log, "of an earlier start\n").unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "echo bind: Address already in use; exit 3"]);
        let refusal = start(&REDIS, command, Group::Terminal, &log, |_| false).unwrap_err();
        fs::remove_file(&log).unwrap();
        let Refusal::PortTaken(error) = refusal else {
            panic!("{refusal:?}");
        };
        assert_eq!(
            error.what,
            "redis ended with exit status: 3\nbind: Address already in use"
        );
    }
}
