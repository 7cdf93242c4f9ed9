//! What the errors of the driver mean for a caller: told apart by SQLite's result codes, never by their text.

use outbox_store::{SaveError, StoreError};

/// What a writer is told when another one is in the way.
pub(crate) const BEGIN_HINT: &str =
    "begin the transaction with pool.begin_with(\"BEGIN IMMEDIATE\")";

/// The primary result codes of SQLite that mean something of their own here.
pub(crate) mod code {
    pub(crate) const ERROR: i32 = 1;
    pub(crate) const BUSY: i32 = 5;
    pub(crate) const LOCKED: i32 = 6;
    pub(crate) const READONLY: i32 = 8;
    pub(crate) const CANTOPEN: i32 = 14;
    pub(crate) const NOTADB: i32 = 26;
}

/// The primary result code, if the error is one of the database.
pub(crate) fn primary_code(error: &sqlx::Error) -> Option<i32> {
    let code: i32 = error.as_database_error()?.code()?.parse().ok()?;
    // The extended code carries the primary one in its lowest byte.
    Some(code & 0xFF)
}

/// Whether another connection holds a lock, or committed since this transaction began to read.
pub(crate) fn is_busy(error: &sqlx::Error) -> bool {
    matches!(primary_code(error), Some(code::BUSY | code::LOCKED))
}

/// For the writer side.
pub(crate) fn save_error(error: sqlx::Error) -> SaveError {
    if is_busy(&error) {
        return SaveError::Busy {
            hint: BEGIN_HINT,
            source: Box::new(error),
        };
    }
    SaveError::Database(Box::new(error))
}

/// For the relay and operator side; `what` completes "the database did not ...".
pub(crate) fn store_error(what: &'static str) -> impl FnOnce(sqlx::Error) -> StoreError {
    move |error| StoreError::Database {
        what,
        source: Box::new(error),
    }
}
