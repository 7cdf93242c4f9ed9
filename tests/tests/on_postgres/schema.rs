//! A schema of its own for each test on the server of the tests, and what tests do there by plain SQL.

use std::{thread, time::Duration};

use outbox::postgres_sqlx::SchemaName;
use sqlx::{
    AssertSqlSafe, Connection, Executor, PgConnection, PgPool, SqlSafeStr, SqlStr,
    postgres::{PgConnectOptions, PgPoolOptions},
};

/// The columns that hold times, by table.
const TIMES: [(&str, &str); 5] = [
    ("lane", "lease_until"),
    ("blocked_key", "until"),
    ("scheduled", "due_at"),
    ("dead", "died_at"),
    ("destination_state", "next_probe"),
];

/// A schema that no other test has, and a pool that finds it. It is dropped in the end.
#[derive(Debug)]
pub(crate) struct TestSchema {
    pub(crate) name: SchemaName,
    pub(crate) pool: PgPool,
    /// How the names of this test's sessions begin.
    pub(crate) application: String,
    options: PgConnectOptions,
}

impl TestSchema {
    /// A schema in the database, and with the sessions, that these options name.
    pub(crate) fn at(options: PgConnectOptions) -> Self {
        let number: u64 = rand::random();
        let application = format!("outbox-test-{number:016x}");
        let options = options.application_name(&application);
        Self {
            // What a schema may be called: mixed case, characters that must be quoted, more bytes than characters.
            name: format!("Größe of-{number:016x}.select").parse().unwrap(),
            pool: pool(options.clone(), 10),
            application,
            options,
        }
    }

    /// A pool of its own, whose sessions bear a name of their own behind that of the test.
    pub(crate) fn pool_of(&self, name: &str, max_connections: u32) -> PgPool {
        let name = format!("{}-{name}", self.application);
        pool(
            self.options.clone().application_name(&name),
            max_connections,
        )
    }

    /// The statement, in which `outbox.` stands for this schema.
    pub(crate) fn sql(&self, statement: &str) -> SqlStr {
        AssertSqlSafe(self.name.apply(statement)).into_sql_str()
    }

    pub(crate) async fn run(&self, statements: &str) {
        let done = self.pool.execute(sqlx::raw_sql(self.sql(statements)));
        done.await.unwrap();
    }

    pub(crate) async fn count(&self, statement: &str) -> i64 {
        let count = sqlx::query_scalar(self.sql(statement)).fetch_one(&self.pool);
        count.await.unwrap()
    }

    /// The server's clock, in milliseconds since 1970-01-01 UTC.
    pub(crate) async fn now_ms(&self) -> i64 {
        self.count("SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint")
            .await
    }

    /// Lets time pass: every time that stands in a row moves back. What lasts until infinity stays.
    pub(crate) async fn advance(&self, by: Duration) {
        let by = by.as_millis();
        let shifts = TIMES.map(|(table, column)| {
            format!("UPDATE outbox.{table} SET {column} = {column} - {by} * interval '1 ms';")
        });
        // Whoever changes rows of a lane locks it first; this changes rows of all of them.
        self.run(&format!(
            "BEGIN; SELECT FROM outbox.lane ORDER BY lane FOR UPDATE; {} COMMIT",
            shifts.concat()
        ))
        .await;
    }
}

impl Drop for TestSchema {
    /// The runtime of a test may be on its way out, and transactions still open: a thread ends its sessions and drops the schema.
    fn drop(&mut self) {
        let (drop, application, options) = (
            format!("DROP SCHEMA IF EXISTS {} CASCADE", self.name.quoted()),
            self.application.clone(),
            self.options.clone().application_name("outbox-test-cleaner"),
        );
        let cleaned = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime
                .block_on(clean_up(&drop, &application, &options))
                .ok();
        });
        cleaned.join().ok();
    }
}

async fn clean_up(
    drop: &str,
    application: &str,
    options: &PgConnectOptions,
) -> Result<(), sqlx::Error> {
    let mut connection = PgConnection::connect_with(options).await?;
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE starts_with(application_name, $1)";
    let ended = sqlx::query(end).bind(application).execute(&mut connection);
    ended.await?;
    let settings = "SET lock_timeout = '10s'; SET client_min_messages = warning";
    connection.execute(sqlx::raw_sql(settings)).await?;
    let drop = AssertSqlSafe(drop.to_owned());
    connection.execute(sqlx::raw_sql(drop)).await?;
    connection.close().await
}

/// Where the server of the tests is.
pub(crate) fn server_url() -> String {
    std::env::var("OUTBOX_TEST_POSTGRES").unwrap_or_else(|_| {
        panic!("OUTBOX_TEST_POSTGRES names no database: run `cargo xtask test`, which finds or starts a server")
    })
}

/// How to reach it.
pub(crate) fn server() -> PgConnectOptions {
    server_url().parse().unwrap()
}

/// A pool that connects when it is used. Many tests share one server.
fn pool(options: PgConnectOptions, max_connections: u32) -> PgPool {
    PgPoolOptions::new()
        .max_connections(max_connections)
        .connect_lazy_with(options)
}
