//! The store itself: a pool, a few settings, and how it is opened. What it does stands in the other modules.

use std::sync::Arc;

use diesel_async::{AsyncPgConnection, pooled_connection::deadpool::Pool};
use outbox_store::StoreError;
use outbox_store_postgres::{Connection, PostgresConfig, Relaying, SchemaName};

use crate::pool::Pooled;

/// The outbox in a Postgres database, on a pool of connections of diesel-async. Cloning it copies a handle.
#[derive(Debug, Clone)]
pub struct PostgresStore(pub(crate) Arc<Relaying<Pooled>>);

impl PostgresStore {
    /// Creates or updates the tables of the outbox in the schema `outbox`. Doing it again, or by several processes at once, does nothing more.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unusable`] if the server cannot hold an outbox or the role may not create it, [`StoreError::Schema`] if the schema is newer than this
    /// program, [`StoreError::Database`] for what else the database said; nothing is half done then.
    pub async fn migrate(pool: &Pool<AsyncPgConnection>) -> Result<(), StoreError> {
        Self::migrate_with(pool, &SchemaName::default()).await
    }

    /// Creates or updates the tables of the outbox in this schema, which is made if it is not there.
    ///
    /// # Errors
    ///
    /// As [`migrate`](Self::migrate).
    pub async fn migrate_with(
        pool: &Pool<AsyncPgConnection>,
        schema: &SchemaName,
    ) -> Result<(), StoreError> {
        let config = PostgresConfig {
            schema: schema.clone(),
            // Nothing here is used often enough to be prepared.
            connection: Connection::Pooler,
            ..PostgresConfig::default()
        };
        relaying(pool.clone(), config).migrate().await
    }

    /// The statements that [`migrate_with`](Self::migrate_with) runs, as a script that can also be run by hand.
    pub fn print_migrations(schema: &SchemaName) -> String {
        outbox_store_postgres::script(schema)
    }

    /// Opens the outbox in the schema `outbox`. It changes nothing.
    ///
    /// # Errors
    ///
    /// [`StoreError::Schema`] if the schema has another version than this program needs, [`StoreError::Database`] for what else the database said.
    pub async fn open(pool: Pool<AsyncPgConnection>) -> Result<Self, StoreError> {
        Self::open_with(pool, PostgresConfig::default()).await
    }

    /// Opens the outbox with these settings.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub async fn open_with(
        pool: Pool<AsyncPgConnection>,
        config: PostgresConfig,
    ) -> Result<Self, StoreError> {
        let relaying = relaying(pool, config);
        relaying.check().await?;
        Ok(Self(Arc::new(relaying)))
    }

    /// The pool that the relay and operator side use.
    pub fn pool(&self) -> &Pool<AsyncPgConnection> {
        &self.0.database().pool
    }

    /// The settings.
    pub fn config(&self) -> &PostgresConfig {
        self.0.config()
    }
}

fn relaying(pool: Pool<AsyncPgConnection>, config: PostgresConfig) -> Relaying<Pooled> {
    Relaying::new(Pooled::new(pool, &config), config)
}
