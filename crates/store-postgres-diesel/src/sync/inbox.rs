//! The inbox on blocking connections: recording inside a handler's transaction what was handled.

use diesel::PgConnection;
use outbox_message::MessageId;
use outbox_store::{Consumer, Handled, SaveError, SyncInboxWriter};
use outbox_store_postgres::{forget, once};

use super::{PostgresWriter, ready, require_transaction};

impl PostgresWriter {
    /// Records in the caller's open transaction that `consumer` handles the message, unless it was handled.
    ///
    /// # Errors
    ///
    /// [`SaveError`]. After an answer of the database Postgres refuses everything but a rollback. At a stricter level than READ COMMITTED an id that was
    /// recorded after the transaction began is [`SaveError::Conflict`]; tried again from its beginning, it is a duplicate.
    pub fn once(
        &self,
        connection: &mut PgConnection,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Result<Handled, SaveError> {
        require_transaction(connection)?;
        let mut session = self.borrow(connection);
        ready(once(&mut session, &self.statements, consumer, id))
    }

    /// Forgets in the caller's open transaction that `consumer` handled the message. `false` if it was not recorded; a transaction that records it meanwhile
    /// is not seen.
    ///
    /// # Errors
    ///
    /// As [`once`](Self::once).
    pub fn forget(
        &self,
        connection: &mut PgConnection,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Result<bool, SaveError> {
        require_transaction(connection)?;
        let mut session = self.borrow(connection);
        ready(forget(&mut session, &self.statements, consumer, id))
    }
}

impl SyncInboxWriter<PgConnection> for PostgresWriter {
    fn once(
        &self,
        connection: &mut PgConnection,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Result<Handled, SaveError> {
        self.once(connection, consumer, id)
    }

    fn forget(
        &self,
        connection: &mut PgConnection,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Result<bool, SaveError> {
        self.forget(connection, consumer, id)
    }
}
