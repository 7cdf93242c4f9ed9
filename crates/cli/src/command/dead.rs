//! `outbox dead`: the messages that were given up on.

mod list;
mod show;
mod step;

use clap::{Args, Subcommand};
use outbox::{message::MessageId, store::DeadFilter};

use crate::{exit::Exit, failure::Failure, output::Output};

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
}

impl From<FilterArgs> for DeadFilter {
    fn from(args: FilterArgs) -> Self {
        Self {
            id: args.id,
            topic: args.topic,
            key: args.key,
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
