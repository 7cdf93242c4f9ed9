//! Savers and a relay in one process, so that one clock tells how long a message takes from its commit to its publish call.

mod times;

use std::time::Duration;

use outbox::{
    Message, Relay, RelayConfig,
    postgres_sqlx::{PostgresConfig, PostgresStore, WakeUp},
    sqlite::SqliteStore,
    store::OutboxStore,
};
use serde::{Deserialize, Serialize};
use sqlx::postgres::{PgPool, PgPoolOptions};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, sleep_until},
};

use self::times::{HANGING, HANGS, Times, Watched};
use super::{commit::Commit, outbox_tables::TOPIC, rounds::warm_up, sqlite, told};
use crate::{Result, measurement::quantile};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    url: String,
    /// Transactions a second, each with one message.
    #[arg(long)]
    rate: u32,
    #[arg(long)]
    seconds: u32,
    /// Savers notify, and the relay listens.
    #[arg(long)]
    wake_up: bool,
    /// One more key, each of whose messages takes ten seconds to publish; it always has one.
    #[arg(long)]
    hang: bool,
}

/// What was found, in milliseconds.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Latency {
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) max_ms: f64,
    /// Transactions a second that were committed.
    pub(crate) saved_per_s: f64,
}

/// Savers are as many as are needed to keep the rate when a commit takes a while.
const SAVERS: u32 = 16;
const KEYS: u32 = 1_000;

pub(crate) async fn run(args: Args) -> Result {
    if args.url.starts_with(sqlite::SCHEME) {
        // A file has one writer: savers that queue in the pool wait for each other better than at the lock of the file.
        let saving = SqliteStore::open(sqlite::pool(&args.url, 1).await?).await?;
        let relaying = SqliteStore::open(sqlite::pool(&args.url, 3).await?).await?;
        return measure(&args, saving, relaying).await;
    }
    let config = PostgresConfig {
        wake_up: if args.wake_up {
            WakeUp::Notify
        } else {
            WakeUp::Poll
        },
        ..PostgresConfig::default()
    };
    let saving = PostgresStore::open_with(pool(&args, SAVERS + 1).await?, config.clone()).await?;
    let relaying = PostgresStore::open_with(pool(&args, 3).await?, config).await?;
    measure(&args, saving, relaying).await
}

async fn pool(args: &Args, connections: u32) -> Result<PgPool> {
    let pool = PgPoolOptions::new()
        .max_connections(connections)
        .min_connections(connections)
        .connect(&args.url)
        .await?;
    Ok(pool)
}

async fn measure(args: &Args, saving: impl Commit, relaying: impl OutboxStore) -> Result {
    warm_up(&relaying).await?;
    let count = args.rate * args.seconds;
    let times = Times::of(count)?;
    let publisher = Watched(times.clone());
    let relay = Relay::with_config(relaying, publisher, RelayConfig::default())?;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let relay = tokio::spawn(relay.run(async {
        let _ = stopped.await;
    }));
    told::ready()?;
    if args.hang {
        tokio::spawn(hang(saving.clone(), args.seconds));
    }
    let began = Instant::now();
    let interval = Duration::from_secs(1) / args.rate;
    let mut work = JoinSet::new();
    for saver in 0..SAVERS {
        let (saving, times) = (saving.clone(), times.clone());
        work.spawn(async move {
            for number in (saver..count).step_by(usize::try_from(SAVERS)?) {
                sleep_until(began + interval * number).await;
                saving.commit(&[message(number)?]).await?;
                times.committed(number);
            }
            Result::Ok(())
        });
    }
    while let Some(done) = work.join_next().await {
        done??;
    }
    let saved_per_s = f64::from(count) / began.elapsed().as_secs_f64();
    // Whoever is late is waited for, but not a message that hangs.
    for _ in 0..400 {
        if times.are_complete() {
            break;
        }
        sleep(Duration::from_millis(50)).await;
    }
    let latencies = times.latencies()?;
    told::done(1)?;
    told::end(&Latency {
        p50_ms: quantile(&latencies, 0.5),
        p99_ms: quantile(&latencies, 0.99),
        max_ms: quantile(&latencies, 1.0),
        saved_per_s,
    })?;
    told::until_end().await;
    let _ = stop.send(());
    relay.await??;
    Ok(())
}

fn message(number: u32) -> Result<Message> {
    let payload = format!("{number} {}", "x".repeat(190));
    Ok(Message::new(TOPIC, payload)?.with_key(format!("order-{}", number % KEYS))?)
}

/// Keeps a message of the key that hangs in the line.
async fn hang(saving: impl Commit, seconds: u32) -> Result {
    for _ in 0..=seconds / 10 {
        let message = Message::new(TOPIC, HANGS)?.with_key(HANGS)?;
        saving.commit(&[message]).await?;
        sleep(HANGING).await;
    }
    Ok(())
}
