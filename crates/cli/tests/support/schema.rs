//! A schema of its own for each test, on the server that `OUTBOX_TEST_POSTGRES` names. It is dropped at the end.

use std::{
    env, process,
    sync::atomic::{AtomicU32, Ordering},
};

use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::runtime::{Builder, Runtime};

pub(crate) struct Schema {
    pub(crate) url: String,
    pub(crate) name: String,
}

/// A connection that a test keeps open.
pub(crate) struct Session {
    runtime: Runtime,
    connection: PgConnection,
}

impl Schema {
    /// A name that no other test has; the program is to make it.
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Self {
            url: url(),
            name: format!("cli {} {number}", process::id()),
        }
    }

    /// Runs statements that find the tables of the schema.
    pub(crate) fn sql(&self, statements: &str) {
        self.session().sql(statements);
    }

    /// A session that finds the tables of the schema.
    pub(crate) fn session(&self) -> Session {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let connection = runtime.block_on(PgConnection::connect(&self.url)).unwrap();
        let mut session = Session {
            runtime,
            connection,
        };
        session.sql(&format!("set search_path to \"{}\"", self.name));
        session
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        self.sql(&format!("drop schema if exists \"{}\" cascade", self.name));
    }
}

impl Session {
    pub(crate) fn sql(&mut self, statements: &str) {
        let statements = AssertSqlSafe(statements.to_owned());
        let done = sqlx::raw_sql(statements).execute(&mut self.connection);
        self.runtime.block_on(done).unwrap();
    }

    /// The one number that a statement answers.
    pub(crate) fn number(&mut self, statement: &str) -> i64 {
        let statement = AssertSqlSafe(statement.to_owned());
        let number = sqlx::query_scalar(statement).fetch_one(&mut self.connection);
        self.runtime.block_on(number).unwrap()
    }
}

/// The server for tests.
pub(crate) fn url() -> String {
    env::var("OUTBOX_TEST_POSTGRES")
        .expect("OUTBOX_TEST_POSTGRES names no server: run cargo xtask test")
}
