//! The inbox: recording inside a handler's transaction what was handled, and opening such a transaction for a processor.

use std::{fmt, num::NonZeroU32};

use async_trait::async_trait;
use diesel_async::{
    AnsiTransactionManager, AsyncPgConnection, SimpleAsyncConnection, TransactionManager,
    pooled_connection::deadpool::Object,
};
use outbox_message::MessageId;
use outbox_store::{
    Consumer, Handled, InboxWriter, SaveError, StoreError, Transactions, adapter::spoiled,
};
use outbox_store_postgres::{Failure, forget, once};

use crate::{PostgresStore, error::DieselError, save::require_transaction};

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
        connection: &mut AsyncPgConnection,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Result<Handled, SaveError> {
        require_transaction(connection)?;
        let mut session = self.borrow(connection);
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
        connection: &mut AsyncPgConnection,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Result<bool, SaveError> {
        require_transaction(connection)?;
        let mut session = self.borrow(connection);
        forget(&mut session, self.0.statements(), consumer, id).await
    }
}

#[async_trait]
impl InboxWriter<AsyncPgConnection> for PostgresStore {
    async fn once(
        &self,
        connection: &mut AsyncPgConnection,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Result<Handled, SaveError> {
        self.once(connection, consumer, id).await
    }

    async fn forget(
        &self,
        connection: &mut AsyncPgConnection,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Result<bool, SaveError> {
        self.forget(connection, consumer, id).await
    }
}

/// The open transaction of a handler, on a connection of the store's pool. Dropping it closes the connection, which rolls it back.
pub struct HandlerTransaction {
    /// The connection while its transaction is open; dropping it gives it back.
    object: Option<Object<AsyncPgConnection>>,
}

impl HandlerTransaction {
    fn connection(&mut self) -> &mut AsyncPgConnection {
        let object = self.object.as_mut();
        object.expect("it is given back by what takes the whole transaction")
    }

    fn depth(&mut self) -> u32 {
        let connection = self.connection();
        let status = AnsiTransactionManager::transaction_manager_status_mut(connection);
        let depth = status.transaction_depth().ok().flatten();
        depth.map_or(0, NonZeroU32::get)
    }

    /// Rolls back, if that ends the transaction and not a savepoint that was left. Whether it did.
    async fn roll_back(&mut self) -> bool {
        if self.depth() != 1 {
            return false;
        }
        let done = AnsiTransactionManager::rollback_transaction(self.connection()).await;
        if done.is_ok() {
            self.object = None;
        }
        done.is_ok()
    }

    /// Refuses what COMMIT would take without an error, and not commit.
    async fn require_whole(&mut self) -> Result<(), StoreError> {
        match self.depth() {
            1 => {}
            0 => return Err(spoiled("has ended before its commit")),
            _ => return Err(spoiled("has a savepoint that was not ended")),
        }
        let Err(error) = self.connection().batch_execute("SELECT 1").await else {
            return Ok(());
        };
        let error = DieselError::from(error);
        // Diesel tells no SQLSTATE. A server that refuses even this, and then takes the rollback, had aborted the transaction.
        if error.is_answer() && self.roll_back().await {
            return Err(spoiled("was aborted by a statement that failed"));
        }
        Err(failed(COMMIT, error))
    }
}

impl Drop for HandlerTransaction {
    /// A connection whose transaction may be open is closed, which rolls it back: in the pool it would keep its locks until somebody takes it out.
    fn drop(&mut self) {
        if let Some(object) = self.object.take() {
            drop(Object::take(object));
        }
    }
}

impl fmt::Debug for HandlerTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HandlerTransaction")
            .field("is_open", &self.object.is_some())
            .finish()
    }
}

#[async_trait]
impl Transactions for PostgresStore {
    type Tx = AsyncPgConnection;
    type Open = HandlerTransaction;

    async fn begin(&self) -> Result<HandlerTransaction, StoreError> {
        let object = self.pool().get().await;
        let object = object.map_err(|error| failed(BEGIN, error.into()))?;
        let mut open = HandlerTransaction {
            object: Some(object),
        };
        let begun = AnsiTransactionManager::begin_transaction(open.connection()).await;
        begun.map_err(|error| failed(BEGIN, error.into()))?;
        Ok(open)
    }

    fn tx<'a>(&self, open: &'a mut HandlerTransaction) -> &'a mut AsyncPgConnection {
        open.connection()
    }

    async fn commit(&self, mut open: HandlerTransaction) -> Result<(), StoreError> {
        open.require_whole().await?;
        let committed = AnsiTransactionManager::commit_transaction(open.connection()).await;
        committed.map_err(|error| failed(COMMIT, error.into()))?;
        open.object = None;
        Ok(())
    }

    async fn rollback(&self, mut open: HandlerTransaction) {
        open.roll_back().await;
    }
}

fn failed(what: &'static str, error: DieselError) -> StoreError {
    Failure::Driver(error).store_error(what)
}
