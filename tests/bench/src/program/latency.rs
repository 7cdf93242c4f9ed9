//! Savers and a relay in one process, so that one clock tells how long a message takes from its commit to its publish call.

use std::{
    borrow::Cow,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use outbox::{
    Message, Relay, RelayConfig,
    message::Topic,
    postgres_sqlx::{PostgresConfig, PostgresStore, WakeUp},
    publisher::{Published, Publisher, Run},
};
use serde::{Deserialize, Serialize};
use sqlx::{PgPool, postgres::PgPoolOptions};
use tokio::time::{Instant, sleep, sleep_until};

use super::{outbox_tables::TOPIC, rounds::warm_up, told};
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
}

/// Savers are as many as are needed to keep the rate when a commit takes a while.
const SAVERS: u32 = 16;
const KEYS: u32 = 1_000;
const HANGS: &str = "hangs";
const HANGING: Duration = Duration::from_secs(10);

/// When each message was committed and published.
type Times = Arc<Mutex<Vec<(Option<Instant>, Option<Instant>)>>>;

pub(crate) async fn run(args: Args) -> Result {
    let savers = PgPoolOptions::new()
        .max_connections(SAVERS + 1)
        .min_connections(SAVERS + 1)
        .connect(&args.url)
        .await?;
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
        ..PostgresConfig::default()
    };
    let store = PostgresStore::open_with(pool, config).await?;
    let count = args.rate * args.seconds;
    let times: Times = Arc::new(Mutex::new(vec![(None, None); usize::try_from(count)?]));
    warm_up(&store).await?;
    let publisher = Watched(Arc::clone(&times));
    let relay = Relay::with_config(store.clone(), publisher, RelayConfig::default())?;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let relay = tokio::spawn(relay.run(async {
        let _ = stopped.await;
    }));
    told::ready()?;
    if args.hang {
        tokio::spawn(hang(savers.clone(), store.clone(), args.seconds));
    }
    let began = Instant::now();
    let mut work = tokio::task::JoinSet::new();
    for saver in 0..SAVERS {
        let (pool, store, times) = (savers.clone(), store.clone(), Arc::clone(&times));
        let interval = Duration::from_secs(1) / args.rate;
        work.spawn(async move {
            for number in (saver..count).step_by(usize::try_from(SAVERS)?) {
                sleep_until(began + interval * number).await;
                save(&pool, &store, number).await?;
                note(&times, number, |it| it.0 = Some(Instant::now()));
            }
            Result::Ok(())
        });
    }
    while let Some(done) = work.join_next().await {
        done??;
    }
    // Whoever is late is waited for, but not a message that hangs.
    for _ in 0..400 {
        let all = lock(&times).iter().all(|it| it.1.is_some());
        if all {
            break;
        }
        sleep(Duration::from_millis(50)).await;
    }
    let latencies = latencies(&lock(&times))?;
    told::done(1)?;
    told::end(&Latency {
        p50_ms: quantile(&latencies, 0.5),
        p99_ms: quantile(&latencies, 0.99),
        max_ms: quantile(&latencies, 1.0),
    })?;
    told::until_end().await;
    let _ = stop.send(());
    relay.await??;
    Ok(())
}

async fn save(pool: &PgPool, store: &PostgresStore, number: u32) -> Result {
    let payload = format!("{number} {}", "x".repeat(190));
    let message = Message::new(TOPIC, payload)?.with_key(format!("order-{}", number % KEYS))?;
    let mut tx = pool.begin().await?;
    store.save(&mut tx, &message).await?;
    Ok(tx.commit().await?)
}

/// Keeps a message of the key that hangs in the line.
async fn hang(pool: PgPool, store: PostgresStore, seconds: u32) -> Result {
    for _ in 0..=seconds / 10 {
        let message = Message::new(TOPIC, HANGS)?.with_key(HANGS)?;
        let mut tx = pool.begin().await?;
        store.save(&mut tx, &message).await?;
        tx.commit().await?;
        sleep(HANGING).await;
    }
    Ok(())
}

fn latencies(times: &[(Option<Instant>, Option<Instant>)]) -> Result<Vec<f64>> {
    let each = times.iter().map(|(committed, published)| {
        // The relay may be faster than the answer to the commit.
        let late = published.as_ref()?.saturating_duration_since((*committed)?);
        Some(late.as_secs_f64() * 1e3)
    });
    let latencies: Option<Vec<f64>> = each.collect();
    latencies.ok_or_else(|| "a message was not published within 20 s".into())
}

fn note(times: &Times, number: u32, note: impl FnOnce(&mut (Option<Instant>, Option<Instant>))) {
    let mut times = lock(times);
    if let Some(it) = usize::try_from(number)
        .ok()
        .and_then(|it| times.get_mut(it))
    {
        note(it);
    }
}

fn lock(times: &Times) -> std::sync::MutexGuard<'_, Vec<(Option<Instant>, Option<Instant>)>> {
    times.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A broker that notes when a message came.
#[derive(Debug)]
struct Watched(Times);

#[async_trait]
impl Publisher for Watched {
    fn destination<'a>(&'a self, _topic: &'a Topic) -> Cow<'a, str> {
        "watched".into()
    }

    async fn publish(&self, run: Run<'_>) -> Published {
        for delivery in run.messages {
            let payload = &delivery.message.payload;
            let text = std::str::from_utf8(payload).unwrap_or_default();
            if text == HANGS {
                // Just below the time after which the call would be dropped.
                sleep(HANGING - Duration::from_millis(200)).await;
            }
            let number = text.split(' ').next().and_then(|it| it.parse().ok());
            if let Some(number) = number {
                note(&self.0, number, |it| it.1 = Some(Instant::now()));
            }
        }
        Published::all(run)
    }
}
