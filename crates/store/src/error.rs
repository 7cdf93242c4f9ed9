//! The errors of the port, one type a caller, told apart by what the caller can do about them.

use std::time::Duration;

use outbox_message::InvalidMessage;
use thiserror::Error;

/// A driver's own error, kept as the source.
pub type BoxError = Box<dyn std::error::Error + Send + Sync + 'static>;

/// Why a message was not saved, or not recorded as handled. Unless the variant says otherwise the caller's transaction is as it was. On Postgres only [`Invalid`](Self::Invalid)
/// and [`NoTransaction`](Self::NoTransaction) leave it so: after any answer of the server it can only be rolled back.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SaveError {
    /// The message breaks a limit (contract C4); no SQL ran.
    #[error("the message cannot be saved")]
    Invalid(#[from] InvalidMessage),
    /// The connection has no open transaction (contract C1); nothing was written.
    #[error("the connection has no open transaction: {hint}")]
    NoTransaction {
        /// How to begin one with this driver.
        hint: &'static str,
    },
    /// Another writer holds the database, or committed since this transaction began to read. Roll back and try the transaction again.
    #[error("the database is busy with another writer: {hint}")]
    Busy {
        /// How to avoid it.
        hint: &'static str,
        /// What the driver said.
        source: BoxError,
    },
    /// The database ended this transaction for the sake of another (serialization failure or deadlock). Roll back and try the whole transaction again.
    #[error("the transaction conflicts with another and can be tried again")]
    Conflict(#[source] BoxError),
    /// The database has another schema version than this program knows.
    #[error("the outbox schema has version {found}, this program needs version {expected}: {hint}")]
    Schema {
        /// The version found; 0 when there is no schema.
        found: i64,
        /// The version this program knows.
        expected: i64,
        /// What to do.
        hint: &'static str,
    },
    /// Anything else the database said. The transaction may hold a part of what was asked: roll it back. If it is committed all the same, no id is
    /// remembered without its message (contract C3), so that saving again loses nothing.
    #[error("the database did not do what was asked in this transaction")]
    Database(#[source] BoxError),
}

/// Why a store did not do what a relay or an operator asked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The database has another schema version than this program knows. Trying again does not help.
    #[error("the outbox schema has version {found}, this program needs version {expected}: {hint}")]
    Schema {
        /// The version found; 0 when there is no schema.
        found: i64,
        /// The version this program knows.
        expected: i64,
        /// What to do.
        hint: &'static str,
    },
    /// The store cannot be used as it was asked to. Trying again does not help.
    #[error("{problem}: {hint}")]
    Unusable {
        /// What is wrong, naming the thing.
        problem: String,
        /// What to do.
        hint: &'static str,
    },
    /// The inbox would forget ids that a dead letter may still need: redriven, its message could be handled twice. Nothing was removed.
    #[error(
        "the dead letter {id} of {topic} was saved {} s ago, and handled ids that are {} s old would be forgotten: redrive or discard it first, or keep handled ids for longer",
        age.as_secs(), older_than.as_secs()
    )]
    DeadLetterNeedsInbox {
        /// The message id of the oldest dead letter, as stored.
        id: Box<str>,
        /// Its topic, as stored.
        topic: Box<str>,
        /// How long ago it was saved.
        age: Duration,
        /// How old the ids are that were to be forgotten.
        older_than: Duration,
    },
    /// The database did not answer, or refused; trying again may help.
    #[error("the database did not {what}")]
    Database {
        /// What was asked, such as "claim messages".
        what: &'static str,
        /// What the driver said.
        source: BoxError,
    },
}

impl StoreError {
    /// Whether trying again later may help.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Database { .. })
    }
}
