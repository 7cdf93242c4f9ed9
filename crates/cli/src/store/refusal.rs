//! Why a store refused, in plain words: the exit code, what happened, and what to do. Opening a store is not here.

mod postgres;
mod sqlite;

use std::error::Error;

use outbox::store::{SaveError, StoreError};

pub(super) use self::postgres::{Server, unreachable};
use crate::{
    exit::Exit,
    failure::{Failure, chain},
};

/// Why the store did not do what was asked.
pub(crate) fn failure(error: &StoreError) -> Failure {
    match error {
        StoreError::Database { .. } => explain(error, "the store failed"),
        StoreError::Schema {
            found,
            expected,
            hint,
        } => other_schema(*found, *expected, hint),
        StoreError::Unusable { problem, hint } => Failure::new(Exit::Store, problem).hint(*hint),
        StoreError::DeadLetterNeedsInbox { .. } => Failure::caused(Exit::Store, error),
        _ => Failure::caused(Exit::Broken, error),
    }
}

/// Why messages were not saved.
pub(crate) fn save_failure(error: &SaveError) -> Failure {
    match error {
        SaveError::Invalid(_) => Failure::caused(Exit::Input, error),
        SaveError::Schema {
            found,
            expected,
            hint,
        } => other_schema(*found, *expected, hint),
        _ => explain(error, "the messages were not saved"),
    }
}

fn other_schema(found: i64, expected: i64, hint: &str) -> Failure {
    let what = match found {
        0 => "the database has no outbox tables".to_owned(),
        _ => {
            format!("the outbox schema has version {found}, this program needs version {expected}")
        }
    };
    Failure::new(Exit::Store, what).hint(hint)
}

/// What an error of a database means: the exit code, why, and what to do.
type Meaning = (Exit, &'static str, &'static str);

/// Why the database refused, by its own code.
pub(crate) fn explain(error: &(dyn Error + 'static), what: &str) -> Failure {
    let meaning = driver_error(error).and_then(|error| match error {
        sqlx::Error::Database(answer) => {
            sqlite::meaning(&**answer).or_else(|| postgres::meaning(&**answer))
        }
        other => postgres::lost(other),
    });
    match meaning {
        Some((exit, why, hint)) => Failure::new(exit, format!("{what}: {why}")).hint(hint),
        None => Failure::new(Exit::Broken, format!("{what}: {}", chain(error))),
    }
}

/// The driver's error, wherever it is among the sources.
fn driver_error<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e sqlx::Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<sqlx::Error>() {
            return Some(error);
        }
        if let Some(error) = error.downcast_ref::<outbox::postgres_sqlx::SqlxError>() {
            return Some(&error.0);
        }
        next = error.source();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_told_as_it_is() {
        let unknown = explain(&sqlx::Error::RowNotFound, "it failed");
        assert_eq!(unknown.exit, Exit::Broken);
    }
}
