//! A harness of the conformance suite for any door that saves beside any store that relays.

use std::time::Duration;

use outbox_message::{Delivery, MessageId, Position};
use outbox_store::{
    Consumer, Handled, InboxWriter, OutboxOperator, OutboxStore, OutboxWriter, Save, SaveError,
    Saved,
};
use outbox_store_postgres::{PostgresConfig, WakeUp};
use outbox_testkit::{Capabilities, Corruption, Harness};

use crate::{pair::Pair, schema::TestSchema};

/// How an application saves: its connections.
pub(crate) trait Door: Sized + Send + Sync + 'static {
    type Writer: OutboxWriter<Self::Connection> + InboxWriter<Self::Connection> + 'static;
    type Connection: ?Sized + Send;
    /// Dropped without an end it is rolled back.
    type Transaction: Send;

    /// The door, and a writer in a schema that has its tables.
    fn open(
        schema: &TestSchema,
        config: PostgresConfig,
    ) -> impl Future<Output = (Self, Self::Writer)> + Send;
    fn begin(&self) -> impl Future<Output = Self::Transaction> + Send;
    fn connection(tx: &mut Self::Transaction) -> &mut Self::Connection;
    fn commit(&self, tx: Self::Transaction) -> impl Future<Output = ()> + Send;
    fn rollback(&self, tx: Self::Transaction) -> impl Future<Output = ()> + Send;
    /// Saves without a transaction. `None` if the writer cannot know.
    fn save_outside(
        &self,
        writer: &Self::Writer,
        save: Save<'_>,
    ) -> impl Future<Output = Option<Result<Saved, SaveError>>> + Send;
    /// Records a handling without a transaction. `None` if the writer cannot know.
    fn once_outside(
        &self,
        writer: &Self::Writer,
        consumer: &Consumer,
        id: &MessageId,
    ) -> impl Future<Output = Option<Result<Handled, SaveError>>> + Send;
}

/// How a relay reaches the tables.
pub(crate) trait Relays: OutboxStore + OutboxOperator + Sized {
    /// A store in this schema, whose tables are made.
    fn open(schema: &TestSchema, config: PostgresConfig) -> impl Future<Output = Self> + Send;
}

pub(crate) struct Mixed<D: Door, R> {
    schema: TestSchema,
    door: D,
    store: Pair<D::Writer, R>,
}

impl<D: Door, R: Relays> Mixed<D, R> {
    async fn with(config: PostgresConfig) -> Self {
        let schema = TestSchema::new();
        let config = PostgresConfig {
            schema: schema.name.clone(),
            wake_up: WakeUp::Notify,
            ..config
        };
        let relays = R::open(&schema, config.clone()).await;
        let (door, writer) = D::open(&schema, config).await;
        Self {
            schema,
            door,
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
    const HISTORIES: u32 = 20;

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

    fn store(&self) -> &Self::Store {
        &self.store
    }

    async fn begin(&self) -> D::Transaction {
        self.door.begin().await
    }

    fn connection(tx: &mut D::Transaction) -> &mut D::Connection {
        D::connection(tx)
    }

    async fn commit(&self, tx: D::Transaction) {
        self.door.commit(tx).await;
    }

    async fn rollback(&self, tx: D::Transaction) {
        self.door.rollback(tx).await;
    }

    async fn save_outside(&self, save: Save<'_>) -> Option<Result<Saved, SaveError>> {
        self.door.save_outside(&self.store.writer, save).await
    }

    async fn once_outside(
        &self,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Option<Result<Handled, SaveError>> {
        self.door
            .once_outside(&self.store.writer, consumer, id)
            .await
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
