//! An open store of either kind, as the commands use it: the relay side and the operator side as trait objects, the writer side as a transaction.

use std::{sync::Arc, time::Duration};

use outbox::{
    postgres_sqlx::PostgresStore,
    sqlite::SqliteStore,
    store::{OutboxOperator, OutboxStore, Save, SaveError},
};
use sqlx::{Postgres, Sqlite, Transaction};
use tokio::time::timeout;

/// How long closing may take; a connection that hangs must not keep the program.
const CLOSING: Duration = Duration::from_secs(2);

/// How a transaction begins that saves. Nothing that it says may depend on what the database's default is.
const BEGIN_SQLITE: &str = "BEGIN IMMEDIATE";
const BEGIN_POSTGRES: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

/// An open store.
#[derive(Debug, Clone)]
pub(crate) enum Opened {
    Sqlite(SqliteStore),
    Postgres(PostgresStore),
}

impl Opened {
    /// What a relay uses.
    pub(crate) fn relay_side(&self) -> Arc<dyn OutboxStore> {
        match self {
            Self::Sqlite(store) => Arc::new(store.clone()),
            Self::Postgres(store) => Arc::new(store.clone()),
        }
    }

    /// What people use.
    pub(crate) fn operator(&self) -> &dyn OutboxOperator {
        match self {
            Self::Sqlite(store) => store,
            Self::Postgres(store) => store,
        }
    }

    /// Begins a transaction to save in.
    pub(crate) async fn begin(&self) -> Result<Tx, sqlx::Error> {
        Ok(match self {
            Self::Sqlite(store) => {
                let tx = store.pool().begin_with(BEGIN_SQLITE).await?;
                Tx::Sqlite(store.clone(), tx)
            }
            Self::Postgres(store) => {
                let tx = store.pool().begin_with(BEGIN_POSTGRES).await?;
                Tx::Postgres(store.clone(), tx)
            }
        })
    }

    /// Closes every connection. The last one to close brings the write-ahead log of SQLite back into the file, so that a copy of the file alone is whole.
    pub(crate) async fn close(&self) {
        let closing = async {
            match self {
                Self::Sqlite(store) => store.pool().close().await,
                Self::Postgres(store) => store.pool().close().await,
            }
        };
        in_time(closing).await;
    }
}

/// Closes connections, or gives up on it.
pub(super) async fn in_time(closing: impl Future<Output = ()>) {
    if timeout(CLOSING, closing).await.is_err() {
        tracing::debug!("a connection to the store did not close in time");
    }
}

/// A transaction of a writer. Dropped without a commit it is rolled back.
#[derive(Debug)]
pub(crate) enum Tx {
    Sqlite(SqliteStore, Transaction<'static, Sqlite>),
    Postgres(PostgresStore, Transaction<'static, Postgres>),
}

impl Tx {
    pub(crate) async fn save_all(&mut self, saves: &[Save<'_>]) -> Result<(), SaveError> {
        match self {
            Self::Sqlite(store, tx) => store.save_all(tx, saves).await?,
            Self::Postgres(store, tx) => store.save_all(tx, saves).await?,
        };
        Ok(())
    }

    pub(crate) async fn commit(self) -> Result<(), sqlx::Error> {
        match self {
            Self::Sqlite(_, tx) => tx.commit().await,
            Self::Postgres(_, tx) => tx.commit().await,
        }
    }

    pub(crate) async fn rollback(self) -> Result<(), sqlx::Error> {
        match self {
            Self::Sqlite(_, tx) => tx.rollback().await,
            Self::Postgres(_, tx) => tx.rollback().await,
        }
    }
}
