//! The relay that is killed: this program in a process of its own.

use std::{env, fs, process::Stdio};

use outbox::store::Status;
use tokio::process::{Child, Command};

use super::stage::{LEASE, Stage};
use crate::{exit::Exit, failure::Failure};

const NAME: &str = "doomed";

/// A relay as a process. It dies with this value at the latest.
#[derive(Debug)]
pub(super) struct Doomed(Child);

impl Doomed {
    pub(super) fn start(stage: &Stage) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| {
            Failure::new(
                Exit::Broken,
                format!("cannot start a relay as a process: {error}"),
            )
        };
        let mut to = std::ffi::OsString::from("file:");
        to.push(&stage.published);
        let child = Command::new(env::current_exe().map_err(failed)?)
            .args(["relay", "--name", NAME, "--to"])
            .arg(to)
            // Not as arguments, which every user of the machine can read.
            .env("OUTBOX_STORE", &stage.url)
            .env("OUTBOX_SCHEMA", stage.schema.as_str())
            .args(["--lease", &humantime::format_duration(LEASE).to_string()])
            .env("RUST_LOG", "off")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        Ok(Self(child))
    }

    /// Whether it holds messages at this moment.
    pub(super) fn is_seen(status: &Status) -> bool {
        status
            .lanes
            .iter()
            .any(|lane| lane.relay.as_deref() == Some(NAME))
    }

    /// Whether it has been at work, as long as it is the only relay: it holds messages, or something is published.
    pub(super) fn was_at_work(stage: &Stage, status: &Status) -> bool {
        let published = fs::metadata(&stage.published).is_ok_and(|file| file.len() > 0);
        published || Self::is_seen(status)
    }

    /// Whether it has ended by itself.
    pub(super) fn has_ended(&mut self) -> bool {
        !matches!(self.0.try_wait(), Ok(None))
    }

    /// Kills it without warning. `false` if it had ended before.
    pub(super) async fn kill(&mut self) -> Result<bool, Failure> {
        if self.has_ended() {
            return Ok(false);
        }
        self.0.kill().await.map_err(|error| {
            Failure::new(Exit::Broken, format!("the relay cannot be killed: {error}"))
        })?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_relay_that_has_ended_is_not_killed() {
        let mut command = Command::new(env::current_exe().unwrap());
        let child = command.arg("--help").stdout(Stdio::null()).spawn().unwrap();
        let mut doomed = Doomed(child);
        doomed.0.wait().await.unwrap();
        assert!(!doomed.kill().await.unwrap());
    }
}
