//! Drives outbox-core 0.6 with outbox-postgres 0.3 for the benches, by the protocol of `peer-protocol`.
//!
//! The relay is one `OutboxManager` with the batch size of the bench; everything else is as the two crates and the pool of
//! sqlx have it by default. It has no keys and keeps no order, so keys are not stored. A message is done when
//! `update_status` returned, which is seen from around its storage. Once its backlog is gone it sleeps until a trigger of its
//! table notifies it.
//!
//! A filled table is as its own writer leaves it, but filled by one statement: its trigger runs once for each row either way.

use std::sync::Arc;
use std::time::Duration;

use outbox_core::prelude::{
    IdempotencyStrategy, OutboxConfig, OutboxManagerBuilder, OutboxStorage,
};
use outbox_postgres::PostgresOutbox;
use peer_protocol::{Call, Command, Done, Failure, Order, PAYLOAD, wait_for_end, wait_for_go};
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use relay::{Publisher, Recorded};

mod relay;
mod save;

/// What the published crate brings.
const SCHEMA: &str = include_str!(concat!(env!("OUT_DIR"), "/schema.sql"));

const EVENT_TYPE: &str = "order.placed";

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let Call { url, command } = Call::read()?;
    match command {
        Command::Prepare { messages, .. } => prepare(&pool(&url, 1).await?, messages).await,
        Command::Relay { batch, round_trip } => relay(&url, batch, round_trip).await,
        Command::Left => left(&pool(&url, 1).await?).await,
        Command::Save {
            writers,
            per_transaction,
            time,
        } => save::save(&pool(&url, writers).await?, writers, per_transaction, time).await,
    }
}

async fn pool(url: &str, connections: u32) -> Result<PgPool, Failure> {
    let options = PgPoolOptions::new().max_connections(connections);
    Ok(options.connect(url).await?)
}

async fn prepare(pool: &PgPool, messages: u64) -> Result<(), Failure> {
    let empty = "DROP SCHEMA public CASCADE; CREATE SCHEMA public";
    sqlx::raw_sql(empty).execute(pool).await?;
    sqlx::raw_sql(SCHEMA).execute(pool).await?;
    let fill = format!(
        "INSERT INTO outbox_events (id, event_type, payload, status, created_at, locked_until)
         SELECT gen_random_uuid(), $2, {PAYLOAD}::jsonb, 'Pending', clock_timestamp(), 'epoch'
         FROM generate_series(1, $1) i"
    );
    sqlx::query(&fill)
        .bind(i64::try_from(messages)?)
        .bind(EVENT_TYPE)
        .execute(pool)
        .await?;
    let analyze = "VACUUM ANALYZE outbox_events";
    sqlx::raw_sql(analyze).execute(pool).await?;
    Ok(())
}

async fn relay(url: &str, batch: u32, round_trip: Duration) -> Result<(), Failure> {
    let pool = PgPoolOptions::new().connect(url).await?;
    let config = Arc::new(config(batch));
    let done = Done::new();
    let storage = Arc::new(Recorded {
        storage: PostgresOutbox::new(pool, Arc::clone(&config)),
        done: done.clone(),
    });
    // Prepares the statement and takes nothing.
    storage.fetch_next_to_process(0).await?;
    let (stop, stopped) = watch::channel(false);
    let manager = OutboxManagerBuilder::new()
        .storage(storage)
        .publisher(Arc::new(Publisher { round_trip }))
        .config(config)
        .shutdown_rx(stopped)
        .build()?;
    spawn_blocking(wait_for_go).await??;
    let mut running = tokio::spawn(manager.run());
    tokio::select! {
        ended = &mut running => {
            ended??;
            return Err("the manager ended by itself".into());
        }
        ended = spawn_blocking(wait_for_end) => ended?,
    }
    stop.send(true)?;
    // What is under way may be recorded still.
    if let Ok(ended) = timeout(Duration::from_millis(500), running).await {
        ended??;
    }
    done.flush();
    Ok(())
}

fn config(batch: u32) -> OutboxConfig<Order> {
    let mut config = OutboxConfig::default();
    config.batch_size = batch;
    config.idempotency_strategy = IdempotencyStrategy::None;
    config
}

async fn left(pool: &PgPool) -> Result<(), Failure> {
    let count = "SELECT count(*) FROM outbox_events WHERE status <> 'Sent'";
    let left: i64 = sqlx::query_scalar(count).fetch_one(pool).await?;
    println!("{left}");
    Ok(())
}
