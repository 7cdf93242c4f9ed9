//! The programs that `run` starts: our relay, the plain queue, our writers. Each a process of its own.

pub(crate) mod outbox_tables;
pub(crate) mod plain;
pub(crate) mod relay;
mod counting;
mod told;

use clap::Subcommand;

use crate::Result;

#[derive(Debug, Subcommand)]
pub(crate) enum Program {
    /// One relay of this outbox.
    #[command(hide = true)]
    Relay(relay::Args),
    /// One relay of a plain queue.
    #[command(hide = true)]
    Plain(plain::Args),
}

impl Program {
    pub(crate) async fn run(self) -> Result {
        match self {
            Self::Relay(args) => relay::run(args).await,
            Self::Plain(args) => plain::run(args).await,
        }
    }
}
