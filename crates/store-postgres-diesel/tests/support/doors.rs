//! The doors through which applications save, and the stores that relay.

use std::{sync::Mutex, time::Duration};

use async_trait::async_trait;
use diesel_async::{
    AnsiTransactionManager, AsyncConnection as _, AsyncPgConnection, TransactionManager as _,
};
use outbox_message::{Message, MessageId};
use outbox_store::{
    Consumer, Due, Handled, InboxWriter, OutboxWriter, Save, SaveError, SaveOrder, Saved,
};
use outbox_store_postgres::PostgresConfig;
use outbox_store_postgres_diesel::{PostgresStore, sync::PostgresWriter};
use outbox_store_postgres_sqlx::PostgresStore as SqlxStore;
use sqlx::{PgConnection, PgPool, Postgres, Transaction};

use crate::{
    blocking::Blocking,
    mixed::{Door, Relays},
    pool::{pool, url},
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

/// Connections whose transactions have ended, kept for the next ones.
struct Idle<C> {
    url: String,
    connections: Mutex<Vec<C>>,
}

impl<C> Idle<C> {
    fn new(schema: &TestSchema) -> Self {
        Self {
            url: url(schema),
            connections: Mutex::default(),
        }
    }

    fn take(&self) -> Option<C> {
        self.connections.lock().unwrap().pop()
    }

    fn give_back(&self, connection: C) {
        self.connections.lock().unwrap().push(connection);
    }
}

/// diesel-async.
pub(crate) struct AsyncDoor(Idle<AsyncPgConnection>);

impl AsyncDoor {
    async fn connection(&self) -> AsyncPgConnection {
        match self.0.take() {
            Some(connection) => connection,
            None => AsyncPgConnection::establish(&self.0.url).await.unwrap(),
        }
    }
}

impl Door for AsyncDoor {
    type Writer = PostgresStore;
    type Connection = AsyncPgConnection;
    type Transaction = AsyncPgConnection;

    async fn open(schema: &TestSchema, config: PostgresConfig) -> (Self, PostgresStore) {
        let writer = PostgresStore::open_with(pool(schema, 1), config).await;
        (Self(Idle::new(schema)), writer.unwrap())
    }

    async fn begin(&self) -> AsyncPgConnection {
        let mut tx = self.connection().await;
        let begun = AnsiTransactionManager::begin_transaction(&mut tx).await;
        begun.unwrap();
        tx
    }

    fn connection(tx: &mut AsyncPgConnection) -> &mut AsyncPgConnection {
        tx
    }

    async fn commit(&self, mut tx: AsyncPgConnection) {
        let committed = AnsiTransactionManager::commit_transaction(&mut tx).await;
        committed.unwrap();
        self.0.give_back(tx);
    }

    async fn rollback(&self, mut tx: AsyncPgConnection) {
        let rolled_back = AnsiTransactionManager::rollback_transaction(&mut tx).await;
        rolled_back.unwrap();
        self.0.give_back(tx);
    }

    async fn save_outside(
        &self,
        writer: &PostgresStore,
        save: Save<'_>,
    ) -> Option<Result<Saved, SaveError>> {
        let mut connection = self.connection().await;
        Some(writer.save(&mut connection, save).await)
    }

    async fn once_outside(
        &self,
        writer: &PostgresStore,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Option<Result<Handled, SaveError>> {
        let mut connection = self.connection().await;
        Some(writer.once(&mut connection, consumer, id).await)
    }
}

/// diesel, on blocking connections.
pub(crate) struct SyncDoor(Idle<Blocking>);

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

#[async_trait]
impl InboxWriter<Blocking> for SyncWriter {
    async fn once(
        &self,
        tx: &mut Blocking,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Result<Handled, SaveError> {
        let (writer, consumer, id) = (self.0.clone(), consumer.clone(), id.clone());
        tx.run(move |connection| writer.once(connection, &consumer, &id))
            .await
    }

    async fn forget(
        &self,
        tx: &mut Blocking,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Result<bool, SaveError> {
        let (writer, consumer, id) = (self.0.clone(), consumer.clone(), id.clone());
        tx.run(move |connection| writer.forget(connection, &consumer, &id))
            .await
    }
}

impl SyncDoor {
    fn connection(&self) -> Blocking {
        let idle = self.0.take();
        idle.unwrap_or_else(|| Blocking::connect(self.0.url.clone()))
    }
}

impl Door for SyncDoor {
    type Writer = SyncWriter;
    type Connection = Blocking;
    type Transaction = Blocking;

    async fn open(schema: &TestSchema, config: PostgresConfig) -> (Self, SyncWriter) {
        let writer = SyncWriter(PostgresWriter::new(config));
        (Self(Idle::new(schema)), writer)
    }

    async fn begin(&self) -> Blocking {
        let tx = self.connection();
        tx.run(in_sync::begin).await;
        tx
    }

    fn connection(tx: &mut Blocking) -> &mut Blocking {
        tx
    }

    async fn commit(&self, tx: Blocking) {
        tx.run(in_sync::commit).await;
        self.0.give_back(tx);
    }

    async fn rollback(&self, tx: Blocking) {
        tx.run(in_sync::rollback).await;
        self.0.give_back(tx);
    }

    async fn save_outside(
        &self,
        writer: &SyncWriter,
        save: Save<'_>,
    ) -> Option<Result<Saved, SaveError>> {
        let mut connection = self.connection();
        Some(writer.save(&mut connection, save).await)
    }

    async fn once_outside(
        &self,
        writer: &SyncWriter,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Option<Result<Handled, SaveError>> {
        let mut connection = self.connection();
        Some(writer.once(&mut connection, consumer, id).await)
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
pub(crate) struct SqlxDoor(PgPool);

impl Door for SqlxDoor {
    type Writer = SqlxStore;
    type Connection = PgConnection;
    type Transaction = Transaction<'static, Postgres>;

    async fn open(schema: &TestSchema, config: PostgresConfig) -> (Self, SqlxStore) {
        let writer = SqlxStore::open_with(schema.pool.clone(), config).await;
        (Self(schema.pool.clone()), writer.unwrap())
    }

    async fn begin(&self) -> Transaction<'static, Postgres> {
        self.0.begin().await.unwrap()
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

    async fn save_outside(
        &self,
        writer: &SqlxStore,
        save: Save<'_>,
    ) -> Option<Result<Saved, SaveError>> {
        let mut connection = self.0.acquire().await.unwrap();
        Some(writer.save(&mut connection, save).await)
    }

    async fn once_outside(
        &self,
        writer: &SqlxStore,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Option<Result<Handled, SaveError>> {
        let mut connection = self.0.acquire().await.unwrap();
        Some(writer.once(&mut connection, consumer, id).await)
    }
}
