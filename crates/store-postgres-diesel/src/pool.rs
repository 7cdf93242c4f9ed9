//! Transactions on connections of a pool that the user made. A connection goes back to the pool only when its transaction is known to have ended.

use std::{fmt, future::pending, time::Duration};

use diesel_async::{
    AnsiTransactionManager, AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection,
    TransactionManager,
    pooled_connection::deadpool::{Object, Pool},
};
use outbox_store_postgres::{
    Connection, Database, PostgresConfig, Row, Session, Text, Transaction, Value, WakeUp,
};
use tokio::time::sleep;

use crate::{
    error::DieselError,
    listen::Listener,
    statement::{Answer, Statement},
};

/// A pool of connections, and the one that listens.
pub(crate) struct Pooled {
    pub(crate) pool: Pool<AsyncPgConnection>,
    connection: Connection,
    /// `None` if nobody is to be woken, or if no notification would come through.
    listener: Option<Listener>,
}

impl Pooled {
    pub(crate) fn new(pool: Pool<AsyncPgConnection>, config: &PostgresConfig) -> Self {
        let listens = config.wake_up == WakeUp::Notify && config.connection == Connection::Direct;
        Self {
            pool,
            connection: config.connection,
            listener: listens.then(Listener::default),
        }
    }
}

impl fmt::Debug for Pooled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pooled")
            .field("connections", &self.pool.status())
            .field("connection", &self.connection)
            .field("listener", &self.listener)
            .finish_non_exhaustive()
    }
}

impl Database for Pooled {
    type Transaction = PooledTransaction;
    type Error = DieselError;

    async fn begin(&self, begin: &Text) -> Result<PooledTransaction, DieselError> {
        // From here on the connection is only given back when this value knows that no transaction is open.
        let mut transaction = PooledTransaction {
            object: Some(self.pool.get().await?),
            connection: self.connection,
        };
        let connection = transaction.open()?;
        AnsiTransactionManager::begin_transaction_sql(connection, begin).await?;
        Ok(transaction)
    }

    async fn wake_up(&self, schema: &str) {
        match &self.listener {
            Some(listener) => listener.heard(&self.pool, schema).await,
            None => pending().await,
        }
    }

    fn listens(&self) -> bool {
        self.listener.as_ref().is_some_and(Listener::listens)
    }

    fn wake(&self) {
        if let Some(listener) = &self.listener {
            listener.wake();
        }
    }

    async fn sleep(&self, time: Duration) {
        sleep(time).await;
    }
}

/// A transaction on a connection of the pool.
pub(crate) struct PooledTransaction {
    /// The connection while its transaction is open; dropping it gives it back.
    object: Option<Object<AsyncPgConnection>>,
    connection: Connection,
}

impl PooledTransaction {
    fn open(&mut self) -> Result<&mut AsyncPgConnection, DieselError> {
        match &mut self.object {
            Some(object) => Ok(object),
            None => Err(diesel::result::Error::NotInTransaction.into()),
        }
    }

    /// Rolls back after the server refused a statement, so that the connection can be used again.
    async fn ended<T>(&mut self, done: Result<T, DieselError>) -> Result<T, DieselError> {
        if let Err(error) = &done
            && error.is_answer()
            && let Ok(connection) = self.open()
            && AnsiTransactionManager::rollback_transaction(connection)
                .await
                .is_ok()
        {
            self.object = None;
        }
        done
    }
}

impl Session for PooledTransaction {
    type Error = DieselError;

    async fn query<'a>(
        &'a mut self,
        text: &'a Text,
        values: &'a [Value<'a>],
    ) -> Result<Vec<Row>, DieselError> {
        let statement = Statement {
            text,
            values,
            connection: self.connection,
        };
        let rows = query(self.open()?, statement).await;
        self.ended(rows).await
    }

    async fn batch(&mut self, text: &str) -> Result<(), DieselError> {
        let done = self.open()?.batch_execute(text).await;
        self.ended(done.map_err(DieselError::from)).await
    }
}

impl Transaction for PooledTransaction {
    async fn commit(mut self) -> Result<(), DieselError> {
        AnsiTransactionManager::commit_transaction(self.open()?).await?;
        self.object = None;
        Ok(())
    }
}

impl Drop for PooledTransaction {
    /// A connection whose transaction may be open is closed, which rolls it back: in the pool it would keep its locks until somebody takes it out.
    fn drop(&mut self) {
        if let Some(object) = self.object.take() {
            drop(Object::take(object));
        }
    }
}

impl fmt::Debug for PooledTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PooledTransaction")
            .field("is_open", &self.object.is_some())
            .finish_non_exhaustive()
    }
}

/// Runs a statement and reads its rows.
pub(crate) async fn query(
    connection: &mut AsyncPgConnection,
    statement: Statement<'_>,
) -> Result<Vec<Row>, DieselError> {
    let answers: Vec<Answer> = statement
        .load(connection)
        .await
        .map_err(|error| DieselError::of(statement.text, error))?;
    Ok(answers.into_iter().map(Row::from).collect())
}
