//! Stores that are filled, and relays that drain them.

use std::{
    borrow::Cow,
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use outbox::{
    Message, Relay, RelayConfig, Save,
    memory::MemoryStore,
    message::Topic,
    postgres_sqlx::{PostgresConfig, PostgresStore},
    publisher::{Published, Publisher, Run},
    store::{OutboxStore, OutboxWriter},
};

use crate::schema::{self, TestSchema};

/// The time that some work takes.
pub(crate) async fn timed(work: impl Future<Output = ()>) -> Duration {
    let began = Instant::now();
    work.await;
    began.elapsed()
}

/// The time in which a relay publishes everything, with as much under way as the bare loop has.
pub(crate) async fn drain(
    store: impl OutboxStore,
    publisher: Arc<dyn Publisher>,
    count: usize,
    under_way: usize,
) -> Duration {
    let config = RelayConfig {
        batch: under_way,
        concurrency: under_way,
        ..RelayConfig::default()
    };
    let relay = Relay::with_config(store, publisher, config).unwrap();
    timed(async {
        let report = relay.drain().await.unwrap();
        assert_eq!(report.published, u64::try_from(count).unwrap());
    })
    .await
}

pub(crate) async fn memory(messages: &[Message]) -> MemoryStore {
    let store = MemoryStore::new();
    let saves: Vec<_> = messages.iter().map(Save::from).collect();
    let mut tx = store.begin();
    store.save_all(&mut tx, &saves).await.unwrap();
    tx.commit();
    store
}

/// A Postgres with an outbox in a schema of its own, which is dropped with this.
pub(crate) struct Postgres {
    pub(crate) store: PostgresStore,
    _schema: TestSchema,
}

impl Postgres {
    pub(crate) async fn filled(messages: &[Message]) -> Self {
        let schema = TestSchema::at(schema::server());
        PostgresStore::migrate_with(&schema.pool, &schema.name)
            .await
            .unwrap();
        let config = PostgresConfig {
            schema: schema.name.clone(),
            ..PostgresConfig::default()
        };
        let store = PostgresStore::open_with(schema.pool.clone(), config).await;
        let store = store.unwrap();
        for messages in messages.chunks(1_000) {
            let saves: Vec<_> = messages.iter().map(Save::from).collect();
            let mut tx = schema.pool.begin().await.unwrap();
            store.save_all(&mut tx, &saves).await.unwrap();
            tx.commit().await.unwrap();
        }
        Self {
            store,
            _schema: schema,
        }
    }
}

/// A broker that confirms at once and keeps nothing.
pub(crate) fn at_once() -> Arc<dyn Publisher> {
    Arc::new(AtOnce)
}

#[derive(Debug)]
struct AtOnce;

#[async_trait]
impl Publisher for AtOnce {
    fn destination<'a>(&'a self, _: &'a Topic) -> Cow<'a, str> {
        "at once".into()
    }

    async fn publish(&self, run: Run<'_>) -> Published {
        Published::all(run)
    }
}
