//! Saving through diesel's own blocking connections (feature `sync`). Relays run on diesel-async or on another adapter.
//!
//! ```no_run
//! use diesel::{Connection, PgConnection, RunQueryDsl, sql_query};
//! use outbox_message::Message;
//! use outbox_store_postgres_diesel::{PostgresConfig, SaveError, sync::{self, PostgresWriter}};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut connection = PgConnection::establish("postgres://localhost/shop")?;
//! sync::migrate(&mut connection)?;   // once, at deployment
//! let outbox = PostgresWriter::new(PostgresConfig::default());
//!
//! // A transaction of diesel answers one error type, which both diesel's errors and those of a save become.
//! #[derive(Debug, thiserror::Error)]
//! enum OrderError {
//!     #[error(transparent)]
//!     Database(#[from] diesel::result::Error),
//!     #[error(transparent)]
//!     Outbox(#[from] SaveError),
//! }
//!
//! let message = Message::new("orders", r#"{"id":1042}"#)?.with_key("order-1042")?;
//! connection.transaction(|connection| {
//!     sql_query("INSERT INTO orders (id, total) VALUES (1042, 9900)").execute(connection)?;
//!     outbox.save(connection, &message)?;
//!     Ok::<_, OrderError>(())
//! })?;
//! # Ok(())
//! # }
//! ```

mod inbox;
mod session;

use std::{
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use diesel::{
    PgConnection,
    connection::{AnsiTransactionManager, TransactionManager},
};
use outbox_message::Message;
use outbox_store::{Save, SaveError, Saved, StoreError, SyncOutboxWriter};
use outbox_store_postgres::{
    Connection, Failure, MIGRATE, PostgresConfig, SchemaName, Statements, pending, save_all,
};

use self::session::Blocking;
use crate::{error::DieselError, save::require_depth};

/// The writer side for blocking connections. It holds no connection, only statements and settings; cloning it copies a handle.
#[derive(Debug, Clone)]
pub struct PostgresWriter {
    statements: Arc<Statements>,
    config: Arc<PostgresConfig>,
}

impl PostgresWriter {
    /// A writer with these settings. Nothing is asked of the database yet: a schema that is missing is found by the first save.
    pub fn new(config: PostgresConfig) -> Self {
        Self {
            statements: Arc::new(Statements::new(&config.schema)),
            config: Arc::new(config),
        }
    }

    /// The settings.
    pub fn config(&self) -> &PostgresConfig {
        &self.config
    }

    /// Saves one message in the caller's open transaction.
    ///
    /// # Errors
    ///
    /// [`SaveError`]. After an answer of the database Postgres refuses everything but a rollback.
    pub fn save<'a>(
        &self,
        connection: &mut PgConnection,
        save: impl Into<Save<'a>>,
    ) -> Result<Saved, SaveError> {
        require_transaction(connection)?;
        let mut session = self.borrow(connection);
        let (statements, config) = (&self.statements, &self.config);
        ready(outbox_store_postgres::save(
            &mut session,
            statements,
            config,
            save.into(),
        ))
    }

    /// Saves any number of messages in the caller's open transaction, in order, with a fixed number of statements.
    ///
    /// # Errors
    ///
    /// As [`save`](Self::save).
    pub fn save_all(
        &self,
        connection: &mut PgConnection,
        saves: &[Save<'_>],
    ) -> Result<Vec<Saved>, SaveError> {
        require_transaction(connection)?;
        let mut session = self.borrow(connection);
        ready(save_all(
            &mut session,
            &self.statements,
            &self.config,
            saves,
        ))
    }

    /// The pending messages that this connection sees, by position: what is committed, and what its own open transaction saved. For tests of
    /// applications; it reads the whole backlog.
    ///
    /// # Errors
    ///
    /// [`SaveError`]; a row that cannot be read is one.
    pub fn pending(&self, connection: &mut PgConnection) -> Result<Vec<Message>, SaveError> {
        let mut session = self.borrow(connection);
        ready(pending(&mut session, &self.statements))
    }

    fn borrow<'c>(&self, connection: &'c mut PgConnection) -> Blocking<'c> {
        Blocking {
            connection,
            kind: self.config.connection,
        }
    }
}

impl SyncOutboxWriter<PgConnection> for PostgresWriter {
    fn save(&self, connection: &mut PgConnection, save: Save<'_>) -> Result<Saved, SaveError> {
        self.save(connection, save)
    }

    fn save_all(
        &self,
        connection: &mut PgConnection,
        saves: &[Save<'_>],
    ) -> Result<Vec<Saved>, SaveError> {
        self.save_all(connection, saves)
    }

    fn pending(&self, connection: &mut PgConnection) -> Result<Vec<Message>, SaveError> {
        self.pending(connection)
    }
}

/// Refuses a connection without an open transaction (contract C1).
fn require_transaction(connection: &mut PgConnection) -> Result<(), SaveError> {
    let status = AnsiTransactionManager::transaction_manager_status_mut(connection);
    require_depth(status.transaction_depth())
}

/// Creates or updates the tables of the outbox in the schema `outbox`, on a connection without an open transaction. Doing it again, or by several
/// processes at once, does nothing more.
///
/// # Errors
///
/// [`StoreError::Unusable`] if the server cannot hold an outbox or the role may not create it, [`StoreError::Schema`] if the schema is newer than this
/// program, [`StoreError::Database`] for what else the database said; nothing is half done then.
pub fn migrate(connection: &mut PgConnection) -> Result<(), StoreError> {
    migrate_with(connection, &SchemaName::default())
}

/// Creates or updates the tables of the outbox in this schema, which is made if it is not there.
///
/// # Errors
///
/// As [`migrate`].
pub fn migrate_with(connection: &mut PgConnection, schema: &SchemaName) -> Result<(), StoreError> {
    bring_up_to_date(connection, schema).map_err(|failure| failure.store_error(MIGRATE))
}

fn bring_up_to_date(
    connection: &mut PgConnection,
    schema: &SchemaName,
) -> Result<(), Failure<DieselError>> {
    let failed = |error| Failure::Driver(DieselError::from(error));
    let statements = Statements::new(schema);
    let begin = statements.begin_migration();
    AnsiTransactionManager::begin_transaction_sql(connection, begin).map_err(failed)?;
    let mut session = Blocking {
        connection,
        // Nothing here is used often enough to be prepared.
        kind: Connection::Pooler,
    };
    let migrated = ready(outbox_store_postgres::migrate(
        &mut session,
        &statements,
        schema,
    ));
    match migrated {
        Ok(()) => AnsiTransactionManager::commit_transaction(connection).map_err(failed),
        Err(failure) => {
            // The failure tells more than a rollback that fails after it; diesel itself marks the connection as broken then.
            AnsiTransactionManager::rollback_transaction(connection).ok();
            Err(failure)
        }
    }
}

/// The answer of procedures over a session that blocks: they never wait for anything else.
fn ready<T>(procedure: impl Future<Output = T>) -> T {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(procedure).poll(&mut context) {
        Poll::Ready(answer) => answer,
        Poll::Pending => {
            unreachable!("a procedure waits for its session only, which is always ready")
        }
    }
}
