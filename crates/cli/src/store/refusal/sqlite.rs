//! What the result codes of SQLite mean.

use sqlx::{error::DatabaseError, sqlite::SqliteError};

use super::Meaning;
use crate::exit::Exit;

/// What an answer of SQLite means.
pub(super) fn meaning(answer: &dyn DatabaseError) -> Option<Meaning> {
    let error = answer.try_downcast_ref::<SqliteError>()?;
    let code: i32 = error.code()?.parse().ok()?;
    of_code(code & 0xFF)
}

/// What a primary result code means: the exit code, why, and what to do. Only what passes by itself, or by making room,
/// is worth trying again.
fn of_code(code: i32) -> Option<Meaning> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_pass_is_worth_trying_again() {
        let busy: Vec<i32> = (0..=101)
            .filter(|code| of_code(*code).is_some_and(|(exit, ..)| exit == Exit::Busy))
            .collect();
        assert_eq!(busy, [5, 6, 10, 13]);
    }
}
