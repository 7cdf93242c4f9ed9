//! The writer side: saving on the caller's own connection, inside the caller's transaction.

use std::num::NonZeroU32;

use async_trait::async_trait;
use diesel::QueryResult;
use diesel_async::{
    AnsiTransactionManager, AsyncPgConnection, SimpleAsyncConnection, TransactionManager,
};
use outbox_message::Message;
use outbox_store::{OutboxWriter, Save, SaveError, Saved};
use outbox_store_postgres::{Connection, Row, Session, Text, Value, pending, save_all};

use crate::{PostgresStore, error::DieselError, pool::query, statement::Statement};

/// How a caller gets what a save needs.
const BEGIN_HINT: &str = "begin it through the driver, with connection.transaction(..)";

impl PostgresStore {
    /// Saves one message in the caller's open transaction.
    ///
    /// Dropping the future midway leaves open whether the message is in the transaction: roll it back.
    ///
    /// # Errors
    ///
    /// [`SaveError`]. After an answer of the database Postgres refuses everything but a rollback.
    pub async fn save<'a>(
        &self,
        connection: &mut AsyncPgConnection,
        save: impl Into<Save<'a>>,
    ) -> Result<Saved, SaveError> {
        require_transaction(connection)?;
        let mut session = self.borrow(connection);
        let (statements, config) = (self.0.statements(), self.config());
        outbox_store_postgres::save(&mut session, statements, config, save.into()).await
    }

    /// Saves any number of messages in the caller's open transaction, in order, with a fixed number of statements.
    ///
    /// # Errors
    ///
    /// As [`save`](Self::save).
    pub async fn save_all(
        &self,
        connection: &mut AsyncPgConnection,
        saves: &[Save<'_>],
    ) -> Result<Vec<Saved>, SaveError> {
        require_transaction(connection)?;
        let mut session = self.borrow(connection);
        save_all(&mut session, self.0.statements(), self.config(), saves).await
    }

    /// The pending messages that this connection sees, by position: what is committed, and what its own open transaction saved. For tests of
    /// applications; it reads the whole backlog.
    ///
    /// # Errors
    ///
    /// [`SaveError`]; a row that cannot be read is one.
    pub async fn pending(
        &self,
        connection: &mut AsyncPgConnection,
    ) -> Result<Vec<Message>, SaveError> {
        let mut session = self.borrow(connection);
        pending(&mut session, self.0.statements()).await
    }

    pub(crate) fn borrow<'c>(&self, connection: &'c mut AsyncPgConnection) -> Borrowed<'c> {
        Borrowed {
            connection,
            kind: self.config().connection,
        }
    }
}

#[async_trait]
impl OutboxWriter<AsyncPgConnection> for PostgresStore {
    async fn save(
        &self,
        connection: &mut AsyncPgConnection,
        save: Save<'_>,
    ) -> Result<Saved, SaveError> {
        self.save(connection, save).await
    }

    async fn save_all(
        &self,
        connection: &mut AsyncPgConnection,
        saves: &[Save<'_>],
    ) -> Result<Vec<Saved>, SaveError> {
        self.save_all(connection, saves).await
    }

    async fn pending(&self, connection: &mut AsyncPgConnection) -> Result<Vec<Message>, SaveError> {
        self.pending(connection).await
    }
}

/// Refuses a connection without an open transaction (contract C1), as far as the driver knows: what was begun by a statement behind its back it does not
/// see.
pub(crate) fn require_transaction(connection: &mut AsyncPgConnection) -> Result<(), SaveError> {
    let status = AnsiTransactionManager::transaction_manager_status_mut(connection);
    require_depth(status.transaction_depth())
}

/// Refuses a connection whose transactions are not even one deep.
pub(crate) fn require_depth(depth: QueryResult<Option<NonZeroU32>>) -> Result<(), SaveError> {
    match depth {
        Ok(Some(_)) => Ok(()),
        Ok(None) => Err(SaveError::NoTransaction { hint: BEGIN_HINT }),
        Err(error) => Err(SaveError::Database(Box::new(DieselError::from(error)))),
    }
}

/// The caller's connection, whose transaction the caller ends.
pub(crate) struct Borrowed<'c> {
    connection: &'c mut AsyncPgConnection,
    kind: Connection,
}

impl Session for Borrowed<'_> {
    type Error = DieselError;

    async fn query<'a>(
        &'a mut self,
        text: &'a Text,
        values: &'a [Value<'a>],
    ) -> Result<Vec<Row>, DieselError> {
        let statement = Statement {
            text,
            values,
            connection: self.kind,
        };
        query(self.connection, statement).await
    }

    async fn batch(&mut self, text: &str) -> Result<(), DieselError> {
        Ok(self.connection.batch_execute(text).await?)
    }
}
