//! `outbox replay`: published messages that are kept go out again, in bounded steps.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::{ArgGroup, Args};
use outbox::{
    message::MessageId,
    store::{OutboxOperator, PublishedFilter, Replay, ReplayMode},
};
use serde::Serialize;

use crate::{
    actor::ActorArgs, args::StoreArgs, exit::Exit, failure::Failure, output::Output, store,
    table::count,
};

/// Messages a step; each is a transaction of its own, so that relays and writers get in between.
const STEP: usize = 500;

/// Publish messages again that were published and are kept
///
/// Relays keep them as long as outbox relay --retain says. A replayed message has the same id, payload, key and headers, and the header bq-replay-bypass: 1, by which consumers leave out what reaches outside. It goes to the tail, behind what is pending of its key. A consumer that drops duplicates by the id drops it, unless it looks at the header or has forgotten the id.
///
/// Each message that was published within the times is looked at: the narrower they are, the less a replay costs.
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("which").args(["id", "topic", "key", "since", "before", "all"]).required(true).multiple(true),
    after_help = "Examples:
  outbox replay --store sqlite:orders.db --topic orders --since 2026-01-31T12:00:00Z --dry-run
  outbox replay --store sqlite:orders.db --id 0198c0de-0000-7000-8000-000000000000
  outbox replay --store postgres://app@localhost/shop --key o-1 --since 1h

Exit codes: 0 done, 2 wrong option, 4 and 5 the store (see outbox --help)"
)]
pub(crate) struct ReplayArgs {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    actor: ActorArgs,
    /// Only the message with this id
    #[arg(long, value_name = "ID")]
    id: Option<MessageId>,
    /// Only this topic
    #[arg(long, value_name = "TOPIC")]
    topic: Option<String>,
    /// Only this key
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Only those published at this time or later: a time such as 2026-01-31T12:00:00Z, or an age such as 2h
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<Moment>,
    /// Only those published before this time, likewise
    #[arg(long, value_name = "TIME", value_parser = moment)]
    before: Option<Moment>,
    /// All that are kept
    #[arg(long, conflicts_with_all = ["id", "topic", "key", "since", "before"])]
    all: bool,
    /// Only count them
    #[arg(long)]
    dry_run: bool,
}

/// A time, and how it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Moment {
    unix_ms: i64,
    written: String,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
struct Shown {
    dry_run: bool,
    /// Messages saved again, or with `--dry-run` those that would be.
    replayed: u64,
    /// Messages that match and cannot be, because their headers have no room for one more.
    left_out: u64,
}

pub(crate) async fn run(args: ReplayArgs, output: Output) -> Result<Exit, Failure> {
    let written = |moment: &Option<Moment>| moment.as_ref().map(|it| it.written.clone());
    let command = args.actor.command([
        ("id", args.id.as_ref().map(ToString::to_string)),
        ("topic", args.topic.clone()),
        ("key", args.key.clone()),
        ("since", written(&args.since)),
        ("before", written(&args.before)),
    ]);
    let replay = Replay {
        filter: PublishedFilter {
            id: args.id,
            topic: args.topic,
            key: args.key,
            since_ms: args.since.map(|it| it.unix_ms),
            before_ms: args.before.map(|it| it.unix_ms),
        },
        after: None,
        upto: None,
        limit: STEP,
        mode: if args.dry_run {
            ReplayMode::Count
        } else {
            ReplayMode::Save
        },
    };
    let shown = store::with(&args.store, async |opened| {
        walk(&*opened.operator().audited(&command), replay).await
    })
    .await?;
    output.result(&shown, || text(shown))?;
    Ok(Exit::Done)
}

async fn walk(store: &dyn OutboxOperator, mut replay: Replay) -> Result<Shown, Failure> {
    let mut shown = Shown {
        dry_run: replay.mode == ReplayMode::Count,
        ..Shown::default()
    };
    loop {
        let step = store.replay(&replay).await.map_err(|error| {
            let before = format!(
                "{} before; run again, it would replay these twice",
                text(shown)
            );
            store::failure(&error).also(before)
        })?;
        shown.replayed += u64::try_from(step.count).unwrap_or(u64::MAX);
        shown.left_out += u64::try_from(step.left_out).unwrap_or(u64::MAX);
        let Some(last) = step.last else {
            return Ok(shown);
        };
        (replay.after, replay.upto) = (Some(last), Some(step.upto));
    }
}

fn text(shown: Shown) -> String {
    let messages = count(shown.replayed, "published message");
    let told = if shown.dry_run {
        format!("{messages} would be replayed")
    } else {
        format!("replayed {messages}")
    };
    match shown.left_out {
        0 => told,
        left_out => {
            format!("{told}\n{left_out} have no room for one more header and were left out")
        }
    }
}

/// Reads a time, or an age as the time so long ago by this host's clock.
fn moment(text: &str) -> Result<Moment, String> {
    let at = match humantime::parse_duration(text) {
        Ok(age) => SystemTime::now().checked_sub(age).unwrap_or(UNIX_EPOCH),
        Err(_) => humantime::parse_rfc3339_weak(text).map_err(|_| {
            "write a time as in 2026-01-31T12:00:00Z, or an age as in 2h or 30m".to_owned()
        })?,
    };
    let since: Duration = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(Moment {
        unix_ms: i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        written: text.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_moment_or_an_age() {
        assert_eq!(moment("1970-01-01T00:00:02Z").unwrap().unix_ms, 2_000);
        assert_eq!(moment("1970-01-02 00:00:00").unwrap().unix_ms, 86_400_000);
        let (hour, now) = (moment("1h").unwrap(), moment("0s").unwrap());
        assert!((now.unix_ms - hour.unix_ms - 3_600_000).abs() < 600_000);
        assert!(moment("yesterday").unwrap_err().contains("2h"));
    }
}
