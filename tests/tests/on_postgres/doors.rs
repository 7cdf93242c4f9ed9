//! The two drivers, each as the relay side and as a door through which an application saves.

use diesel_async::{
    AnsiTransactionManager, AsyncPgConnection, TransactionManager,
    pooled_connection::{
        AsyncDieselConnectionManager,
        deadpool::{Object, Pool},
    },
};
use outbox::{
    Save, Saved, postgres_diesel, postgres_sqlx,
    postgres_sqlx::PostgresConfig,
    store::{OutboxOperator, OutboxStore},
};
use sqlx::{Postgres, Transaction};

use crate::schema::{TestSchema, server_url};

/// A driver.
pub(crate) trait Driver: Send + Sync + 'static {
    type Store: OutboxStore + OutboxOperator + Clone;
    type Transaction: Send;

    /// Opens the outbox of the schema, whose tables are there.
    fn open(schema: &TestSchema) -> impl Future<Output = Self::Store> + Send;

    fn begin(store: &Self::Store) -> impl Future<Output = Self::Transaction> + Send;

    fn save(
        store: &Self::Store,
        tx: &mut Self::Transaction,
        save: Save<'_>,
    ) -> impl Future<Output = Saved> + Send;

    fn end(tx: Self::Transaction, commit: bool) -> impl Future<Output = ()> + Send;
}

fn config(schema: &TestSchema) -> PostgresConfig {
    PostgresConfig {
        schema: schema.name.clone(),
        ..PostgresConfig::default()
    }
}

/// sqlx.
pub(crate) struct Sqlx;

impl Driver for Sqlx {
    type Store = postgres_sqlx::PostgresStore;
    type Transaction = Transaction<'static, Postgres>;

    async fn open(schema: &TestSchema) -> Self::Store {
        let store = Self::Store::open_with(schema.pool_of("sqlx", 10), config(schema)).await;
        store.unwrap()
    }

    async fn begin(store: &Self::Store) -> Self::Transaction {
        store.pool().begin().await.unwrap()
    }

    async fn save(store: &Self::Store, tx: &mut Self::Transaction, save: Save<'_>) -> Saved {
        store.save(tx, save).await.unwrap()
    }

    async fn end(tx: Self::Transaction, commit: bool) {
        let ended = if commit {
            tx.commit().await
        } else {
            tx.rollback().await
        };
        ended.unwrap();
    }
}

/// diesel-async.
pub(crate) struct Diesel;

impl Driver for Diesel {
    type Store = postgres_diesel::PostgresStore;
    type Transaction = Object<AsyncPgConnection>;

    async fn open(schema: &TestSchema) -> Self::Store {
        let server = server_url();
        let separator = if server.contains('?') { '&' } else { '?' };
        let application = &schema.application;
        let manager = AsyncDieselConnectionManager::new(format!(
            "{server}{separator}application_name={application}-diesel"
        ));
        let pool = Pool::builder(manager).max_size(10).build().unwrap();
        Self::Store::open_with(pool, config(schema)).await.unwrap()
    }

    async fn begin(store: &Self::Store) -> Self::Transaction {
        let mut connection = store.pool().get().await.unwrap();
        let begun = AnsiTransactionManager::begin_transaction(&mut *connection).await;
        begun.unwrap();
        connection
    }

    async fn save(store: &Self::Store, tx: &mut Self::Transaction, save: Save<'_>) -> Saved {
        store.save(tx, save).await.unwrap()
    }

    async fn end(mut tx: Self::Transaction, commit: bool) {
        let ended = if commit {
            AnsiTransactionManager::commit_transaction(&mut *tx).await
        } else {
            AnsiTransactionManager::rollback_transaction(&mut *tx).await
        };
        ended.unwrap();
    }
}
