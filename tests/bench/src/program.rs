//! The programs that `run` starts: our relay, the plain queues, our writers. Each a process of its own.

mod broker;
pub(crate) mod commit;
mod counting;
pub(crate) mod latency;
pub(crate) mod outbox_tables;
pub(crate) mod plain;
pub(crate) mod relay;
pub(crate) mod rounds;
pub(crate) mod save;
pub(crate) mod sqlite;
pub(crate) mod sqlite_plain;
mod told;

use clap::Subcommand;

use crate::Result;

#[derive(Debug, Subcommand)]
pub(crate) enum Program {
    /// One relay of this outbox.
    #[command(hide = true)]
    Relay(relay::Args),
    /// Savers and a relay.
    #[command(hide = true)]
    Latency(latency::Args),
    /// Writers.
    #[command(hide = true)]
    Save(save::Args),
    /// One relay of a plain queue.
    #[command(hide = true)]
    Plain(plain::Args),
    /// One relay of a plain queue in an SQLite file.
    #[command(hide = true)]
    SqlitePlain(sqlite_plain::Args),
}

impl Program {
    /// Whether it does nothing but to relay.
    pub(crate) fn relays(&self) -> bool {
        matches!(self, Self::Relay(_) | Self::Plain(_) | Self::SqlitePlain(_))
    }

    pub(crate) async fn run(self) -> Result {
        match self {
            Self::Relay(args) => relay::run(args).await,
            Self::Latency(args) => latency::run(args).await,
            Self::Save(args) => save::run(args).await,
            Self::Plain(args) => plain::run(args).await,
            Self::SqlitePlain(args) => sqlite_plain::run(args).await,
        }
    }
}
