//! The inbox: recording inside a handler's transaction what was handled, and opening such a transaction for a processor.
//!
//! A handler's transaction keeps the rule of the store's own (see `database.rs`): its connection goes back to the pool only after the server said that the
//! transaction is over. Otherwise it is closed, and the server rolls back. Unlike those it is one that the driver knows of, so that a handler can have
//! savepoints and saves can see that it is open.

use std::ops::{Deref, DerefMut};

use async_trait::async_trait;
use outbox_message::MessageId;
use outbox_store::{
    Consumer, Handled, InboxWriter, SaveError, StoreError, Transactions, adapter::spoiled,
};
use outbox_store_postgres::{Failure, forget, once};
use sqlx::{
    PgConnection, Postgres,
    pool::PoolConnection,
    postgres::{PgDatabaseError, PgTransactionManager},
};
use sqlx_core::transaction::TransactionManager;

use crate::{PostgresStore, error::SqlxError, session::batch, write::require_transaction};

/// What a transaction is in that a failed statement aborted: it takes nothing but a rollback, and makes one of a COMMIT, without a word.
const ABORTED: &str = "25P02";

/// Complete "the database did not ...".
const BEGIN: &str = "begin a transaction for a handler";
const COMMIT: &str = "commit the transaction of a handler";

impl PostgresStore {
    /// Records in the caller's open transaction that `consumer` handles the message, unless it was handled.
    ///
    /// Dropping the future midway leaves open whether the id is recorded in the transaction: roll it back.
    ///
    /// # Errors
    ///
    /// [`SaveError`]. After an answer of the database Postgres refuses everything but a rollback. At a stricter level than READ COMMITTED an id that was
    /// recorded after the transaction began is [`SaveError::Conflict`]; tried again from its beginning, it is a duplicate.
    pub async fn once(
        &self,
        tx: &mut PgConnection,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Result<Handled, SaveError> {
        require_transaction(tx)?;
        let mut session = self.borrow(tx);
        once(&mut session, self.0.statements(), consumer, id).await
    }

    /// Forgets in the caller's open transaction that `consumer` handled the message. `false` if it was not recorded; a transaction that records it meanwhile
    /// is not seen.
    ///
    /// # Errors
    ///
    /// As [`once`](Self::once).
    pub async fn forget(
        &self,
        tx: &mut PgConnection,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Result<bool, SaveError> {
        require_transaction(tx)?;
        let mut session = self.borrow(tx);
        forget(&mut session, self.0.statements(), consumer, id).await
    }
}

#[async_trait]
impl InboxWriter<PgConnection> for PostgresStore {
    async fn once(
        &self,
        tx: &mut PgConnection,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Result<Handled, SaveError> {
        self.once(tx, consumer, id).await
    }

    async fn forget(
        &self,
        tx: &mut PgConnection,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Result<bool, SaveError> {
        self.forget(tx, consumer, id).await
    }
}

/// The open transaction of a handler, on a connection of the store's pool. Dropping it closes the connection, which rolls it back.
#[derive(Debug)]
pub struct HandlerTransaction {
    connection: PoolConnection<Postgres>,
    /// The server answered COMMIT or ROLLBACK.
    is_over: bool,
}

impl Deref for HandlerTransaction {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.connection
    }
}

impl DerefMut for HandlerTransaction {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.connection
    }
}

impl Drop for HandlerTransaction {
    fn drop(&mut self) {
        if !self.is_over {
            self.connection.close_on_drop();
        }
    }
}

impl HandlerTransaction {
    /// Refuses what COMMIT would take without an error, and not commit.
    async fn require_whole(&mut self) -> Result<(), StoreError> {
        match PgTransactionManager::get_transaction_depth(&self.connection) {
            1 => {}
            0 => return Err(spoiled("has ended before its commit")),
            _ => return Err(spoiled("has a savepoint that was not ended")),
        }
        match batch(&mut self.connection, "SELECT 1").await {
            Ok(()) => Ok(()),
            Err(error) if is_aborted(&error) => {
                Err(spoiled("was aborted by a statement that failed"))
            }
            Err(error) => Err(failed(COMMIT, error)),
        }
    }
}

#[async_trait]
impl Transactions for PostgresStore {
    type Tx = PgConnection;
    type Open = HandlerTransaction;

    async fn begin(&self) -> Result<HandlerTransaction, StoreError> {
        let connection = self.pool().acquire().await;
        let mut open = HandlerTransaction {
            connection: connection.map_err(|error| failed(BEGIN, error))?,
            is_over: false,
        };
        let begun = PgTransactionManager::begin(&mut open.connection, None).await;
        begun.map_err(|error| failed(BEGIN, error))?;
        Ok(open)
    }

    fn tx<'a>(&self, open: &'a mut HandlerTransaction) -> &'a mut PgConnection {
        open
    }

    async fn commit(&self, mut open: HandlerTransaction) -> Result<(), StoreError> {
        if let Err(error) = open.require_whole().await {
            self.rollback(open).await;
            return Err(error);
        }
        let committed = PgTransactionManager::commit(&mut open.connection).await;
        committed.map_err(|error| failed(COMMIT, error))?;
        open.is_over = true;
        Ok(())
    }

    async fn rollback(&self, mut open: HandlerTransaction) {
        // With savepoints left the rollback would be that of the last of them.
        if PgTransactionManager::get_transaction_depth(&open.connection) == 1 {
            let rolled_back = PgTransactionManager::rollback(&mut open.connection).await;
            open.is_over = rolled_back.is_ok();
        }
    }
}

fn is_aborted(error: &sqlx::Error) -> bool {
    let answer = error.as_database_error();
    let answer = answer.and_then(|error| error.try_downcast_ref::<PgDatabaseError>());
    answer.is_some_and(|error| error.code() == ABORTED)
}

fn failed(what: &'static str, error: sqlx::Error) -> StoreError {
    Failure::Driver(SqlxError(error)).store_error(what)
}
