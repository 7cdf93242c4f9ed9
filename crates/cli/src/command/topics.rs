//! `outbox topics`: what is pending and dead of each topic, and which are stopped.

use std::collections::BTreeMap;

use clap::Args;
use outbox::store::{Circuit, Status, StopCause, StoppedTopic};
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
    waits_for: Option<WaitsFor<'a>>,
}

/// The only destination of a relay, which is down.
#[derive(Serialize)]
struct WaitsFor<'a> {
    destination: &'a str,
    relay: &'a str,
    #[serde(rename = "open_for_ms")]
    open_for: u64,
    error: &'a str,
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
    let circuit = awaited(status);
    let named = topics.into_iter();
    named
        .map(|(name, rest)| {
            let circuit = circuit.filter(|_| rest.stopped.is_none());
            let waits_for = circuit.map(|circuit| WaitsFor {
                destination: &circuit.destination,
                relay: &circuit.relay,
                open_for: millis(circuit.open_for),
                error: &circuit.error,
            });
            Topic {
                name,
                waits_for,
                ..rest
            }
        })
        .collect()
}

/// What the topics wait for that nobody stopped: a destination that is down and for which no topic is stopped is the only one
/// of its relay, or that relay would have stopped its topics. Of several that which is down for the longest time.
fn awaited(status: &Status) -> Option<&Circuit> {
    let stops = |circuit: &&Circuit| {
        let mut stopped = status.stopped.iter();
        stopped.any(|stop| stop.destination.as_deref() == Some(&*circuit.destination))
    };
    let circuits = status.circuits.iter();
    circuits
        .filter(|circuit| !stops(circuit))
        .max_by_key(|circuit| circuit.open_for)
}

/// The topics as a table, if there is any.
pub(crate) fn text(status: &Status) -> Option<String> {
    let topics = topics(status);
    if topics.is_empty() {
        return None;
    }
    let mut rows = table(["topic", "pending", "dead", "state", "last error"]);
    numbers(&mut rows, &[1, 2]);
    let circuit = awaited(status);
    for topic in topics {
        let stop = status.stopped.iter().find(|stop| stop.topic == topic.name);
        let (state, error) = match (stop, &circuit) {
            (Some(stop), _) => (state(stop), stop.error.as_deref()),
            (None, Some(circuit)) => (waits(circuit), Some(&*circuit.error)),
            (None, None) => ("goes".to_owned(), None),
        };
        rows.add_row([
            shown(topic.name),
            topic.pending.to_string(),
            topic.dead.to_string(),
            state,
            error.map_or(String::new(), |error| short(error, 60)),
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

/// The wait for a destination in words.
fn waits(circuit: &Circuit) -> String {
    format!(
        "waits for {}, down for {}",
        shown(&circuit.destination),
        span(circuit.open_for)
    )
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

    fn circuit(destination: &str) -> Circuit {
        Circuit {
            destination: destination.to_owned(),
            relay: "shop-1".to_owned(),
            open_for: Duration::from_mins(2),
            next_probe: Duration::from_secs(1),
            error: "connection refused".to_owned(),
        }
    }

    fn backlog(topic: &str) -> TopicBacklog {
        TopicBacklog {
            topic: topic.to_owned(),
            pending: 3,
            dead: 0,
        }
    }

    #[test]
    fn f3_topics_wait_for_the_only_destination_while_it_is_down() {
        let status = Status {
            circuits: vec![circuit("nats://mq:4222")],
            stopped: vec![StoppedTopic {
                destination: None,
                error: None,
                ..stop("fax", StopCause::Paused, None)
            }],
            topics: vec![backlog("fax"), backlog("orders")],
            ..Status::default()
        };
        let text = text(&status).unwrap();
        let row = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap();
        assert!(
            row("orders").contains("waits for nats://mq:4222, down for 2m"),
            "{text}"
        );
        assert!(row("orders").ends_with("connection refused"), "{text}");
        assert!(row("fax").contains("paused for 5m"), "{text}");
        let shown = serde_json::to_value(topics(&status)).unwrap();
        assert_eq!(
            shown[1]["waits_for"],
            serde_json::json!({
                "destination": "nats://mq:4222",
                "relay": "shop-1",
                "open_for_ms": 120_000,
                "error": "connection refused",
            })
        );
        assert_eq!(shown[0]["waits_for"], serde_json::Value::Null);
    }

    #[test]
    fn f3_topics_of_other_destinations_go_while_one_is_down() {
        let status = Status {
            circuits: vec![circuit("amqp://mq:5672/ mail")],
            stopped: vec![stop("mail", StopCause::Destination, Some(40))],
            topics: vec![backlog("orders")],
            ..Status::default()
        };
        let text = text(&status).unwrap();
        let row = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap();
        assert!(row("orders").ends_with("goes"), "{text}");
        assert!(row("mail").contains("is down"), "{text}");
    }
}
