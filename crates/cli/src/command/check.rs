//! `outbox check`: whether a relay could do its work now, and if not, what is wrong. It changes and publishes nothing.

use std::{collections::BTreeSet, error::Error, sync::Arc};

use clap::Args;
use outbox::{message::Topic, publisher::Publisher, store::Status};
use serde::Serialize;

use crate::{
    args::StoreArgs,
    exit::Exit,
    failure::{Failure, chain},
    output::Output,
    redact::redact,
    routes::{OpenRoute, RouteArgs, Routes},
    store,
    table::{count, shown},
};

/// Look whether the store and the destinations could be used now, and say what is wrong
///
/// The store must be there, with tables of this version. Every destination must answer and take the credentials, and have the queue, exchange or stream of each topic that has pending messages, that a --route names in full, or that --topic names. Nothing is changed or published.
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
    topic: Option<String>,
    /// In place of a topic and its destination: the pattern whose destination was asked, since no known topic goes there.
    route: Option<String>,
    destination: Option<String>,
    /// `null`: nothing is wrong.
    error: Option<String>,
}

pub(crate) async fn run(args: CheckArgs, output: Output) -> Result<Exit, Failure> {
    let wanted = Routes::parse(&args.routes)?;
    let opened = wanted.open()?;
    let status = store::with(&args.store, async |opened| {
        let status = opened.operator().status().await;
        status.map_err(|error| store::failure(&error))
    })
    .await?;
    let mut topics: BTreeSet<Topic> = args.topics.into_iter().chain(wanted.topics()).collect();
    let pending = status.topics.iter().filter(|topic| topic.pending > 0);
    topics.extend(pending.filter_map(|topic| Topic::new(&*topic.topic).ok()));
    let checked = check(&opened, topics).await;
    let wrong = checked.iter().any(|checked| checked.error.is_some());
    let shown = Shown {
        pending: status.pending(),
        topics: checked,
    };
    output.result(&shown, || text(&status, &shown.topics))?;
    Ok(if wrong { Exit::Destination } else { Exit::Done })
}

/// Checks each topic, and reaches each destination to which none of them goes.
async fn check(routes: &[OpenRoute], topics: BTreeSet<Topic>) -> Vec<Checked> {
    let (mut checked, mut met) = (Vec::new(), Vec::new());
    for topic in topics {
        let route = routes.iter().find(|(pattern, _)| pattern.matches(&topic));
        let (destination, error) = match route {
            Some((_, publisher)) => {
                met.push(publisher);
                let error = publisher.check(&topic).await.err();
                let destination = publisher.destination(&topic).into_owned();
                (Some(destination), error.map(|error| told(&error)))
            }
            None => (None, Some("no route matches it; add one".to_owned())),
        };
        checked.push(Checked {
            topic: Some(topic.to_string()),
            route: None,
            destination,
            error,
        });
    }
    for (pattern, publisher) in routes {
        if met.iter().any(|met| Arc::ptr_eq(met, publisher)) {
            continue;
        }
        met.push(publisher);
        let error = publisher.reach().await.err();
        checked.push(Checked {
            topic: None,
            route: Some(pattern.as_str().to_owned()),
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
            (Some(topic), None) => format!("topic {}", shown(topic)),
            _ => format!(
                "the destination of {}",
                shown(checked.route.as_deref().unwrap_or_default())
            ),
        };
        lines.push(match &checked.error {
            None => format!("ok     {what}"),
            Some(error) => format!("wrong  {what}: {}", shown(error)),
        });
    }
    if checked.iter().any(|checked| checked.topic.is_none()) {
        lines.push(
            "of a destination without a known topic only the connection was tried; --topic NAME \
             looks for its queue, exchange or stream"
                .to_owned(),
        );
    }
    lines.join("\n")
}

fn topic(text: &str) -> Result<Topic, String> {
    Topic::new(text).map_err(|error| error.to_string())
}
