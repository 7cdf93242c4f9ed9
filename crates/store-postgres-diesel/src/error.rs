//! What diesel says when a statement fails, and the SQLSTATE behind it. Diesel keeps no SQLSTATE: it is told from the kinds that diesel knows, and else from
//! the shape of the error, never from the words of its text, which can be in any language.

use diesel::result::{DatabaseErrorInformation, DatabaseErrorKind, Error};
use diesel_async::pooled_connection::deadpool::PoolError;
use outbox_store_postgres::DriverError;
use thiserror::Error as ThisError;

/// An error of diesel, or of the pool.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum DieselError {
    /// A statement failed, or the connection did.
    #[error(transparent)]
    Query(#[from] Error),
    /// The pool gave no connection.
    #[error(transparent)]
    Pool(#[from] PoolError),
}

impl DieselError {
    /// Whether the server answered, so that the connection can still be used.
    pub(crate) fn is_answer(&self) -> bool {
        match self {
            Self::Query(Error::DatabaseError(kind, _)) => !matches!(
                kind,
                DatabaseErrorKind::UnableToSendCommand | DatabaseErrorKind::ClosedConnection
            ),
            Self::Query(_) | Self::Pool(_) => false,
        }
    }
}

impl DriverError for DieselError {
    fn sqlstate(&self) -> Option<&str> {
        let Self::Query(Error::DatabaseError(kind, information)) = self else {
            return None;
        };
        match kind {
            DatabaseErrorKind::SerializationFailure => Some("40001"),
            DatabaseErrorKind::ReadOnlyTransaction => Some("25006"),
            DatabaseErrorKind::RestrictViolation => Some("23001"),
            DatabaseErrorKind::NotNullViolation => Some("23502"),
            DatabaseErrorKind::ForeignKeyViolation => Some("23503"),
            DatabaseErrorKind::UniqueViolation => Some("23505"),
            DatabaseErrorKind::CheckViolation => Some("23514"),
            DatabaseErrorKind::ExclusionViolation => Some("23P01"),
            DatabaseErrorKind::UnableToSendCommand | DatabaseErrorKind::ClosedConnection => None,
            _ if is_deadlock(information.as_ref()) => Some("40P01"),
            _ if is_unknown_name(information.as_ref()) => Some("42P01"),
            _ => None,
        }
    }
}

/// A deadlock stands nowhere in the text of a statement, and its details have a line for each process of the circle. Of the statements of an outbox
/// no other error is like this.
fn is_deadlock(error: &dyn DatabaseErrorInformation) -> bool {
    let processes = error.details().map_or(0, |details| details.lines().count());
    error.statement_position().is_none() && error.hint().is_some() && processes >= 2
}

/// A table or function that is not there stands at a place in the text, and is named with its schema. A schema that may not be used is named alone.
fn is_unknown_name(error: &dyn DatabaseErrorInformation) -> bool {
    let message = error.message().as_bytes();
    let is_qualified = message
        .windows(2)
        .any(|pair| matches!(pair, [b'.', next] if next.is_ascii_lowercase()));
    error.statement_position().is_some() && is_qualified
}
