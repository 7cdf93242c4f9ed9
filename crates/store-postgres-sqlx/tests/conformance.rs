//! The Postgres store passes the conformance suite of all stores, in a schema of its own for each test.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

#[path = "support/schema.rs"]
#[allow(dead_code, reason = "each program of tests uses its part")]
mod schema;

use std::time::Duration;

use outbox_message::Position;
use outbox_store::{Save, SaveError, Saved};
use outbox_store_postgres_sqlx::{PostgresConfig, PostgresStore};
use outbox_testkit::{Capabilities, Corruption, Harness};
use schema::TestSchema;
use sqlx::{PgConnection, Postgres, Transaction};

struct PostgresHarness {
    store: PostgresStore,
    schema: TestSchema,
}

impl Harness for PostgresHarness {
    type Store = PostgresStore;
    type Connection = PgConnection;
    type Transaction = Transaction<'static, Postgres>;

    const CAPABILITIES: Capabilities = Capabilities::SERIAL
        .with_concurrent_writers()
        .with_claims_beside_writers()
        .with_commit_order_waits();

    async fn start() -> Self {
        let schema = TestSchema::new();
        PostgresStore::migrate_with(&schema.pool, &schema.name)
            .await
            .unwrap();
        let config = PostgresConfig {
            schema: schema.name.clone(),
            ..PostgresConfig::default()
        };
        let store = PostgresStore::open_with(schema.pool.clone(), config).await;
        Self {
            store: store.unwrap(),
            schema,
        }
    }

    fn store(&self) -> &PostgresStore {
        &self.store
    }

    async fn begin(&self) -> Transaction<'static, Postgres> {
        self.schema.pool.begin().await.unwrap()
    }

    fn connection<'t>(tx: &'t mut Transaction<'static, Postgres>) -> &'t mut PgConnection {
        tx
    }

    async fn commit(&self, tx: Transaction<'static, Postgres>) {
        tx.commit().await.unwrap();
    }

    async fn rollback(&self, tx: Transaction<'static, Postgres>) {
        tx.rollback().await.unwrap();
    }

    async fn save_outside(&self, save: Save<'_>) -> Option<Result<Saved, SaveError>> {
        let mut connection = self.schema.pool.acquire().await.unwrap();
        Some(self.store.save(&mut connection, save).await)
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
