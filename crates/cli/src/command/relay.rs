//! `outbox relay`: publishes what is pending, until told to stop, for a time, or until nothing is left.

mod misfit;
mod options;
mod until;

use std::time::Duration;

use clap::Args;
use outbox::{
    relay::{Relay, RelayError, Report},
    store::{OutboxOperator, Status},
};
use serde::Serialize;

use self::options::RelayOptions;
use crate::{
    args::{StoreArgs, WakeUpArgs, duration},
    command::{save::at_least_one, status::retrying},
    exit::Exit,
    failure::Failure,
    output::Output,
    routes::{RouteArgs, Routes},
    signals,
    store::{self, StoreOptions},
    table::count,
};

/// Publish what is pending, in order for each key
///
/// Runs until SIGINT or SIGTERM, which stop it gracefully: what is in flight is finished, every lease is given back. A second signal stops at once. Any number of relays may run on one store.
///
/// A message is published at least once; a consumer drops duplicates by the id. --to file:PATH appends a line of JSON for each message and confirms it when the line is on disk. --to stdout: writes the same lines, and the report then goes to standard error:
///
///   {"position":7,"id":"...","topic":"orders","key":"o-1","headers":[["name","value"]],
///    "content_type":null,"payload_text":"..."}
///
/// A payload that is not UTF-8 is payload_base64 instead.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:
  outbox relay --store sqlite:orders.db --to file:published.ndjson
  outbox relay --store sqlite:orders.db --to stdout: --until-empty | ./consumer
  outbox relay --store sqlite:orders.db --to amqp://app@localhost --for 10m --lease 10s
  outbox relay --store sqlite:orders.db --route 'orders.*=nats://nats' --route '*=redis://cache'

Exit codes: 0 done or stopped, 2 wrong option, 3 --until-empty left messages, 4 and 5 the store,
6 the destination, 7 the reader of standard output has gone (see outbox --help)"
)]
pub(crate) struct RelayArgs {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    wake_up: WakeUpArgs,
    #[command(flatten)]
    routes: RouteArgs,
    /// End when nothing is pending; with code 3 when only scheduled or held messages, or such of paused topics, are left
    ///
    /// Messages that wait for a retry, or for a destination that is down, are waited for.
    #[arg(long)]
    until_empty: bool,
    /// Keep published messages for this time, then delete them; without it they are deleted at once
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    retain: Option<Duration>,
    /// Stop gracefully after this time
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    time: Option<Duration>,
    /// Threads that relay and talk to brokers; more than one costs more work a message, and takes more processors
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = at_least_one, help_heading = "Settings")]
    threads: usize,
    #[command(flatten)]
    options: RelayOptions,
}

impl RelayArgs {
    /// How many threads the program is to have.
    pub(crate) fn threads(&self) -> usize {
        self.threads
    }
}

/// Why the relay ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Ended {
    /// Nothing is pending.
    Empty,
    /// Something is pending, and nothing of it that it would wait for.
    NothingReady,
    /// The time was over.
    Time,
    /// A signal came.
    Signal,
}

#[derive(Serialize)]
struct Shown {
    ended_by: Ended,
    published: u64,
    retried: u64,
    dead: u64,
    released: u64,
    lost: u64,
    left_to_lease: u64,
    store_errors: u64,
    /// With `--until-empty`: what is still there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pending: Option<Pending>,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct Pending {
    total: u64,
    ready: u64,
    retry: u64,
    paused: u64,
    held: u64,
    later: u64,
}

impl From<&Status> for Pending {
    fn from(status: &Status) -> Self {
        Self {
            total: status.pending(),
            ready: status.ready,
            retry: retrying(status),
            paused: status.paused,
            held: status.held,
            later: status.later,
        }
    }
}

pub(crate) async fn run(args: RelayArgs, output: Output) -> Result<Exit, Failure> {
    let routes = Routes::parse(&args.routes)?;
    let output = if routes.use_stdout() {
        output.beside_stdout()
    } else {
        output
    };
    match relay(args, &routes, output).await {
        Ok(exit) => Ok(exit),
        // Told here, where it is known what standard output is used for.
        Err(failure) => {
            output.failure(&failure);
            Ok(failure.exit)
        }
    }
}

