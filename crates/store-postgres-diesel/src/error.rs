//! What diesel says when a statement fails, and the SQLSTATE behind it. Diesel keeps no SQLSTATE: it is told from the kinds that diesel knows, and else from
//! the shape of the error and the names in it, never from its words, which can be in any language.

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
    /// A table or function that a statement names is not there.
    #[error(transparent)]
    Missing(Error),
    /// The pool gave no connection.
    #[error(transparent)]
    Pool(#[from] PoolError),
}

impl DieselError {
    /// What became of this statement.
    pub(crate) fn of(text: &str, error: Error) -> Self {
        match &error {
            Error::DatabaseError(_, information) if is_missing(text, information.as_ref()) => {
                Self::Missing(error)
            }
            _ => Self::Query(error),
        }
    }

    /// Whether the server answered, so that the connection can still be used.
    pub(crate) fn is_answer(&self) -> bool {
        match self {
            Self::Query(Error::DatabaseError(kind, _)) => !matches!(
                kind,
                DatabaseErrorKind::UnableToSendCommand | DatabaseErrorKind::ClosedConnection
            ),
            Self::Missing(_) => true,
            Self::Query(_) | Self::Pool(_) => false,
        }
    }
}

impl DriverError for DieselError {
    fn sqlstate(&self) -> Option<&str> {
        let (kind, information) = match self {
            Self::Query(Error::DatabaseError(kind, information)) => (kind, information),
            Self::Missing(_) => return Some("42P01"),
            Self::Query(_) | Self::Pool(_) => return None,
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

/// The error points at a qualified name in the text and repeats it whole. Of a schema that may not be used it repeats the schema alone.
fn is_missing(text: &str, error: &dyn DatabaseErrorInformation) -> bool {
    let place = error
        .statement_position()
        .and_then(|place| usize::try_from(place).ok());
    let name = place.and_then(|place| qualified_name(text, place));
    name.is_some_and(|name| error.message().contains(&name))
}

/// The name that stands at this place, the first character being 1: a quoted schema, and what is in it. Without the quotes, as the server writes it.
fn qualified_name(text: &str, place: usize) -> Option<String> {
    let (start, _) = text.char_indices().nth(place.checked_sub(1)?)?;
    let (schema, rest) = text[start..].strip_prefix('"')?.split_once("\".")?;
    let ends = |c: char| !(c.is_ascii_lowercase() || c == '_');
    let name = rest.split(ends).next()?;
    Some(format!("{schema}.{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_qualified_name_is_read_where_the_error_points() {
        let text = "-- größer\nSELECT 1 FROM \"My.schema\".dead_letter(1)";
        assert_eq!(
            qualified_name(text, 25).as_deref(),
            Some("My.schema.dead_letter")
        );
        for elsewhere in [0, 1, 24, 26, 1000] {
            assert_eq!(qualified_name(text, elsewhere), None);
        }
    }
}
