//! Drives `graphile_worker` 0.14 for the benches, by the protocol of `peer-protocol`.
//!
//! The relay is one `Worker` whose handler publishes, with the settings of [`settings`]. Its jobs could keep an order, each
//! key in a queue of its own, which is far slower: they are left without, as everybody who is after speed leaves them. So keys
//! are not stored. A message is done when the worker's hook says that its job is completed, which is after the statement that
//! deletes it.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use graphile_worker::{JobComplete, JobSpec, RawJobSpec, TaskHandler, Worker, WorkerOptions};
use peer_protocol::{Call, Command, Done, Failure, Order, wait_for_end, wait_for_go};
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use publish::{Publish, Publisher};

mod publish;
mod save;
mod settings;

/// As many as the worker opens by default.
const CONNECTIONS: u32 = 20;
/// How many messages are saved by one statement where they are only there to be relayed.
const FILL: u64 = 5000;

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

fn options(pool: &PgPool) -> WorkerOptions {
    WorkerOptions::default()
        .pg_pool(pool.clone())
        .listen_os_shutdown_signals(false)
        .define_job::<Publish>()
}

/// Makes a worker. What it does for that is large, and so it is not a part of the futures that wait for it.
async fn init(options: WorkerOptions) -> Result<Worker, Failure> {
    Ok(Box::pin(options.init()).await?)
}

async fn prepare(pool: &PgPool, messages: u64) -> Result<(), Failure> {
    let remove = "DROP SCHEMA IF EXISTS graphile_worker CASCADE";
    sqlx::raw_sql(remove).execute(pool).await?;
    let utils = init(options(pool)).await?.create_utils();
    let mut added = 0;
    while added < messages {
        let end = messages.min(added + FILL);
        let jobs: Result<Vec<_>, Failure> = (added..end).map(job).collect();
        utils.add_raw_jobs(&jobs?).await?;
        added = end;
    }
    let analyze = "VACUUM ANALYZE graphile_worker._private_jobs";
    sqlx::raw_sql(analyze).execute(pool).await?;
    Ok(())
}

fn job(order: u64) -> Result<RawJobSpec, Failure> {
    Ok(RawJobSpec {
        identifier: Publish::IDENTIFIER.to_owned(),
        payload: serde_json::to_value(Order::new(order))?,
        spec: JobSpec::default(),
    })
}

async fn relay(url: &str, batch: u32, round_trip: Duration) -> Result<(), Failure> {
    let pool = pool(url, CONNECTIONS).await?;
    let done = Done::new();
    let counted = done.clone();
    let options =
        options(&pool)
            .add_extension(Publisher { round_trip })
            .on(JobComplete, move |_| {
                counted.add(1);
                ready(())
            });
    let worker = init(settings::apply(options, batch, round_trip)).await?;
    spawn_blocking(wait_for_go).await??;
    let worker = Arc::new(worker);
    let mut running = tokio::spawn(run(Arc::clone(&worker)));
    tokio::select! {
        ended = &mut running => {
            ended??;
            return Err("the worker ended by itself".into());
        }
        ended = spawn_blocking(wait_for_end) => ended?,
    }
    worker.request_shutdown();
    // What is under way may be recorded still.
    if let Ok(ended) = timeout(Duration::from_millis(500), running).await {
        ended??;
    }
    done.flush();
    Ok(())
}

async fn run(worker: Arc<Worker>) -> Result<(), Failure> {
    Ok(worker.run().await?)
}

async fn left(pool: &PgPool) -> Result<(), Failure> {
    // What is completed is deleted.
    let count = "SELECT count(*) FROM graphile_worker._private_jobs";
    let left: i64 = sqlx::query_scalar(count).fetch_one(pool).await?;
    println!("{left}");
    Ok(())
}
