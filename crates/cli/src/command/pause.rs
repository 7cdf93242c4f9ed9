//! `outbox pause` and `outbox resume`: topics that stay with the store until somebody, or the time, says otherwise.

use std::time::Duration;

use clap::Args;
use outbox::{
    message::Topic,
    store::{OutboxOperator, OutboxStore, StoreError},
};
use serde::Serialize;

use crate::{
    actor::ActorArgs,
    args::{StoreArgs, duration},
    exit::Exit,
    failure::Failure,
    output::Output,
    store::{self, Opened},
    table::{count, shown, span},
};

/// Pause topics: their messages stay in the store, and new ones wait with them
///
/// Other topics go on. Messages that a relay holds already still go out. Nothing is lost or reordered: each key goes on where it stopped.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  outbox pause mail --store sqlite:orders.db
  outbox pause mail sms --for 30m --store postgres://app@localhost/shop

Exit codes: 0 done, 2 wrong option, 4 and 5 the store (see outbox --help)")]
pub(crate) struct PauseArgs {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    actor: ActorArgs,
    /// The topics
    #[arg(value_name = "TOPIC", required = true, value_parser = topic)]
    topics: Vec<Topic>,
    /// Go on after this time, at the latest a minute later; without it only `outbox resume` ends it
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    time: Option<Duration>,
}

/// Resume topics that are paused, or whose destination was down
///
/// What was set aside is freed in bounded steps, and relays publish it in the order of each key.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  outbox resume mail --store sqlite:orders.db

Exit codes: 0 done (stopped or not), 2 wrong option, 4 and 5 the store (see outbox --help)")]
pub(crate) struct ResumeArgs {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    actor: ActorArgs,
    /// The topics
    #[arg(value_name = "TOPIC", required = true, value_parser = topic)]
    topics: Vec<Topic>,
}

#[derive(Serialize)]
struct Paused {
    paused: Vec<String>,
}

#[derive(Serialize)]
struct Resumed {
    resumed: Vec<String>,
    /// These were not stopped.
    unchanged: Vec<String>,
}

pub(crate) async fn run(args: PauseArgs, output: Output) -> Result<Exit, Failure> {
    store::with(&args.store, async |opened| {
        let command = args.actor.command([
            ("topics", Some(names(&args.topics))),
            ("for", args.time.map(span)),
        ]);
        let operator = opened.operator().audited(&command);
        for topic in &args.topics {
            let paused = operator.pause(topic, args.time).await;
            paused.map_err(|error| store::failure(&error))?;
        }
        Ok(())
    })
    .await?;
    let paused = args.topics.iter().map(ToString::to_string).collect();
    output.result(&Paused { paused }, || {
        let time = args.time.map_or("until it is resumed".to_owned(), |time| {
            format!("for {}", span(time))
        });
        lines(&args.topics, |topic| format!("{topic} is paused {time}"))
    })?;
    Ok(Exit::Done)
}

pub(crate) async fn resume(args: ResumeArgs, output: Output) -> Result<Exit, Failure> {
    let (resumed, unchanged) = store::with(&args.store, async |opened| {
        let command = args.actor.command([("topics", Some(names(&args.topics)))]);
        let operator = opened.operator().audited(&command);
        let ended = end(opened, &*operator, &args.topics).await;
        ended.map_err(|error| store::failure(&error))
    })
    .await?;
    let list = |topics: &[Topic]| topics.iter().map(ToString::to_string).collect();
    let shown = Resumed {
        resumed: list(&resumed),
        unchanged: list(&unchanged),
    };
    output.result(&shown, || {
        let resumed = lines(&resumed, |topic| format!("{topic} goes again"));
        let unchanged = lines(&unchanged, |topic| format!("{topic} was not stopped"));
        format!("{resumed}\n{unchanged}").trim().to_owned()
    })?;
    Ok(Exit::Done)
}

/// Ends the stops, and frees what they set aside. Which were stopped, and which were not.
async fn end(
    opened: &Opened,
    operator: &dyn OutboxOperator,
    topics: &[Topic],
) -> Result<(Vec<Topic>, Vec<Topic>), StoreError> {
    let (mut resumed, mut unchanged) = (Vec::new(), Vec::new());
    for topic in topics {
        if operator.resume(topic).await? {
            resumed.push(topic.clone());
        } else {
            unchanged.push(topic.clone());
        }
    }
    let (store, mut freed) = (opened.relay_side(), 0);
    loop {
        match store.free_topics().await? {
            0 => break,
            step => freed += step,
        }
    }
    tracing::debug!(
        "freed {}",
        count(u64::try_from(freed).unwrap_or(u64::MAX), "row")
    );
    Ok((resumed, unchanged))
}

fn lines(topics: &[Topic], line: impl Fn(String) -> String) -> String {
    let lines: Vec<String> = topics
        .iter()
        .map(|topic| line(shown(topic.as_str())))
        .collect();
    lines.join("\n")
}

/// Topics on one line, as the audit has them.
fn names(topics: &[Topic]) -> String {
    let names: Vec<&str> = topics.iter().map(Topic::as_str).collect();
    names.join(" ")
}

fn topic(text: &str) -> Result<Topic, String> {
    Topic::new(text).map_err(|error| error.to_string())
}
