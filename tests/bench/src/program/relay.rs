//! One relay of this outbox, with a publisher that confirms at once or after a round trip.

use std::time::Duration;

use outbox::{
    Relay, RelayConfig,
    postgres_sqlx::{PostgresConfig, PostgresStore, WakeUp},
    sqlite::SqliteStore,
    store::OutboxStore,
};
use sqlx::postgres::PgPoolOptions;

use super::{broker::Broker, counting::Counting, rounds::warm_up, sqlite, told};
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
    if args.url.starts_with(sqlite::SCHEME) {
        let store = SqliteStore::open(sqlite::pool(&args.url, 3).await?).await?;
        return relay(&args, store).await;
    }
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
    relay(&args, store).await
}

async fn relay(args: &Args, store: impl OutboxStore) -> Result {
    warm_up(&store).await?;
    let default = RelayConfig::default();
    let config = RelayConfig {
        batch: args.batch,
        concurrency: args.concurrency.unwrap_or(default.concurrency),
        ..default
    };
    let publisher = Broker::new(Duration::from_millis(args.round_trip_ms));
    let relay = Relay::with_config(Counting::of(store, args.trace), publisher, config)?;
    told::ready()?;
    let report = relay.run(told::until_end()).await?;
    if report.retried + report.dead + report.lost + report.store_errors > 0 {
        return Err(format!("not everything was published at once: {report:?}").into());
    }
    Ok(())
}
