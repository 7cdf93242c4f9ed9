//! The store itself: a pool, a few settings, and how it is opened. What it does stands in the other modules.

use std::{sync::Arc, time::Duration};

use outbox_message::MAX_PAYLOAD_BYTES;
use outbox_store::{Command, StoreError};
use sqlx::SqlitePool;

use crate::{connect, schema};

/// The outbox in an SQLite file. Cloning it copies a handle to the pool.
#[derive(Debug, Clone)]
pub struct SqliteStore {
    pub(crate) pool: SqlitePool,
    pub(crate) config: SqliteConfig,
    /// On whose behalf an operator works through this handle.
    pub(crate) command: Option<Arc<Command>>,
}

/// Settings of an [`SqliteStore`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SqliteConfig {
    /// The longest payload that `save` takes, in bytes; at most [`MAX_PAYLOAD_BYTES`], which is also the default.
    pub max_payload_bytes: usize,
    /// How long published messages are kept; `None`, the default, deletes them when they are settled.
    pub retain: Option<Duration>,
    /// How long the ids of handled messages are kept; `None`, the default, keeps them until they are forgotten by hand. While a dead letter is older, upkeep
    /// forgets none, and a relay warns about it.
    pub retain_inbox: Option<Duration>,
}

impl Default for SqliteConfig {
    fn default() -> Self {
        Self {
            max_payload_bytes: MAX_PAYLOAD_BYTES,
            retain: None,
            retain_inbox: None,
        }
    }
}

impl SqliteStore {
    /// Creates or updates the tables of the outbox, and sets the file to WAL. Doing it again, or by several processes at once, does
    /// nothing more.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unusable`] if this is no file that can be written, [`StoreError::Schema`] if the schema is newer than this program,
    /// [`StoreError::Database`] for what else the database said; nothing is half done then.
    pub async fn migrate(pool: &SqlitePool) -> Result<(), StoreError> {
        schema::migrate(pool).await
    }

    /// The statements that [`migrate`](Self::migrate) runs, as a script that can also be run by hand.
    pub fn print_migrations() -> String {
        outbox_migrations::script(outbox_migrations::SQLITE)
    }

    /// Opens the outbox in the file of `pool`. It changes nothing.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unusable`] if this is not a database file in WAL mode that can be written, [`StoreError::Schema`] if the schema has another
    /// version than this program needs, [`StoreError::Database`] for what else the database said, such as that it is locked.
    pub async fn open(pool: SqlitePool) -> Result<Self, StoreError> {
        Self::open_with(pool, SqliteConfig::default()).await
    }

    /// Opens the outbox in the file of `pool` with these settings.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub async fn open_with(pool: SqlitePool, config: SqliteConfig) -> Result<Self, StoreError> {
        connect::check_file(&pool).await?;
        schema::check(&pool).await?;
        connect::check_writable(&pool).await?;
        Ok(Self {
            pool,
            config,
            command: None,
        })
    }

    /// The pool that the relay and operator side use.
    pub fn pool(&self) -> &SqlitePool {
        &self.pool
    }

    /// The settings.
    pub fn config(&self) -> SqliteConfig {
        self.config
    }
}
