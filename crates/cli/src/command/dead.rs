//! `outbox dead`: the messages that were given up on.

mod list;
mod show;
mod step;

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use outbox::{
    message::MessageId,
    store::{DeadFilter, DeathReason},
};

pub(crate) use self::show::time;
use crate::{args::duration, exit::Exit, failure::Failure, output::Output};

/// List, show, redrive or discard messages that were given up on
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  outbox dead list --store sqlite:orders.db
  outbox dead redrive --store sqlite:orders.db --topic orders --dry-run

Exit codes: 0 done, 2 wrong option, 4 and 5 the store, 8 no such dead letter (see outbox --help)")]
pub(crate) struct DeadArgs {
    #[command(subcommand)]
    command: DeadCommand,
}

#[derive(Debug, Subcommand)]
enum DeadCommand {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Redrive(step::RedriveArgs),
    Discard(step::DiscardArgs),
}

/// Which dead letters; together they narrow the choice.
#[derive(Debug, Clone, Args)]
struct FilterArgs {
    /// Only the message with this id
    #[arg(long, value_name = "ID")]
    id: Option<MessageId>,
    /// Only this topic
    #[arg(long, value_name = "TOPIC")]
    topic: Option<String>,
    /// Only this key
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Only those that died for this reason
    #[arg(long, value_name = "REASON")]
    reason: Option<Reason>,
    /// Only those that died at least this long ago
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    older_than: Option<Duration>,
}

/// Why a message is dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Reason {
    /// It failed as often as it may
    Exhausted,
    /// No retry can heal it
    Permanent,
    /// Each of its starts ended with the relay
    Poison,
    /// Its row cannot be read
    Unreadable,
}

impl From<Reason> for DeathReason {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::Exhausted => Self::Exhausted,
            Reason::Permanent => Self::Permanent,
            Reason::Poison => Self::Poison,
            Reason::Unreadable => Self::Unreadable,
        }
    }
}

impl From<FilterArgs> for DeadFilter {
    fn from(args: FilterArgs) -> Self {
        Self {
            id: args.id,
            topic: args.topic,
            key: args.key,
            reason: args.reason.map(DeathReason::from),
            older_than: args.older_than,
        }
    }
}

pub(crate) async fn run(args: DeadArgs, output: Output) -> Result<Exit, Failure> {
    match args.command {
        DeadCommand::List(args) => list::run(args, output).await,
        DeadCommand::Show(args) => show::run(args, output).await,
        DeadCommand::Redrive(args) => step::redrive(args, output).await,
        DeadCommand::Discard(args) => step::discard(args, output).await,
    }
}
