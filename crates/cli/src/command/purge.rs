//! `outbox purge`: deletes published messages that were kept, in bounded steps.

use std::time::Duration;

use clap::Args;
use outbox::store::{OutboxOperator, Purge, PurgeMode, Purged};
use serde::Serialize;
use tokio::time::Instant;

use crate::{
    actor::ActorArgs,
    args::{StoreArgs, duration},
    exit::Exit,
    failure::Failure,
    output::Output,
    store,
    table::{count, span},
};

/// Messages and ids a step; each is a transaction of its own, so that relays and writers get in between.
const STEP: usize = 1_000;

/// Delete published messages that were kept, and forget ids whose time is over
///
/// Relays do it by themselves, as they were told by `outbox relay --retain`. Nothing that is pending or dead is touched. What consumers
/// handled is forgotten only if its age is given, and never while a dead letter is older, since that may come again.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  outbox purge --store postgres://app@localhost/shop --dry-run
  outbox purge --store sqlite:orders.db --older-than 30d
  outbox purge --store sqlite:orders.db --inbox-older-than 60d

Exit codes: 0 done, 2 wrong option, 4 and 5 the store (see outbox --help)")]
pub(crate) struct PurgeArgs {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    actor: ActorArgs,
    /// Only messages published at least this long ago
    #[arg(long, value_name = "DURATION", default_value = "7d", value_parser = duration)]
    older_than: Duration,
    /// Also forget message ids of the inbox that were handled at least this long ago
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    inbox_older_than: Option<Duration>,
    /// Only count them, up to a bound
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
struct Shown {
    dry_run: bool,
    /// Published messages deleted, those of whole partitions not counted.
    published: u64,
    /// Ids that were to be remembered until now.
    ids: u64,
    /// Ids that consumers handled.
    inbox: u64,
    /// Partitions dropped with the messages in them.
    partitions: u64,
    /// With `--dry-run`: there is more than was counted.
    more: bool,
}

pub(crate) async fn run(args: PurgeArgs, output: Output) -> Result<Exit, Failure> {
    let command = args.actor.command([
        ("older_than", Some(span(args.older_than))),
        ("inbox_older_than", args.inbox_older_than.map(span)),
    ]);
    let shown = store::with(&args.store, async |opened| {
        let operator = opened.operator().audited(&command);
        purge(&*operator, &args).await
    })
    .await?;
    output.result(&shown, || text(shown))?;
    Ok(Exit::Done)
}

async fn purge(store: &dyn OutboxOperator, args: &PurgeArgs) -> Result<Shown, Failure> {
    let (begun, dry_run) = (Instant::now(), args.dry_run);
    let mut shown = Shown {
        dry_run,
        ..Shown::default()
    };
    loop {
        let step = Purge {
            // What is published meanwhile must not keep it going.
            older_than: args.older_than.saturating_add(begun.elapsed()),
            inbox_older_than: args
                .inbox_older_than
                .map(|age| age.saturating_add(begun.elapsed())),
            limit: STEP,
            mode: if dry_run {
                PurgeMode::Count
            } else {
                PurgeMode::Delete
            },
        };
        let purged: Purged = store
            .purge(&step)
            .await
            .map_err(|error| store::failure(&error).also(format!("{} before", text(shown))))?;
        shown.published += purged.published;
        shown.ids += purged.ids;
        shown.inbox += purged.inbox;
        shown.partitions += purged.partitions;
        shown.more = dry_run && purged.more;
        if dry_run || !purged.more {
            return Ok(shown);
        }
    }
}

fn text(shown: Shown) -> String {
    let (did, at_least) = match (shown.dry_run, shown.more) {
        (true, true) => ("would delete", "at least "),
        (true, false) => ("would delete", ""),
        (false, _) => ("deleted", ""),
    };
    format!(
        "{did} {at_least}{}, {} with the messages in them, {}, and {}",
        count(shown.published, "published message"),
        count(shown.partitions, "partition"),
        count(shown.ids, "remembered id"),
        count(shown.inbox, "handled id"),
    )
}
