//! The Postgres store passes the conformance suite of all stores, in a schema of its own for each test.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

#[path = "support/pooled.rs"]
mod pooled;
#[path = "support/schema.rs"]
#[allow(dead_code, reason = "each program of tests uses its part")]
mod schema;

use std::time::Duration;

use outbox_message::{Delivery, MessageId, Position};
use outbox_store::{Consumer, Handled, Save, SaveError, Saved};
use outbox_store_postgres_sqlx::{PostgresConfig, PostgresStore};
use outbox_testkit::{Capabilities, Corruption, Harness};
use schema::TestSchema;
use sqlx::{AssertSqlSafe, PgConnection, Postgres, Transaction};

/// A transaction of a writer, and how much time had passed when it began.
struct Begun {
    tx: Transaction<'static, Postgres>,
    at: i64,
}

struct PostgresHarness {
    store: PostgresStore,
    schema: TestSchema,
}

impl PostgresHarness {
    async fn with(config: PostgresConfig) -> Self {
        let schema = TestSchema::new();
        PostgresStore::migrate_with(&schema.pool, &schema.name)
            .await
            .unwrap();
        let (pool, connection) = pooled::pool(&schema).await;
        let config = PostgresConfig {
            schema: schema.name.clone(),
            connection,
            ..config
        };
        let store = PostgresStore::open_with(pool, config).await;
        Self {
            store: store.unwrap(),
            schema,
        }
    }
}

impl Harness for PostgresHarness {
    type Store = PostgresStore;
    type Connection = PgConnection;
    type Transaction = Begun;

    const CAPABILITIES: Capabilities = Capabilities::SERIAL
        .with_concurrent_writers()
        .with_claims_beside_writers()
        .with_commit_order_waits();

    async fn start() -> Self {
        Self::with(PostgresConfig::default()).await
    }

    async fn start_keeping(retain: Duration) -> Option<Self> {
        let config = PostgresConfig {
            retain: Some(retain),
            ..PostgresConfig::default()
        };
        Some(Self::with(config).await)
    }

    async fn start_keeping_inbox(retain: Duration) -> Option<Self> {
        let config = PostgresConfig {
            retain_inbox: Some(retain),
            ..PostgresConfig::default()
        };
        Some(Self::with(config).await)
    }

    async fn published(&self) -> Vec<Delivery> {
        self.schema.published().await
    }

    fn store(&self) -> &PostgresStore {
        &self.store
    }

    async fn begin(&self) -> Begun {
        Begun {
            at: self.schema.passed(),
            tx: self.store.pool().begin().await.unwrap(),
        }
    }

    fn connection(tx: &mut Begun) -> &mut PgConnection {
        &mut tx.tx
    }

    async fn commit(&self, Begun { mut tx, at }: Begun) {
        let catch_up = sqlx::raw_sql(AssertSqlSafe(self.schema.catch_up(at)));
        catch_up.execute(&mut *tx).await.unwrap();
        tx.commit().await.unwrap();
    }

    async fn rollback(&self, Begun { tx, .. }: Begun) {
        tx.rollback().await.unwrap();
    }

    async fn save_outside(&self, save: Save<'_>) -> Option<Result<Saved, SaveError>> {
        let mut connection = self.store.pool().acquire().await.unwrap();
        Some(self.store.save(&mut connection, save).await)
    }

    async fn once_outside(
        &self,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Option<Result<Handled, SaveError>> {
        let mut connection = self.store.pool().acquire().await.unwrap();
        Some(self.store.once(&mut connection, consumer, id).await)
    }

    async fn now_ms(&self) -> i64 {
        self.schema.now_ms().await
    }

    async fn advance(&self, by: Duration) {
        self.schema.advance(by).await;
    }

    async fn corrupt(&self, position: Position, how: Corruption) {
        self.schema.corrupt(position, how).await;
    }

    async fn delete(&self, position: Position) {
        self.schema.delete(position).await;
    }

    async fn set_counts(&self, position: Position, attempts: u32, tries: u32) {
        self.schema.set_counts(position, attempts, tries).await;
    }
}

outbox_testkit::conformance!(PostgresHarness);
