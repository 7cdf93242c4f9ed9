//! `outbox dead redrive` and `outbox dead discard`: in bounded steps, up to what was dead when the command began.

use clap::{ArgGroup, Args};
use outbox::store::{DeadFilter, DeadPage, OutboxOperator};
use serde::Serialize;

use super::FilterArgs;
use crate::{
    actor::ActorArgs,
    args::StoreArgs,
    exit::Exit,
    failure::Failure,
    output::Output,
    store,
    table::{count, span},
};

/// Dead letters a step; each is a transaction of its own, so that relays and writers get in between.
const STEP: usize = 500;

/// Make dead letters pending again
///
/// They keep their ids and start over with their attempts. A dead letter that holds its key goes first; any other goes to
/// the tail, behind messages that were saved since.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  outbox dead redrive --store sqlite:orders.db --topic orders --dry-run
  outbox dead redrive --store sqlite:orders.db --id 0198c0de-0000-7000-8000-000000000000
  outbox dead redrive --store sqlite:orders.db --reason exhausted --older-than 1h
  outbox dead redrive --store sqlite:orders.db --all

Exit codes: 0 done, 2 wrong option, 4 and 5 the store (see outbox --help)")]
pub(super) struct RedriveArgs {
    #[command(flatten)]
    step: StepArgs,
}

/// Drop dead letters for good
///
/// A key that such a letter holds goes on.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  outbox dead discard --store sqlite:orders.db --topic orders --key o-1 --dry-run
  outbox dead discard --store sqlite:orders.db --id 0198c0de-0000-7000-8000-000000000000

Exit codes: 0 done, 2 wrong option, 4 and 5 the store (see outbox --help)")]
pub(super) struct DiscardArgs {
    #[command(flatten)]
    step: StepArgs,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("which").args(["id", "topic", "key", "reason", "older_than", "all"]).required(true).multiple(true))]
struct StepArgs {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    actor: ActorArgs,
    #[command(flatten)]
    filter: FilterArgs,
    /// All of them
    #[arg(long, conflicts_with_all = ["id", "topic", "key", "reason", "older_than"])]
    all: bool,
    /// Only count them
    #[arg(long)]
    dry_run: bool,
}

#[derive(Serialize)]
struct Shown {
    dry_run: bool,
    /// Dead letters that matched when the command began.
    matching: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    redriven: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    discarded: Option<u64>,
    /// Redriven letters that went to the tail although they have a key.
    #[serde(skip_serializing_if = "Option::is_none")]
    out_of_order: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Redrive,
    Discard,
}

pub(super) async fn redrive(args: RedriveArgs, output: Output) -> Result<Exit, Failure> {
    run(args.step, Step::Redrive, output).await
}

pub(super) async fn discard(args: DiscardArgs, output: Output) -> Result<Exit, Failure> {
    run(args.step, Step::Discard, output).await
}

async fn run(args: StepArgs, step: Step, output: Output) -> Result<Exit, Failure> {
    let filter = DeadFilter::from(args.filter);
    let command = args.actor.command([
        ("id", filter.id.as_ref().map(ToString::to_string)),
        ("topic", filter.topic.clone()),
        ("key", filter.key.clone()),
        ("reason", filter.reason.map(|it| it.as_str().to_owned())),
        ("older_than", filter.older_than.map(span)),
    ]);
    let shown = store::with(&args.store, async |opened| {
        let operator = opened.operator().audited(&command);
        walk(&*operator, step, filter, args.dry_run).await
    })
    .await?;
    output.result(&shown, || text(step, &shown))?;
    Ok(Exit::Done)
}

/// Counts what matches, and unless that is all, goes through it.
async fn walk(
    store: &dyn OutboxOperator,
    step: Step,
    filter: DeadFilter,
    dry_run: bool,
) -> Result<Shown, Failure> {
    let (matching, last) = store
        .count_dead(&filter)
        .await
        .map_err(|error| store::failure(&error))?;
    let (mut done, mut out_of_order) = (0, 0);
    let mut page = DeadPage {
        filter,
        after: None,
        upto: last,
        limit: STEP,
    };
    while !dry_run && page.upto.is_some() {
        let stepped = match step {
            Step::Redrive => store.redrive(&page).await,
            Step::Discard => store.discard(&page).await,
        }
        .map_err(|error| {
            let told = format!("{done} of {matching} were done before; run it again for the rest");
            store::failure(&error).also(told)
        })?;
        done += u64::try_from(stepped.count).unwrap_or(u64::MAX);
        out_of_order += u64::try_from(stepped.out_of_order).unwrap_or(u64::MAX);
        match stepped.last {
            Some(last) => page.after = Some(last),
            None => break,
        }
    }
    Ok(Shown {
        dry_run,
        matching,
        redriven: (step == Step::Redrive).then_some(done),
        discarded: (step == Step::Discard).then_some(done),
        out_of_order: (step == Step::Redrive).then_some(out_of_order),
    })
}

fn text(step: Step, shown: &Shown) -> String {
    let what = match step {
        Step::Redrive => "redriven",
        Step::Discard => "discarded",
    };
    if shown.dry_run {
        return format!("{} would be {what}", count(shown.matching, "dead letter"));
    }
    let done = shown.redriven.or(shown.discarded).unwrap_or_default();
    let text = format!("{what} {}", count(done, "dead letter"));
    match shown.out_of_order.filter(|tail| *tail > 0) {
        None => text,
        Some(tail) => format!(
            "{text}\n{tail} of them have a key and went to the tail: later messages of their key may be out already"
        ),
    }
}
