//! Writers that save through the peer's own API: one job a call where a transaction has one, and otherwise all of its jobs.

use std::time::{Duration, Instant};

use graphile_worker::{JobSpec, WorkerUtils};
use peer_protocol::{Failure, Order};
use sqlx::PgPool;
use tokio::task::JoinSet;

use crate::publish::Publish;

pub(crate) async fn save(
    pool: &PgPool,
    writers: u32,
    per_transaction: u32,
    time: Duration,
) -> Result<(), Failure> {
    let worker = crate::init(crate::options(pool)).await?;
    let began = Instant::now();
    let mut running = JoinSet::new();
    for _ in 0..writers {
        let (pool, utils) = (pool.clone(), worker.create_utils());
        running.spawn(write(pool, utils, per_transaction.into(), began + time));
    }
    let mut saved = 0;
    while let Some(ended) = running.join_next().await {
        saved += ended??;
    }
    println!("saved {saved} {}", began.elapsed().as_secs_f64());
    Ok(())
}

async fn write(
    pool: PgPool,
    utils: WorkerUtils,
    per_transaction: u64,
    end: Instant,
) -> Result<u64, Failure> {
    let spec = JobSpec::default();
    let mut saved = 0;
    while Instant::now() < end {
        let mut transaction = pool.begin().await?;
        let mut inside = utils.clone().with_executor(&mut transaction);
        if per_transaction == 1 {
            inside
                .add_job(Publish(Order::new(saved)), spec.clone())
                .await?;
        } else {
            let orders = saved..saved + per_transaction;
            let jobs = orders.map(|order| (Publish(Order::new(order)), &spec));
            inside.add_jobs(&jobs.collect::<Vec<_>>()).await?;
        }
        transaction.commit().await?;
        saved += per_transaction;
    }
    Ok(saved)
}
