//! Writers that save through the peer's own API: a call for each message of a transaction.

use std::sync::Arc;
use std::time::{Duration, Instant};

use outbox_core::prelude::{NoIdempotency, OutboxConfig, OutboxService};
use outbox_postgres::PostgresWriter;
use peer_protocol::{Failure, Order};
use sqlx::PgPool;
use tokio::task::JoinSet;

use crate::EVENT_TYPE;

type Service = OutboxService<PostgresWriter, NoIdempotency, Order>;

pub(crate) async fn save(
    pool: &PgPool,
    writers: u32,
    per_transaction: u32,
    time: Duration,
) -> Result<(), Failure> {
    let config = Arc::new(OutboxConfig::default());
    let service: Arc<Service> = Arc::new(OutboxService::new(Arc::new(PostgresWriter), config));
    let began = Instant::now();
    let mut running = JoinSet::new();
    for _ in 0..writers {
        let (pool, service) = (pool.clone(), Arc::clone(&service));
        running.spawn(write(pool, service, per_transaction.into(), began + time));
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
    service: Arc<Service>,
    per_transaction: u64,
    end: Instant,
) -> Result<u64, Failure> {
    let mut saved = 0;
    while Instant::now() < end {
        let mut transaction = pool.begin().await?;
        for order in saved..saved + per_transaction {
            let order = Order::new(order);
            let saving = service.add_event(EVENT_TYPE, order, None, &mut *transaction);
            saving.await?;
        }
        transaction.commit().await?;
        saved += per_transaction;
    }
    Ok(saved)
}
