//! The store's own transactions, on connections of the pool. A writer's transaction is the caller's and does not pass here.
//!
//! One rule covers every way in which such a transaction can be cut off: its connection goes back to the pool only after the server
//! answered its COMMIT or ROLLBACK. Otherwise (a dropped future, a lost connection, a panic) it is closed, and the server ends the
//! transaction. The driver's own transactions do not keep this rule: a `begin` that is dropped midway leaves a connection in the pool
//! that is inside a transaction without knowing it.

use std::{future::pending, time::Duration};

use outbox_store_postgres::{Connection, Database, Row, Session, Text, Transaction, Value, WakeUp};
use sqlx::{PgPool, Postgres, pool::PoolConnection};
use tokio::time::sleep;

use crate::{
    error::SqlxError,
    listen::Listening,
    session::{batch, query},
};

/// A pool, and how to use it: what a [`Relaying`](outbox_store_postgres::Relaying) runs on.
#[derive(Debug)]
pub struct PgDatabase {
    pub(crate) pool: PgPool,
    mode: Connection,
    /// `None` if nobody is to be woken, or if no notification would come through.
    listening: Option<Listening>,
}

impl PgDatabase {
    /// Uses this pool.
    pub fn new(pool: PgPool, mode: Connection, wake_up: WakeUp) -> Self {
        let listens = wake_up == WakeUp::Notify && mode == Connection::Direct;
        Self {
            pool,
            mode,
            listening: listens.then(Listening::default),
        }
    }
}

impl Database for PgDatabase {
    type Transaction = PgTransaction;
    type Error = SqlxError;

    async fn begin<'a>(&'a self, begin: &'a Text) -> Result<PgTransaction, SqlxError> {
        let mut transaction = PgTransaction {
            connection: self.pool.acquire().await?,
            mode: self.mode,
            is_over: false,
        };
        transaction.batch(begin).await?;
        Ok(transaction)
    }

    async fn wake_up(&self, schema: &str) {
        match &self.listening {
            Some(listening) => listening.heard(&self.pool, schema).await,
            None => pending().await,
        }
    }

    fn listens(&self) -> bool {
        self.listening.as_ref().is_some_and(Listening::listens)
    }

    fn wake(&self) {
        if let Some(listening) = &self.listening {
            listening.wake();
        }
    }

    async fn sleep(&self, time: Duration) {
        sleep(time).await;
    }
}

/// A transaction of the store's own.
#[derive(Debug)]
pub struct PgTransaction {
    connection: PoolConnection<Postgres>,
    mode: Connection,
    /// The server answered COMMIT or ROLLBACK.
    is_over: bool,
}

impl PgTransaction {
    /// After a statement that the server refused there is nothing left to do but to roll back. Of a connection that failed in another way nothing
    /// is known.
    async fn failed(&mut self, error: sqlx::Error) -> SqlxError {
        if error.as_database_error().is_some() {
            let rolled_back = batch(&mut self.connection, "ROLLBACK").await;
            self.is_over = rolled_back.is_ok();
        }
        SqlxError(error)
    }

    fn require_open(&self) -> Result<(), SqlxError> {
        if self.is_over {
            let over = "the transaction ended with a statement that failed";
            return Err(SqlxError(sqlx::Error::Protocol(over.to_owned())));
        }
        Ok(())
    }
}

impl Session for PgTransaction {
    type Error = SqlxError;

    async fn query<'a>(
        &'a mut self,
        text: &'a Text,
        values: &'a [Value<'a>],
    ) -> Result<Vec<Row>, SqlxError> {
        self.require_open()?;
        match query(&mut self.connection, self.mode, text, values).await {
            Ok(rows) => Ok(rows),
            Err(error) => Err(self.failed(error).await),
        }
    }

    async fn batch<'a>(&'a mut self, text: &'a str) -> Result<(), SqlxError> {
        self.require_open()?;
        match batch(&mut self.connection, text).await {
            Ok(()) => Ok(()),
            Err(error) => Err(self.failed(error).await),
        }
    }
}

impl Transaction for PgTransaction {
    async fn commit(mut self) -> Result<(), SqlxError> {
        self.require_open()?;
        batch(&mut self.connection, "COMMIT").await?;
        self.is_over = true;
        Ok(())
    }
}

impl Drop for PgTransaction {
    fn drop(&mut self) {
        if !self.is_over {
            self.connection.close_on_drop();
        }
    }
}
