//! The store itself: what the shared store does over this driver, and how it is opened. What it does stands in the other modules.

use std::sync::Arc;

use outbox_store::StoreError;
use outbox_store_postgres::{Connection, PostgresConfig, Relaying, SchemaName, script};
use sqlx::PgPool;

use crate::database::PgDatabase;

/// The outbox in a Postgres database. Cloning it copies a handle.
#[derive(Debug, Clone)]
pub struct PostgresStore(pub(crate) Arc<Relaying<PgDatabase>>);

impl PostgresStore {
    /// Creates or updates the tables of the outbox in the schema `outbox`. Doing it again, or by several processes at once, does nothing more.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unusable`] if the server is too old, the database is not in UTF8, or the role may not do it; [`StoreError::Schema`] if the schema
    /// is newer than this program; [`StoreError::Database`] for what else the database said. Nothing is half done then.
    pub async fn migrate(pool: &PgPool) -> Result<(), StoreError> {
        Self::migrate_with(pool, &SchemaName::default()).await
    }

    /// Creates or updates the tables of the outbox in this schema, which is made if it is not there.
    ///
    /// # Errors
    ///
    /// As [`migrate`](Self::migrate).
    pub async fn migrate_with(pool: &PgPool, schema: &SchemaName) -> Result<(), StoreError> {
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
        script(schema)
    }

    /// Opens the outbox in the schema `outbox` of the database of `pool`. It changes nothing.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unusable`] if the server is too old, the database is not in UTF8, or the role may not read the schema; [`StoreError::Schema`] if
    /// the schema has another version than this program needs, or is not there; [`StoreError::Database`] for what else the database said.
    pub async fn open(pool: PgPool) -> Result<Self, StoreError> {
        Self::open_with(pool, PostgresConfig::default()).await
    }

    /// Opens the outbox in the database of `pool` with these settings.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub async fn open_with(pool: PgPool, config: PostgresConfig) -> Result<Self, StoreError> {
        let relaying = relaying(pool, config);
        relaying.check().await?;
        Ok(Self(Arc::new(relaying)))
    }

    /// The pool that the relay and operator side use.
    pub fn pool(&self) -> &PgPool {
        &self.0.database().pool
    }

    /// The settings.
    pub fn config(&self) -> &PostgresConfig {
        self.0.config()
    }
}

fn relaying(pool: PgPool, config: PostgresConfig) -> Relaying<PgDatabase> {
    let database = PgDatabase::new(pool, config.connection, config.wake_up);
    Relaying::new(database, config)
}
