//! `outbox status`: what waits, what is dead, what is blocked and who holds what.

mod json;
mod text;

use clap::Args;
use outbox::store::Status;

use self::{json::Shown, text::text};
use crate::{args::StoreArgs, exit::Exit, failure::Failure, output::Output, store};

/// Show what is pending, dead, blocked and held
///
/// Counts every message, so it takes longer on a long backlog. Exit code 0 whatever it shows; --json has the numbers for an alert.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  outbox status --store sqlite:orders.db
  outbox status --store postgres://app@localhost/shop --json | jq .pending.total

Exit codes: 0 done, 2 wrong option, 4 and 5 the store (see outbox --help)")]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) async fn run(args: StatusArgs, output: Output) -> Result<Exit, Failure> {
    let status = store::with(&args.store, async |opened| {
        let status = opened.operator().status().await;
        status.map_err(|error| store::failure(&error))
    })
    .await?;
    output.result(&Shown::from(&status), || text(&status))?;
    Ok(Exit::Done)
}

/// Pending messages that wait for a retry: their own, or that of a message of their key before them.
pub(crate) fn retrying(status: &Status) -> u64 {
    status
        .pending()
        .saturating_sub(status.ready + status.held + status.later + status.paused)
}
