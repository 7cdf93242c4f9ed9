//! `outbox dead list`: dead letters without their payloads.

use clap::Args;
use outbox::{
    message::Position,
    store::{DeadFilter, DeadLetter, DeadPage, DeadPayload},
};
use serde::Serialize;

use super::FilterArgs;
use crate::{
    args::StoreArgs,
    command::save::at_least_one,
    exit::Exit,
    failure::Failure,
    output::Output,
    store,
    table::{count, numbers, short, shown, table},
};

/// List dead letters, oldest first
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  outbox dead list --store sqlite:orders.db --topic orders
  outbox dead list --store postgres://app@localhost/shop --after 4711 --limit 500 --json

Exit codes: 0 done, 2 wrong option, 4 and 5 the store (see outbox --help)")]
pub(super) struct ListArgs {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    filter: FilterArgs,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = at_least_one)]
    limit: usize,
    /// Only those after this position
    #[arg(long, value_name = "POSITION")]
    after: Option<i64>,
}

#[derive(Serialize)]
struct Shown<'a> {
    /// How many match, listed or not.
    matching: u64,
    dead: Vec<Row<'a>>,
}

/// What every listing of a dead letter says.
#[derive(Serialize)]
pub(super) struct Row<'a> {
    position: i64,
    id: &'a str,
    topic: &'a str,
    key: Option<&'a str>,
    content_type: Option<&'a str>,
    payload_bytes: u64,
    attempts: u32,
    tries: u32,
    reason: &'a str,
    error: &'a str,
    after_death: &'static str,
    saved_at_ms: i64,
    died_at_ms: i64,
}

impl<'a> From<&'a DeadLetter> for Row<'a> {
    fn from(letter: &'a DeadLetter) -> Self {
        Self {
            position: letter.position.0,
            id: &letter.id,
            topic: &letter.topic,
            key: letter.key.as_deref(),
            content_type: letter.content_type.as_deref(),
            payload_bytes: letter.payload_len,
            attempts: letter.attempts,
            tries: letter.tries,
            reason: &letter.reason,
            error: &letter.error,
            after_death: letter.after.as_str(),
            saved_at_ms: letter.saved_at_ms,
            died_at_ms: letter.died_at_ms,
        }
    }
}

pub(super) async fn run(args: ListArgs, output: Output) -> Result<Exit, Failure> {
    let page = DeadPage {
        filter: DeadFilter::from(args.filter),
        after: args.after.map(Position),
        upto: None,
        limit: args.limit,
    };
    let (matching, letters) = store::with(&args.store, async |opened| {
        let failed = |error| store::failure(&error);
        let operator = opened.operator();
        let counted = operator.count_dead(&page.filter).await;
        let letters = operator.dead_letters(&page, DeadPayload::Omit).await;
        Ok((counted.map_err(failed)?.0, letters.map_err(failed)?))
    })
    .await?;
    let shown = Shown {
        matching,
        dead: letters.iter().map(Row::from).collect(),
    };
    output.result(&shown, || text(matching, &letters))?;
    Ok(Exit::Done)
}

fn text(matching: u64, letters: &[DeadLetter]) -> String {
    if matching == 0 {
        return "no dead letters".to_owned();
    }
    let mut rows = table([
        "position",
        "id",
        "topic",
        "key",
        "attempts",
        "reason",
        "last error",
    ]);
    numbers(&mut rows, &[0, 4]);
    for letter in letters {
        rows.add_row([
            letter.position.to_string(),
            shown(&letter.id),
            short(&letter.topic, 40),
            short(letter.key.as_deref().unwrap_or("-"), 40),
            letter.attempts.to_string(),
            shown(&letter.reason),
            short(&letter.error, 60),
        ]);
    }
    let rows = rows.trim_fmt();
    let listed = u64::try_from(letters.len()).unwrap_or(u64::MAX);
    let total = count(matching, "dead letter");
    match letters.last() {
        Some(last) if listed < matching => {
            format!(
                "{rows}\n\n{listed} of {total}; more may follow: --after {}",
                last.position
            )
        }
        _ => format!("{rows}\n\n{total}"),
    }
}
