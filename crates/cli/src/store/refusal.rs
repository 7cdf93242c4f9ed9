//! Why a store refused, in plain words: the exit code, what happened, and what to do. Opening a store is not here.

use std::error::Error;

use outbox::store::{SaveError, StoreError};

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

/// Why the database refused, by its own code.
pub(crate) fn explain(error: &(dyn Error + 'static), what: &str) -> Failure {
    match sqlite_code(error).and_then(meaning) {
        Some((exit, why, hint)) => Failure::new(exit, format!("{what}: {why}")).hint(hint),
        None => Failure::new(Exit::Broken, format!("{what}: {}", chain(error))),
    }
}

/// What a primary result code means: the exit code, why, and what to do. Only what passes by itself, or by making room,
/// is worth trying again.
fn meaning(code: i32) -> Option<(Exit, &'static str, &'static str)> {
    Some(match code {
        5 | 6 => (
            Exit::Busy,
            "the database is locked by another process",
            "nothing was lost; try again, or wait longer with --busy-timeout",
        ),
        8 => (
            Exit::Store,
            "the database is read-only",
            "make the file and its folder writable",
        ),
        10 => (
            Exit::Busy,
            "the disk cannot be read or written",
            "nothing was lost; check the disk and try again",
        ),
        11 => (
            Exit::Store,
            "the database file is damaged",
            "stop every program that uses it and restore it from a backup",
        ),
        13 => (
            Exit::Busy,
            "the disk is full",
            "nothing was lost; make room and try again",
        ),
        3 | 14 => (
            Exit::Store,
            "the database file cannot be opened",
            "check the permissions of the file and of its folder",
        ),
        26 => (
            Exit::Store,
            "the file is not an SQLite database",
            "check the path; nothing was changed",
        ),
        _ => return None,
    })
}

/// The primary result code of SQLite, wherever it is among the sources.
fn sqlite_code(error: &(dyn Error + 'static)) -> Option<i32> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(sqlx::Error::Database(database)) = error.downcast_ref() {
            let code: i32 = database.code()?.parse().ok()?;
            return Some(code & 0xFF);
        }
        next = error.source();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_pass_is_worth_trying_again() {
        let busy: Vec<i32> = (0..=101)
            .filter(|code| meaning(*code).is_some_and(|(exit, ..)| exit == Exit::Busy))
            .collect();
        assert_eq!(busy, [5, 6, 10, 13]);
        let unknown = explain(&sqlx::Error::RowNotFound, "it failed");
        assert_eq!(unknown.exit, Exit::Broken);
    }
}