async fn relay(args: RelayArgs, wanted: &Routes, output: Output) -> Result<Exit, Failure> {
    let config = args.options.config()?;
    let options = StoreOptions {
        wake_up: args.wake_up.into(),
        retain: args.retain,
    };
    store::with_options(&args.store, options, async |opened| {
        let router = wanted.router()?;
        if wanted.may_miss_topics() {
            let status = opened.operator().status().await;
            let status = status.map_err(|error| store::failure(&error))?;
            wanted.covers(&router, &status, args.options.dead_letters())?;
        }
        let relay = Relay::with_config(opened.relay_side(), router, config.clone())
            .map_err(|error| misfit::settings(&error, &config))?;
        let watched = args.until_empty.then_some(opened.operator());
        let mut ended = Ended::Signal;
        let stop = until::first(&mut ended, signals::stop()?, args.time, watched);
        let report = relay.run(stop).await.map_err(|error| failure(&error))?;
        let left = match watched {
            Some(store) => Some(pending(store).await?),
            None => None,
        };
        let is_left = left.is_some_and(|left| left.total > 0);
        if is_left && ended == Ended::Empty {
            ended = Ended::NothingReady;
        }
        output.result(&shown(ended, report, left), || text(report, left))?;
        Ok(if is_left { Exit::Left } else { Exit::Done })
    })
    .await
}

async fn pending(store: &dyn OutboxOperator) -> Result<Pending, Failure> {
    let status = store.status().await;
    let status = status.map_err(|error| store::failure(&error))?;
    Ok(Pending::from(&status))
}

fn failure(error: &RelayError) -> Failure {
    match error {
        RelayError::Closed(_) => Failure::caused(Exit::Closed, error),
        RelayError::Store(error) => store::failure(error),
        RelayError::Unrecorded { .. } => Failure::caused(Exit::Busy, error),
        _ => Failure::caused(Exit::Broken, error),
    }
}

fn shown(ended_by: Ended, report: Report, pending: Option<Pending>) -> Shown {
    Shown {
        ended_by,
        published: report.published,
        retried: report.retried,
        dead: report.dead,
        released: report.released,
        lost: report.lost,
        left_to_lease: report.left,
        store_errors: report.store_errors,
        pending,
    }
}

fn text(report: Report, left: Option<Pending>) -> String {
    let mut parts = vec![format!("published {}", count(report.published, "message"))];
    parts.extend(
        [
            (report.retried, "failed and tried again"),
            (report.dead, "dead"),
            (report.released, "given back"),
            (report.lost, "lost to another relay's lease"),
            (report.left, "left to their lease"),
            (report.store_errors, "errors of the store"),
        ]
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| format!("{number} {what}")),
    );
    let done = parts.join(", ");
    let Some(left) = left.filter(|left| left.total > 0) else {
        return done;
    };
    let parts: Vec<String> = [
        (left.ready, "ready"),
        (left.retry, "waiting for a retry"),
        (left.paused, "of paused topics"),
        (left.later, "scheduled for later"),
        (left.held, "held by dead letters"),
    ]
    .into_iter()
    .filter(|(number, _)| *number > 0)
    .map(|(number, what)| format!("{number} {what}"))
    .collect();
    format!(
        "{done}\n{} left: {} (see outbox status)",
        count(left.total, "message"),
        parts.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_what_is_left_add_up() {
        let status = Status {
            line: 5,
            waiting: 3,
            scheduled: 2,
            ready: 1,
            held: 2,
            paused: 1,
            later: 2,
            ..Status::default()
        };
        let left = Pending::from(&status);
        let parts = [left.ready, left.retry, left.paused, left.held, left.later];
        assert_eq!(left.total, parts.iter().sum::<u64>());
        let told = text(Report::default(), Some(left));
        assert!(
            told.ends_with(
                "10 messages left: 1 ready, 4 waiting for a retry, 1 of paused topics, 2 scheduled for later, \
                 2 held by dead letters (see outbox status)"
            ),
            "{told}"
        );
    }
}
