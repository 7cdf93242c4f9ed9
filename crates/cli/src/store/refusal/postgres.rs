//! What the SQLSTATEs of Postgres mean, and why a server cannot be reached.

use sqlx::{error::DatabaseError, postgres::PgDatabaseError};

use super::Meaning;
use crate::{
    exit::Exit,
    failure::{Failure, chain},
};

/// Whom a command wanted to reach, as far as it may be shown.
#[derive(Debug)]
pub(in crate::store) struct Server {
    pub(in crate::store) address: String,
    pub(in crate::store) database: String,
    pub(in crate::store) role: String,
    pub(in crate::store) schema: String,
}

/// What an answer of Postgres means.
pub(super) fn meaning(answer: &dyn DatabaseError) -> Option<Meaning> {
    of_state(answer.try_downcast_ref::<PgDatabaseError>()?.code())
}

/// What a SQLSTATE means. Only what passes by itself, or by making room, is worth trying again.
fn of_state(state: &str) -> Option<Meaning> {
    Some(match state {
        "25006" => (
            Exit::Busy,
            "the server takes no writes, such as a standby does not",
            "nothing was lost; name the primary, or try again when this one is it",
        ),
        "28000" | "28P01" => (
            Exit::Store,
            "the server refused the role or its password",
            "check both, and the server's pg_hba.conf",
        ),
        "3D000" | "57P04" => (
            Exit::Store,
            "the database is not there",
            "check its name, or make it: createdb",
        ),
        "42501" => (
            Exit::Store,
            "the database role may not do this",
            "give it the grants that docs/postgres.md lists",
        ),
        "53100" => (
            Exit::Busy,
            "the server's disk is full",
            "nothing was lost; make room and try again",
        ),
        "53300" => (
            Exit::Busy,
            "the server has no connection left",
            "nothing was lost; try again, or see its max_connections",
        ),
        "40001" | "40P01" | "55P03" => (
            Exit::Busy,
            "another transaction was in the way",
            "nothing was lost; try again",
        ),
        "57014" => (
            Exit::Busy,
            "it took longer than its statement_timeout",
            "nothing was lost; try again when the server has less to do",
        ),
        "57P01" | "57P02" | "57P03" => (
            Exit::Busy,
            "the server is stopping or starting",
            "nothing was lost; try again",
        ),
        _ if state.starts_with("08") => LOST,
        _ => return None,
    })
}

const LOST: Meaning = (
    Exit::Busy,
    "the connection to the server was lost",
    "what was committed is there; check with outbox status, and try again",
);

/// What it means that there was no answer.
pub(super) fn lost(error: &sqlx::Error) -> Option<Meaning> {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed => Some(LOST),
        _ => None,
    }
}

/// Why no session with the server came about; without an error it did not answer in time.
pub(in crate::store) fn unreachable(error: Option<&sqlx::Error>, server: &Server) -> Failure {
    let Server {
        address,
        database,
        role,
        ..
    } = server;
    let what = format!("the server at {address}");
    match error {
        None => Failure::new(Exit::Busy, format!("{what} does not answer"))
            .hint("check host and port; or wait longer with --busy-timeout"),
        Some(sqlx::Error::Io(error)) => {
            Failure::new(Exit::Busy, format!("{what} cannot be reached: {error}"))
                .hint("check host and port, and that the server runs")
        }
        Some(sqlx::Error::Database(answer)) => {
            let what = match answer.code().as_deref() {
                Some("28000" | "28P01") => {
                    format!("{what} refused the role {role} or its password")
                }
                Some("3D000") => format!("{what} has no database {database}"),
                _ => format!("{what} refused: {}", answer.message()),
            };
            match meaning(&**answer) {
                Some((exit, _, hint)) => Failure::new(exit, what).hint(hint),
                None => Failure::new(Exit::Store, what),
            }
        }
        Some(error @ sqlx::Error::Tls(_)) => {
            let what = format!("{what} cannot be reached by TLS: {}", chain(error));
            Failure::new(Exit::Store, what).hint("see sslmode and sslrootcert in docs/postgres.md")
        }
        Some(error) => Failure::new(
            Exit::Broken,
            format!("{what} cannot be used: {}", chain(error)),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_pass_is_worth_trying_again() {
        for state in ["40001", "53300", "57P03", "08006", "25006"] {
            assert_eq!(of_state(state).unwrap().0, Exit::Busy, "{state}");
        }
        for state in ["28P01", "3D000", "42501"] {
            assert_eq!(of_state(state).unwrap().0, Exit::Store, "{state}");
        }
        assert!(of_state("23505").is_none());
    }
}
