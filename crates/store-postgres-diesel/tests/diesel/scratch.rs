//! A store in a schema of its own, and what several tests do with it.

use std::time::Duration;

use diesel_async::{AsyncConnection, AsyncPgConnection, pooled_connection::deadpool::Pool};
use outbox_message::Message;
use outbox_store::{ClaimRequest, LaneFilter};
use outbox_store_postgres_diesel::{PostgresConfig, PostgresStore};
use tokio::time::timeout;

use crate::{
    pool::{pool, url},
    schema::TestSchema,
};

pub(crate) struct Scratch {
    pub(crate) store: PostgresStore,
    pub(crate) schema: TestSchema,
}

impl Scratch {
    /// A store on a pool of one connection, so that none can be lost without being missed.
    pub(crate) async fn new() -> Self {
        Self::with(|_| ()).await
    }

    /// The same with other settings.
    pub(crate) async fn with(set: impl FnOnce(&mut PostgresConfig)) -> Self {
        let schema = TestSchema::new();
        let pool = pool(&schema, 1);
        PostgresStore::migrate_with(&pool, &schema.name)
            .await
            .unwrap();
        let mut config = PostgresConfig {
            schema: schema.name.clone(),
            ..PostgresConfig::default()
        };
        set(&mut config);
        let store = PostgresStore::open_with(pool, config).await.unwrap();
        Self { store, schema }
    }

    pub(crate) fn pool(&self) -> &Pool<AsyncPgConnection> {
        self.store.pool()
    }

    /// Saves in a transaction of its own.
    pub(crate) async fn save(&self, message: &Message) {
        let mut connection = self.pool().get().await.unwrap();
        connection
            .transaction(async |connection| {
                self.store.save(connection, message).await.unwrap();
                Ok::<_, diesel::result::Error>(())
            })
            .await
            .unwrap();
    }

    /// Waits until the server says so; a test that waits in vain fails.
    pub(crate) async fn until(&self, condition: &str) {
        let wait = async {
            while self.schema.count(condition).await == 0 {
                tokio::task::yield_now().await;
            }
        };
        timeout(Duration::from_mins(1), wait).await.unwrap();
    }
}

pub(crate) fn message(key: &str) -> Message {
    Message::new("orders", "{}").unwrap().with_key(key).unwrap()
}

pub(crate) fn request() -> ClaimRequest {
    ClaimRequest {
        relay: "test".into(),
        limit: 10,
        max_bytes: 1_000_000,
        max_lanes: 8,
        lease: Duration::from_secs(30),
        lanes: LaneFilter::All,
        read_on: Vec::new(),
    }
}

pub(crate) async fn connect(schema: &TestSchema) -> AsyncPgConnection {
    AsyncPgConnection::establish(&url(schema)).await.unwrap()
}
