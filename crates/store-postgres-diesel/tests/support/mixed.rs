//! A harness of the conformance suite for any door that saves beside any store that relays.

use std::time::Duration;

use outbox_message::{Delivery, Position};
use outbox_store::{OutboxOperator, OutboxStore, OutboxWriter, Save, SaveError, Saved};
use outbox_store_postgres::{PostgresConfig, WakeUp};
use outbox_testkit::{Capabilities, Corruption, Harness};

use crate::{pair::Pair, schema::TestSchema};

/// How an application saves.
pub(crate) trait Door: Sized + Send + Sync + 'static {
    type Writer: OutboxWriter<Self::Connection> + Send + Sync + 'static;
    type Connection: ?Sized + Send;
    /// Dropped without a commit it is rolled back.
    type Transaction: Send;

    /// A writer, in a schema that has its tables.
    fn open(
        schema: &TestSchema,
        config: PostgresConfig,
    ) -> impl Future<Output = Self::Writer> + Send;
    fn begin(schema: &TestSchema) -> impl Future<Output = Self::Transaction> + Send;
    fn connection(tx: &mut Self::Transaction) -> &mut Self::Connection;
    fn commit(tx: Self::Transaction) -> impl Future<Output = ()> + Send;
    fn rollback(tx: Self::Transaction) -> impl Future<Output = ()> + Send;
    fn save_outside(
        schema: &TestSchema,
        writer: &Self::Writer,
        save: Save<'_>,
    ) -> impl Future<Output = Option<Result<Saved, SaveError>>> + Send;
}

/// How a relay reaches the tables.
pub(crate) trait Relays: OutboxStore + OutboxOperator + Sized {
    /// A store in this schema, whose tables are made.
    fn open(schema: &TestSchema, config: PostgresConfig) -> impl Future<Output = Self> + Send;
}

pub(crate) struct Mixed<D: Door, R> {
    schema: TestSchema,
    store: Pair<D::Writer, R>,
}

impl<D: Door, R: Relays> Mixed<D, R> {
    async fn with(retain: Option<Duration>) -> Self {
        let schema = TestSchema::new();
        let config = PostgresConfig {
            schema: schema.name.clone(),
            wake_up: WakeUp::Notify,
            retain,
            ..PostgresConfig::default()
        };
        let relays = R::open(&schema, config.clone()).await;
        let writer = D::open(&schema, config).await;
        Self {
            schema,
            store: Pair { writer, relays },
        }
    }
}

impl<D: Door, R: Relays> Harness for Mixed<D, R> {
    type Store = Pair<D::Writer, R>;
    type Connection = D::Connection;
    type Transaction = D::Transaction;

    const CAPABILITIES: Capabilities = Capabilities::SERIAL
        .with_concurrent_writers()
        .with_claims_beside_writers()
        .with_commit_order_waits();

    async fn start() -> Self {
        Self::with(None).await
    }

    async fn start_keeping(retain: Duration) -> Option<Self> {
        Some(Self::with(Some(retain)).await)
    }

    async fn published(&self) -> Vec<Delivery> {
        self.schema.published().await
    }

    fn store(&self) -> &Self::Store {
        &self.store
    }

    async fn begin(&self) -> D::Transaction {
        D::begin(&self.schema).await
    }

    fn connection(tx: &mut D::Transaction) -> &mut D::Connection {
        D::connection(tx)
    }

    async fn commit(&self, tx: D::Transaction) {
        D::commit(tx).await;
    }

    async fn rollback(&self, tx: D::Transaction) {
        D::rollback(tx).await;
    }

    async fn save_outside(&self, save: Save<'_>) -> Option<Result<Saved, SaveError>> {
        D::save_outside(&self.schema, &self.store.writer, save).await
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
