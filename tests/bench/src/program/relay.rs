//! One relay of this outbox, with a publisher that confirms at once or after a round trip.

use std::{borrow::Cow, time::Duration};

use async_trait::async_trait;
use outbox::{
    Relay, RelayConfig,
    message::Topic,
    postgres_sqlx::{PostgresConfig, PostgresStore, WakeUp},
    publisher::{Published, Publisher, Run},
};
use sqlx::postgres::PgPoolOptions;

use super::{counting::Counting, rounds::warm_up, told};
use crate::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    url: String,
    #[arg(long)]
    batch: usize,
    /// How long the broker takes for each message of a key.
    #[arg(long, default_value_t = 0)]
    round_trip_ms: u64,
    /// Listens for savers.
    #[arg(long)]
    wake_up: bool,
    /// Keeps published messages.
    #[arg(long)]
    retain: bool,
    #[arg(long)]
    concurrency: Option<usize>,
    /// Tells of each claim and settlement on standard error.
    #[arg(long)]
    trace: bool,
}

pub(crate) async fn run(args: Args) -> Result {
    let pool = PgPoolOptions::new()
        .max_connections(3)
        .min_connections(3)
        .connect(&args.url)
        .await?;
    let config = PostgresConfig {
        wake_up: if args.wake_up {
            WakeUp::Notify
        } else {
            WakeUp::Poll
        },
        retain: args.retain.then_some(Duration::from_hours(24)),
        ..PostgresConfig::default()
    };
    let store = PostgresStore::open_with(pool, config).await?;
    warm_up(&store).await?;
    let default = RelayConfig::default();
    let config = RelayConfig {
        batch: args.batch,
        concurrency: args.concurrency.unwrap_or(default.concurrency),
        ..default
    };
    let publisher = Nowhere {
        round_trip: Duration::from_millis(args.round_trip_ms),
    };
    let relay = Relay::with_config(Counting::of(store, args.trace), publisher, config)?;
    told::ready()?;
    let report = relay.run(told::until_end()).await?;
    if report.retried + report.dead + report.lost + report.store_errors > 0 {
        return Err(format!("not everything was published at once: {report:?}").into());
    }
    Ok(())
}

/// A broker that keeps nothing, and confirms each message of a run after a round trip, one after another.
#[derive(Debug)]
struct Nowhere {
    round_trip: Duration,
}

#[async_trait]
impl Publisher for Nowhere {
    fn destination<'a>(&'a self, _topic: &'a Topic) -> Cow<'a, str> {
        "nowhere".into()
    }

    fn has_one_destination(&self) -> bool {
        true
    }

    /// A run is published within the timeout of the relay.
    fn longest_run(&self) -> usize {
        if self.round_trip.is_zero() {
            usize::MAX
        } else {
            100
        }
    }

    async fn publish(&self, run: Run<'_>) -> Published {
        if !self.round_trip.is_zero() {
            let messages = u32::try_from(run.messages.len()).unwrap_or(u32::MAX);
            tokio::time::sleep(self.round_trip * messages).await;
        }
        Published::all(run)
    }
}
