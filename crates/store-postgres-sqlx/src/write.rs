//! The writer side: saving inside the caller's transaction. Nothing is begun, committed or rolled back here.

use async_trait::async_trait;
use outbox_message::Message;
use outbox_store::{OutboxWriter, Save, SaveError, Saved};
use outbox_store_postgres::{pending, save_all};
use sqlx::{Connection, PgConnection};

use crate::{PostgresStore, session::Borrowed};

/// How a caller gets what a save needs.
const BEGIN_HINT: &str = "begin it through the driver, with pool.begin()";

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
        tx: &mut PgConnection,
        save: impl Into<Save<'a>>,
    ) -> Result<Saved, SaveError> {
        require_transaction(tx)?;
        let mut session = self.borrow(tx);
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
        tx: &mut PgConnection,
        saves: &[Save<'_>],
    ) -> Result<Vec<Saved>, SaveError> {
        require_transaction(tx)?;
        let mut session = self.borrow(tx);
        save_all(&mut session, self.0.statements(), self.config(), saves).await
    }

    /// The pending messages that this connection sees, by position: what is committed, and what its own open transaction saved. For tests of
    /// applications; it reads the whole backlog.
    ///
    /// # Errors
    ///
    /// [`SaveError`]; a row that cannot be read is one.
    pub async fn pending(&self, tx: &mut PgConnection) -> Result<Vec<Message>, SaveError> {
        let mut session = self.borrow(tx);
        pending(&mut session, self.0.statements()).await
    }

    pub(crate) fn borrow<'c>(&self, connection: &'c mut PgConnection) -> Borrowed<'c> {
        Borrowed {
            connection,
            mode: self.config().connection,
        }
    }
}

#[async_trait]
impl OutboxWriter<PgConnection> for PostgresStore {
    async fn save(&self, tx: &mut PgConnection, save: Save<'_>) -> Result<Saved, SaveError> {
        self.save(tx, save).await
    }

    async fn save_all(
        &self,
        tx: &mut PgConnection,
        saves: &[Save<'_>],
    ) -> Result<Vec<Saved>, SaveError> {
        self.save_all(tx, saves).await
    }

    async fn pending(&self, tx: &mut PgConnection) -> Result<Vec<Message>, SaveError> {
        self.pending(tx).await
    }
}

/// Refuses a connection without an open transaction (contract C1), as far as the driver knows: what was begun by a statement behind its back it does not
/// see.
pub(crate) fn require_transaction(tx: &PgConnection) -> Result<(), SaveError> {
    if tx.is_in_transaction() {
        return Ok(());
    }
    Err(SaveError::NoTransaction { hint: BEGIN_HINT })
}
