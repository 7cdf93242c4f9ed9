//! The systems that are compared: ours, plain queues in SQL that keep no order, and peers.

use std::{process::Command, str::FromStr};

use sqlx::{Connection, PgConnection, SqliteConnection};

use crate::{Result, program, template::Fill};

/// A system that takes messages out of a Postgres, or out of an SQLite file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum System {
    /// This outbox.
    Outbox,
    /// A queue without any order, leased and then deleted: what any relay costs that holds no transaction open while it
    /// publishes. The ceiling.
    Plain,
    /// The same in one transaction, which is held open while the broker is waited for.
    PlainHeld,
    /// This outbox in a file.
    SqliteOutbox,
    /// The plain queue in a file.
    SqlitePlain,
    Peer(Peer),
}

/// A published package, driven by a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Peer {
    name: String,
    command: Vec<String>,
}

impl FromStr for Peer {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (name, command) = text.split_once('=').ok_or("it is not NAME=COMMAND")?;
        let command: Vec<String> = command.split('\u{1f}').map(str::to_owned).collect();
        if name.is_empty() || command.iter().any(String::is_empty) {
            return Err("the name or the command is empty".to_owned());
        }
        let name = name.to_owned();
        Ok(Self { name, command })
    }
}

impl Peer {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]);
        command
    }
}

/// How a relay works in a round.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Relaying {
    pub(crate) relays: usize,
    pub(crate) batch: usize,
    pub(crate) round_trip_ms: u64,
}

/// A program of this bench, which works in a database.
pub(crate) fn own(program: &str, url: &str) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args([program, url]);
    Ok(command)
}

impl System {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Outbox | Self::SqliteOutbox => "outbox",
            Self::Plain | Self::SqlitePlain => "plain",
            Self::PlainHeld => "plain-held",
            Self::Peer(peer) => &peer.name,
        }
    }

    /// Fills a new database as [`Fill`] says.
    pub(crate) async fn fill(&self, url: &str, fill: Fill) -> Result {
        match self {
            Self::Outbox => program::outbox_tables::fill(url, fill).await,
            Self::Plain | Self::PlainHeld => program::plain::fill(url, fill).await,
            Self::SqliteOutbox => program::sqlite::fill(url, fill).await,
            Self::SqlitePlain => program::sqlite_plain::fill(url, fill).await,
            Self::Peer(peer) => {
                let mut command = peer.command();
                let (messages, keys) = (fill.messages.to_string(), fill.keys.to_string());
                let status = command.args(["prepare", url, &messages, &keys]).status()?;
                if status.success() {
                    Ok(())
                } else {
                    Err(format!("{command:?} ended with {status}").into())
                }
            }
        }
    }

    /// The commands of the relays of a round.
    pub(crate) fn relays(&self, url: &str, how: Relaying) -> Result<Vec<Command>> {
        let batch = how.batch.to_string();
        let round_trip = how.round_trip_ms.to_string();
        let command = || -> Result<Command> {
            let mut command = match self {
                Self::Peer(peer) => {
                    let mut command = peer.command();
                    command.args(["relay", url, &batch, &round_trip]);
                    return Ok(command);
                }
                Self::Outbox | Self::SqliteOutbox => own("relay", url)?,
                Self::SqlitePlain => own("sqlite-plain", url)?,
                Self::Plain | Self::PlainHeld => own("plain", url)?,
            };
            command.args(["--batch", &batch]);
            match self {
                Self::Outbox | Self::SqliteOutbox => command.args(["--round-trip-ms", &round_trip]),
                Self::PlainHeld => command.arg("--held"),
                _ => &mut command,
            };
            Ok(command)
        };
        (0..how.relays).map(|_| command()).collect()
    }

    /// How many messages are not recorded as done. Ours and the plain queue say that a message is done when it is recorded.
    pub(crate) async fn left(&self, url: &str) -> Result<i64> {
        match self {
            Self::Outbox => {
                count(url, "SELECT (SELECT count(*) FROM outbox.message) + (SELECT count(*) FROM outbox.scheduled)").await
            }
            Self::Plain | Self::PlainHeld => count(url, "SELECT count(*) FROM queue").await,
            Self::SqliteOutbox => {
                count_in_file(url, "SELECT (SELECT count(*) FROM outbox_message) + (SELECT count(*) FROM outbox_scheduled)").await
            }
            Self::SqlitePlain => count_in_file(url, "SELECT count(*) FROM queue").await,
            Self::Peer(peer) => {
                let mut command = peer.command();
                let output = command.args(["left", url]).output()?;
                Ok(String::from_utf8(output.stdout)?.trim().parse()?)
            }
        }
    }
}

async fn count(url: &str, sql: &'static str) -> Result<i64> {
    let mut connection = PgConnection::connect(url).await?;
    let count = sqlx::query_scalar(sql).fetch_one(&mut connection).await?;
    connection.close().await?;
    Ok(count)
}

async fn count_in_file(url: &str, sql: &'static str) -> Result<i64> {
    let mut connection = SqliteConnection::connect(url).await?;
    let count = sqlx::query_scalar(sql).fetch_one(&mut connection).await?;
    connection.close().await?;
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_a_name_and_a_command() {
        let peer: Peer = "omni-box=python3\u{1f}drive.py".parse().unwrap();
        assert_eq!(peer.name, "omni-box");
        assert_eq!(peer.command, ["python3", "drive.py"]);
        assert!("omni-box".parse::<Peer>().is_err());
        assert!("=x".parse::<Peer>().is_err());
    }
}
