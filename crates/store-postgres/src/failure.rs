//! What went wrong in a procedure, and what it means for a caller: told by the server's SQLSTATE, never by its text.

use outbox_migrations::POSTGRES;
use outbox_store::{SaveError, StoreError};

use crate::{row::UnexpectedRow, session::DriverError};

/// Why a procedure did not come to its end.
#[derive(Debug)]
pub enum Failure<E> {
    /// The schema has another version than this program knows.
    Schema(i64),
    /// The server cannot hold an outbox.
    Unusable {
        /// What is wrong, naming the thing.
        problem: String,
        /// What to do.
        hint: &'static str,
    },
    /// A statement failed.
    Driver(E),
    /// A statement answered something unexpected.
    Row(UnexpectedRow),
}

impl<E> From<UnexpectedRow> for Failure<E> {
    fn from(row: UnexpectedRow) -> Self {
        Self::Row(row)
    }
}

/// The SQLSTATEs that mean something of their own here.
mod code {
    pub(super) const SERIALIZATION: &str = "40001";
    pub(super) const DEADLOCK: &str = "40P01";
    pub(super) const UNDEFINED_TABLE: &str = "42P01";
    pub(super) const UNDEFINED_COLUMN: &str = "42703";
    pub(super) const UNDEFINED_FUNCTION: &str = "42883";
    pub(super) const INVALID_SCHEMA: &str = "3F000";
    pub(super) const PRIVILEGE: &str = "42501";
    pub(super) const READ_ONLY: &str = "25006";
}

/// What to do about a schema of this version.
pub fn schema_hint(found: i64) -> &'static str {
    if found > POSTGRES.version() {
        "use a newer version of this program"
    } else {
        "run `outbox migrate --store ...`"
    }
}

/// Refuses any version but the one that this program knows.
///
/// # Errors
///
/// [`Failure::Schema`].
pub fn require<E>(found: i64) -> Result<(), Failure<E>> {
    if found == POSTGRES.version() {
        return Ok(());
    }
    Err(Failure::Schema(found))
}

impl<E: DriverError> Failure<E> {
    fn is(&self, codes: &[&str]) -> bool {
        match self {
            Self::Driver(error) => error.sqlstate().is_some_and(|state| codes.contains(&state)),
            Self::Schema(_) | Self::Unusable { .. } | Self::Row(_) => false,
        }
    }

    /// Whether the server ended the transaction for the sake of another: the same again may well succeed.
    pub fn is_conflict(&self) -> bool {
        self.is(&[code::SERIALIZATION, code::DEADLOCK])
    }

    /// For the relay and operator side; `what` completes "the database did not ...".
    pub fn store_error(self, what: &'static str) -> StoreError {
        if self.is_missing() {
            return Failure::<E>::Schema(0).store_error(what);
        }
        let is_forbidden = self.is(&[code::PRIVILEGE]);
        let is_read_only = self.is(&[code::READ_ONLY]);
        match self {
            Self::Schema(found) => StoreError::Schema {
                found,
                expected: POSTGRES.version(),
                hint: schema_hint(found),
            },
            Self::Unusable { problem, hint } => StoreError::Unusable { problem, hint },
            Self::Driver(error) if is_forbidden => StoreError::Unusable {
                problem: format!("the database role may not {what} ({error})"),
                hint: "give it the grants that this takes, see docs/postgres.md",
            },
            // A server that is a standby now may be the primary again soon.
            Self::Driver(error) if is_read_only => StoreError::Database {
                what: "take writes; it is read-only, such as a standby is",
                source: Box::new(error),
            },
            Self::Driver(error) => StoreError::Database {
                what,
                source: Box::new(error),
            },
            Self::Row(error) => StoreError::Database {
                what,
                source: Box::new(error),
            },
        }
    }

    /// For the writer side.
    pub fn save_error(self) -> SaveError {
        if self.is_missing() {
            return Failure::<E>::Schema(0).save_error();
        }
        let is_conflict = self.is_conflict();
        match self {
            Self::Schema(found) => SaveError::Schema {
                found,
                expected: POSTGRES.version(),
                hint: schema_hint(found),
            },
            Self::Unusable { problem, hint } => {
                SaveError::Database(format!("{problem}: {hint}").into())
            }
            Self::Driver(error) if is_conflict => SaveError::Conflict(Box::new(error)),
            Self::Driver(error) => SaveError::Database(Box::new(error)),
            Self::Row(error) => SaveError::Database(Box::new(error)),
        }
    }

    /// Whether the tables are not there, or are those of another version.
    fn is_missing(&self) -> bool {
        self.is(&[
            code::UNDEFINED_TABLE,
            code::UNDEFINED_COLUMN,
            code::UNDEFINED_FUNCTION,
            code::INVALID_SCHEMA,
        ])
    }
}
