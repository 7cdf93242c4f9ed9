//! The arguments of a driver.

use std::env;
use std::str::FromStr;
use std::time::Duration;

use crate::Failure;

/// What a driver is asked for.
#[derive(Debug)]
pub struct Call {
    /// The Postgres database of the peer, which is its own to drop and fill.
    pub url: String,
    /// What to do with it.
    pub command: Command,
}

/// One of the four things that a driver does.
#[derive(Clone, Copy, Debug)]
pub enum Command {
    /// Makes the schema anew and fills it.
    Prepare {
        /// How many pending messages.
        messages: u64,
        /// Over how many keys; none if zero.
        keys: u64,
    },
    /// Relays until the standard input ends.
    Relay {
        /// How many messages are taken at once.
        batch: u32,
        /// How long a publish takes.
        round_trip: Duration,
    },
    /// Says how many messages are not recorded as done.
    Left,
    /// Saves messages for a time.
    Save {
        /// How many at the same time.
        writers: u32,
        /// How many messages of a transaction.
        per_transaction: u32,
        /// For how long.
        time: Duration,
    },
}

impl Call {
    /// Reads the arguments of this program.
    pub fn read() -> Result<Self, Failure> {
        let args: Vec<_> = env::args().skip(1).collect();
        let args: Vec<_> = args.iter().map(String::as_str).collect();
        let (url, command) = match args[..] {
            ["prepare", url, messages, keys] => {
                let (messages, keys) = (number(messages)?, number(keys)?);
                (url, Command::Prepare { messages, keys })
            }
            ["relay", url, batch] => (url, relay(batch, "0")?),
            ["relay", url, batch, round_trip] => (url, relay(batch, round_trip)?),
            ["left", url] => (url, Command::Left),
            ["save", url, writers, per_transaction, seconds] => (
                url,
                Command::Save {
                    writers: number(writers)?,
                    per_transaction: number(per_transaction)?,
                    time: Duration::from_secs_f64(number(seconds)?),
                },
            ),
            _ => return Err("prepare, relay, left or save, and what belongs to it".into()),
        };
        let url = url.to_owned();
        Ok(Self { url, command })
    }
}

fn relay(batch: &str, round_trip: &str) -> Result<Command, Failure> {
    Ok(Command::Relay {
        batch: number(batch)?,
        round_trip: Duration::from_secs_f64(number::<f64>(round_trip)? / 1000.0),
    })
}

fn number<T: FromStr>(text: &str) -> Result<T, Failure> {
    text.parse()
        .map_err(|_| format!("no number: {text}").into())
}
