//! The doors through which applications save, and the stores that relay.

use std::time::Duration;

use async_trait::async_trait;
use diesel_async::{AnsiTransactionManager, AsyncPgConnection, TransactionManager};
use outbox_message::Message;
use outbox_store::{Due, OutboxWriter, Save, SaveError, SaveOrder, Saved};
use outbox_store_postgres::PostgresConfig;
use outbox_store_postgres_diesel::{PostgresStore, sync::PostgresWriter};
use outbox_store_postgres_sqlx::PostgresStore as SqlxStore;
use sqlx::{Postgres, Transaction};

use crate::{
    blocking::Blocking,
    mixed::{Door, Relays},
    pool::{connect, pool, url},
    schema::TestSchema,
};

impl Relays for PostgresStore {
    async fn open(schema: &TestSchema, config: PostgresConfig) -> Self {
        let pool = pool(schema, 4);
        Self::migrate_with(&pool, &schema.name).await.unwrap();
        Self::open_with(pool, config).await.unwrap()
    }
}

impl Relays for SqlxStore {
    async fn open(schema: &TestSchema, config: PostgresConfig) -> Self {
        let pool = schema.pool.clone();
        Self::migrate_with(&pool, &schema.name).await.unwrap();
        Self::open_with(pool, config).await.unwrap()
    }
}

/// diesel-async.
pub(crate) struct AsyncDoor;

impl Door for AsyncDoor {
    type Writer = PostgresStore;
    type Connection = AsyncPgConnection;
    type Transaction = AsyncPgConnection;

    async fn open(schema: &TestSchema, config: PostgresConfig) -> PostgresStore {
        PostgresStore::open_with(pool(schema, 1), config)
            .await
            .unwrap()
    }

    async fn begin(schema: &TestSchema) -> AsyncPgConnection {
        let mut connection = connect(schema).await;
        AnsiTransactionManager::begin_transaction(&mut connection)
            .await
            .unwrap();
        connection
    }

    fn connection(tx: &mut AsyncPgConnection) -> &mut AsyncPgConnection {
        tx
    }

    async fn commit(mut tx: AsyncPgConnection) {
        AnsiTransactionManager::commit_transaction(&mut tx)
            .await
            .unwrap();
    }

    async fn rollback(mut tx: AsyncPgConnection) {
        AnsiTransactionManager::rollback_transaction(&mut tx)
            .await
            .unwrap();
    }

    async fn save_outside(
        schema: &TestSchema,
        writer: &PostgresStore,
        save: Save<'_>,
    ) -> Option<Result<Saved, SaveError>> {
        Some(writer.save(&mut connect(schema).await, save).await)
    }
}

/// diesel, on a blocking connection.
pub(crate) struct SyncDoor;

/// The blocking writer, as the suite drives writers.
pub(crate) struct SyncWriter(PostgresWriter);

/// A save that can go to another thread.
struct Sent {
    message: Message,
    due: Option<Due>,
    once: Option<Duration>,
    order: SaveOrder,
}

impl Sent {
    fn of(save: &Save<'_>) -> Self {
        Self {
            message: save.message.clone(),
            due: save.due,
            once: save.once,
            order: save.order,
        }
    }

    fn save(&self) -> Save<'_> {
        Save {
            message: &self.message,
            due: self.due,
            once: self.once,
            order: self.order,
        }
    }
}

#[async_trait]
impl OutboxWriter<Blocking> for SyncWriter {
    async fn save(&self, tx: &mut Blocking, save: Save<'_>) -> Result<Saved, SaveError> {
        let (writer, sent) = (self.0.clone(), Sent::of(&save));
        tx.run(move |connection| writer.save(connection, sent.save()))
            .await
    }

    async fn save_all(
        &self,
        tx: &mut Blocking,
        saves: &[Save<'_>],
    ) -> Result<Vec<Saved>, SaveError> {
        let writer = self.0.clone();
        let sent: Vec<Sent> = saves.iter().map(Sent::of).collect();
        tx.run(move |connection| {
            let saves: Vec<Save<'_>> = sent.iter().map(Sent::save).collect();
            writer.save_all(connection, &saves)
        })
        .await
    }

    async fn pending(&self, tx: &mut Blocking) -> Result<Vec<Message>, SaveError> {
        let writer = self.0.clone();
        tx.run(move |connection| writer.pending(connection)).await
    }
}

impl Door for SyncDoor {
    type Writer = SyncWriter;
    type Connection = Blocking;
    type Transaction = Blocking;

    async fn open(_: &TestSchema, config: PostgresConfig) -> SyncWriter {
        SyncWriter(PostgresWriter::new(config))
    }

    async fn begin(schema: &TestSchema) -> Blocking {
        let connection = Blocking::connect(url(schema));
        connection.run(in_sync::begin).await;
        connection
    }

    fn connection(tx: &mut Blocking) -> &mut Blocking {
        tx
    }

    async fn commit(tx: Blocking) {
        tx.run(in_sync::commit).await;
    }

    async fn rollback(tx: Blocking) {
        tx.run(in_sync::rollback).await;
    }

    async fn save_outside(
        schema: &TestSchema,
        writer: &SyncWriter,
        save: Save<'_>,
    ) -> Option<Result<Saved, SaveError>> {
        let mut connection = Blocking::connect(url(schema));
        Some(writer.save(&mut connection, save).await)
    }
}

/// diesel's own transactions, without a closure around them.
mod in_sync {
    use diesel::{
        PgConnection,
        connection::{AnsiTransactionManager, TransactionManager},
    };

    pub(super) fn begin(connection: &mut PgConnection) {
        AnsiTransactionManager::begin_transaction(connection).unwrap();
    }

    pub(super) fn commit(connection: &mut PgConnection) {
        AnsiTransactionManager::commit_transaction(connection).unwrap();
    }

    pub(super) fn rollback(connection: &mut PgConnection) {
        AnsiTransactionManager::rollback_transaction(connection).unwrap();
    }
}

/// sqlx.
pub(crate) struct SqlxDoor;

impl Door for SqlxDoor {
    type Writer = SqlxStore;
    type Connection = sqlx::PgConnection;
    type Transaction = Transaction<'static, Postgres>;

    async fn open(schema: &TestSchema, config: PostgresConfig) -> SqlxStore {
        SqlxStore::open_with(schema.pool.clone(), config)
            .await
            .unwrap()
    }

    async fn begin(schema: &TestSchema) -> Transaction<'static, Postgres> {
        schema.pool.begin().await.unwrap()
    }

    fn connection<'t>(tx: &'t mut Transaction<'static, Postgres>) -> &'t mut sqlx::PgConnection {
        tx
    }

    async fn commit(tx: Transaction<'static, Postgres>) {
        tx.commit().await.unwrap();
    }

    async fn rollback(tx: Transaction<'static, Postgres>) {
        tx.rollback().await.unwrap();
    }

    async fn save_outside(
        schema: &TestSchema,
        writer: &SqlxStore,
        save: Save<'_>,
    ) -> Option<Result<Saved, SaveError>> {
        let mut connection = schema.pool.acquire().await.unwrap();
        Some(writer.save(&mut connection, save).await)
    }
}
