//! The writer side: saving on the caller's own connection, inside the caller's transaction.

use async_trait::async_trait;
use diesel_async::{
    AnsiTransactionManager, AsyncPgConnection, SimpleAsyncConnection, TransactionManager,
};
use outbox_message::Message;
use outbox_store::{OutboxWriter, Save, SaveError, Saved};
use outbox_store_postgres::{Connection, Row, Session, Text, Value};

use crate::{PostgresStore, error::DieselError, pool::query, statement::Statement};

/// What to do about a connection without a transaction.
pub(crate) const BEGIN_HINT: &str =
    "save inside `connection.transaction(..)`; a transaction that was begun by SQL is not seen";

impl PostgresStore {
    /// Saves one message in the caller's open transaction.
    ///
    /// # Errors
    ///
    /// [`SaveError`]. After [`SaveError::Invalid`] and [`SaveError::NoTransaction`] the transaction is as it was; after any other the server takes nothing
    /// more in it but a rollback.
    pub async fn save<'a>(
        &self,
        connection: &mut AsyncPgConnection,
        save: impl Into<Save<'a>>,
    ) -> Result<Saved, SaveError> {
        let mut session = self.borrow(connection)?;
        let relaying = &self.relaying;
        outbox_store_postgres::save(
            &mut session,
            relaying.statements(),
            relaying.config(),
            save.into(),
        )
        .await
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
        let mut session = self.borrow(connection)?;
        let relaying = &self.relaying;
        outbox_store_postgres::save_all(
            &mut session,
            relaying.statements(),
            relaying.config(),
            saves,
        )
        .await
    }

    /// The pending messages that this transaction sees, by position: what is committed, and what it saved itself. For tests of applications; it reads the
    /// whole backlog.
    ///
    /// # Errors
    ///
    /// [`SaveError`]; a row that cannot be read is one.
    pub async fn pending(
        &self,
        connection: &mut AsyncPgConnection,
    ) -> Result<Vec<Message>, SaveError> {
        let mut session = self.borrow(connection)?;
        outbox_store_postgres::pending(&mut session, self.relaying.statements()).await
    }

    /// Refuses a connection without an open transaction (contract C1).
    fn borrow<'c>(&self, connection: &'c mut AsyncPgConnection) -> Result<Borrowed<'c>, SaveError> {
        let status = AnsiTransactionManager::transaction_manager_status_mut(&mut *connection);
        match status.transaction_depth() {
            Ok(Some(_)) => Ok(Borrowed {
                connection,
                kind: self.config().connection,
            }),
            Ok(None) => Err(SaveError::NoTransaction { hint: BEGIN_HINT }),
            Err(error) => Err(SaveError::Database(Box::new(DieselError::from(error)))),
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

/// The caller's connection, whose transaction the caller ends.
struct Borrowed<'c> {
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
