//! `outbox topics`: what is pending and dead of each topic, and which are stopped.

use std::collections::BTreeMap;

use clap::Args;
use outbox::store::{Status, StopCause, StoppedTopic};
use serde::Serialize;

use crate::{
    args::StoreArgs,
    exit::Exit,
    failure::Failure,
    output::Output,
    store,
    table::{millis, numbers, short, shown, span, table},
};

/// Show the topics: what is pending and dead, and which are paused or have a destination that is down
///
/// Counts every message, so it takes longer on a long backlog.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  outbox topics --store sqlite:orders.db
  outbox topics --store postgres://app@localhost/shop --json | jq '.topics[] | select(.stopped)'

Exit codes: 0 done, 2 wrong option, 4 and 5 the store (see outbox --help)")]
pub(crate) struct TopicsArgs {
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Serialize)]
struct Shown<'a> {
    topics: Vec<Topic<'a>>,
}

/// A topic as JSON.
#[derive(Default, Serialize)]
pub(crate) struct Topic<'a> {
    #[serde(rename = "topic")]
    name: &'a str,
    pending: u64,
    dead: u64,
    stopped: Option<Stopped<'a>>,
}

#[derive(Serialize)]
struct Stopped<'a> {
    cause: &'static str,
    #[serde(rename = "stopped_for_ms")]
    since_ms: u64,
    /// `null` until it is resumed.
    until_ms: Option<u64>,
    destination: Option<&'a str>,
    relay: Option<&'a str>,
    error: Option<&'a str>,
}

pub(crate) async fn run(args: TopicsArgs, output: Output) -> Result<Exit, Failure> {
    let status = store::with(&args.store, async |opened| {
        let status = opened.operator().status().await;
        status.map_err(|error| store::failure(&error))
    })
    .await?;
    let topics = topics(&status);
    output.result(&Shown { topics }, || {
        let text = text(&status);
        text.unwrap_or_else(|| "no topic has messages, and none is stopped".to_owned())
    })?;
    Ok(Exit::Done)
}

/// Every topic that has messages or is stopped, in order.
pub(crate) fn topics(status: &Status) -> Vec<Topic<'_>> {
    let mut topics: BTreeMap<&str, Topic<'_>> = BTreeMap::new();
    for backlog in &status.topics {
        let topic = topics.entry(&backlog.topic).or_default();
        (topic.pending, topic.dead) = (backlog.pending, backlog.dead);
    }
    for stop in &status.stopped {
        topics.entry(&stop.topic).or_default().stopped = Some(Stopped {
            cause: stop.cause.as_str(),
            since_ms: millis(stop.stopped_for),
            until_ms: stop.until.map(millis),
            destination: stop.destination.as_deref(),
            relay: stop.relay.as_deref(),
            error: stop.error.as_deref(),
        });
    }
    let named = topics.into_iter();
    named.map(|(name, rest)| Topic { name, ..rest }).collect()
}

/// The topics as a table, if there is any.
pub(crate) fn text(status: &Status) -> Option<String> {
    let topics = topics(status);
    if topics.is_empty() {
        return None;
    }
    let mut rows = table(["topic", "pending", "dead", "state", "last error"]);
    numbers(&mut rows, &[1, 2]);
    for topic in topics {
        let stop = status.stopped.iter().find(|stop| stop.topic == topic.name);
        rows.add_row([
            shown(topic.name),
            topic.pending.to_string(),
            topic.dead.to_string(),
            stop.map_or("goes".to_owned(), state),
            stop.and_then(|stop| stop.error.as_deref())
                .map_or(String::new(), |error| short(error, 60)),
        ]);
    }
    Some(rows.trim_fmt())
}

/// A stop in words.
fn state(stop: &StoppedTopic) -> String {
    if stop.until.is_some_and(|until| until.is_zero()) {
        return "goes again; a relay frees what was set aside".to_owned();
    }
    match (stop.cause, stop.until) {
        (StopCause::Paused, None) => {
            format!("paused for {}, until resumed", span(stop.stopped_for))
        }
        (StopCause::Paused, Some(until)) => format!("paused for another {}", span(until)),
        _ => format!(
            "stopped for {}: {} is down",
            span(stop.stopped_for),
            shown(stop.destination.as_deref().unwrap_or("its destination"))
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use outbox::store::TopicBacklog;

    use super::*;

    fn stop(topic: &str, cause: StopCause, until: Option<u64>) -> StoppedTopic {
        StoppedTopic {
            topic: topic.to_owned(),
            cause,
            stopped_for: Duration::from_mins(5),
            until: until.map(Duration::from_secs),
            destination: Some("amqp://mq:5672/ mail".to_owned()),
            relay: None,
            error: Some("connection refused".to_owned()),
        }
    }

    #[test]
    fn topics_with_messages_and_stopped_ones_are_shown_together() {
        let status = Status {
            topics: vec![TopicBacklog {
                topic: "orders".to_owned(),
                pending: 3,
                dead: 1,
            }],
            stopped: vec![
                stop("fax", StopCause::Paused, None),
                stop("mail", StopCause::Destination, Some(40)),
                stop("sms", StopCause::Paused, Some(90)),
                stop("tty", StopCause::Paused, Some(0)),
            ],
            ..Status::default()
        };
        let text = text(&status).unwrap();
        let row = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap();
        assert!(row("orders").ends_with("3     1  goes"), "{text}");
        assert!(
            row("fax").contains("paused for 5m, until resumed"),
            "{text}"
        );
        assert!(row("mail").contains("stopped for 5m: amqp://mq:5672/ mail is down"));
        assert!(row("mail").ends_with("connection refused"), "{text}");
        assert!(row("sms").contains("paused for another 1m 30s"), "{text}");
        assert!(row("tty").contains("goes again"), "{text}");
    }
}
