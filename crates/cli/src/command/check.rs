//! `outbox check`: whether a relay could do its work now, and if not, what is wrong. It changes and publishes nothing.

use std::{collections::BTreeSet, error::Error};

use clap::Args;
use outbox::{
    message::Topic,
    publisher::{Publisher, Router},
    store::Status,
};
use serde::Serialize;

use crate::{
    args::StoreArgs,
    exit::Exit,
    failure::{Failure, chain},
    output::Output,
    redact::redact,
    routes::{RouteArgs, Routes},
    store,
    table::{count, shown},
};

/// Look whether the store and the destinations could be used now, and say what is wrong
///
/// The store must be there, with tables of this version. Of each topic that has pending messages, that a --route names in full, or that --topic names, the destination must answer, take the credentials, and have the queue, exchange or stream. Nothing is changed or published.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  outbox check --store sqlite:orders.db --to amqp://app@localhost
  outbox check --store postgres://app@localhost/shop --to nats://localhost --topic orders

Exit codes: 0 all is well, 2 wrong option, 4 and 5 the store, 6 a destination (see outbox --help)")]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    routes: RouteArgs,
    /// Check this topic too; may be given again
    #[arg(long = "topic", value_name = "TOPIC", value_parser = topic)]
    topics: Vec<Topic>,
}

#[derive(Serialize)]
struct Shown {
    /// Messages pending, since the store answers.
    pending: u64,
    topics: Vec<Checked>,
}

#[derive(Serialize)]
struct Checked {
    /// `null`: the destination itself, since no topic is known.
    topic: Option<String>,
    destination: Option<String>,
    /// `null`: nothing is wrong.
    error: Option<String>,
}

pub(crate) async fn run(args: CheckArgs, output: Output) -> Result<Exit, Failure> {
    let routes = Routes::parse(&args.routes)?;
    let router = routes.open()?;
    let status = store::with(&args.store, async |opened| {
        let status = opened.operator().status().await;
        status.map_err(|error| store::failure(&error))
    })
    .await?;
    let mut topics: BTreeSet<Topic> = args.topics.into_iter().chain(routes.topics()).collect();
    let pending = status.topics.iter().filter(|topic| topic.pending > 0);
    topics.extend(pending.filter_map(|topic| Topic::new(&*topic.topic).ok()));
    let checked = check(&router, topics).await;
    let wrong = checked.iter().any(|checked| checked.error.is_some());
    let shown = Shown {
        pending: status.pending(),
        topics: checked,
    };
    output.result(&shown, || text(&status, &shown.topics))?;
    Ok(if wrong { Exit::Destination } else { Exit::Done })
}

/// Checks each topic, or each destination if no topic is known.
async fn check(router: &Router, topics: BTreeSet<Topic>) -> Vec<Checked> {
    let mut checked = Vec::new();
    for topic in topics {
        let error = router.check(&topic).await.err();
        checked.push(Checked {
            destination: Some(router.destination(&topic).into_owned()),
            topic: Some(topic.to_string()),
            error: error.map(|error| told(&error)),
        });
    }
    if checked.is_empty() {
        let error = router.reach().await.err();
        checked.push(Checked {
            topic: None,
            destination: None,
            error: error.map(|error| told(&error)),
        });
    }
    checked
}

fn told(error: &dyn Error) -> String {
    redact(&chain(error))
}

fn text(status: &Status, checked: &[Checked]) -> String {
    let pending = count(status.pending(), "pending message");
    let mut lines = vec![format!("ok     store: it answers, and has {pending}")];
    for checked in checked {
        let what = match (&checked.topic, &checked.destination) {
            (Some(topic), Some(to)) => format!("topic {}, to {}", shown(topic), shown(to)),
            _ => "the destinations".to_owned(),
        };
        lines.push(match &checked.error {
            None => format!("ok     {what}"),
            Some(error) => format!("wrong  {what}: {}", shown(error)),
        });
    }
    if checked.iter().any(|checked| checked.topic.is_none()) {
        lines.push(
            "no topic is known yet; --topic NAME looks for its queue or stream too".to_owned(),
        );
    }
    lines.join("\n")
}

fn topic(text: &str) -> Result<Topic, String> {
    Topic::new(text).map_err(|error| error.to_string())
}
