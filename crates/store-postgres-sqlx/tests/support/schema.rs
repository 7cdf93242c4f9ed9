//! A schema of its own for each test, and what tests do to its rows by plain SQL. The tables are made by the store under test; nothing here knows one.

use std::{
    sync::atomic::{AtomicI64, Ordering},
    thread,
    time::Duration,
};

use outbox_message::{Delivery, Lane, Lanes, Position};
use outbox_migrations::SchemaName;
use outbox_store::adapter::RawMessage;
use outbox_testkit::Corruption;
use sqlx::{
    AssertSqlSafe, ConnectOptions, Connection, Executor, PgConnection, PgPool, Row, SqlSafeStr,
    SqlStr,
    postgres::{PgConnectOptions, PgPoolOptions, PgRow},
};

/// How many lanes the tables have.
const LANES: Lanes = Lanes::new(64).expect("64 is not zero");

/// When a message is due that a stop set aside.
const FAR: &str = "'200000-01-01 00:00:00+00'";

/// The tables of pending messages.
const PENDING: [&str; 3] = ["outbox.message", "outbox.waiting", "outbox.scheduled"];

/// Names a schema that no other test has, and a pool that finds the server. The schema is dropped in the end.
#[derive(Debug)]
pub(crate) struct TestSchema {
    pub(crate) name: SchemaName,
    pub(crate) pool: PgPool,
    /// What the server calls this test's sessions, or how their names begin.
    pub(crate) application: String,
    /// The time that was let pass, in milliseconds.
    passed: AtomicI64,
}

impl TestSchema {
    pub(crate) fn new() -> Self {
        let number: u64 = rand::random();
        // What a schema may be called: mixed case, characters that must be quoted, more bytes than characters.
        Self::named(&format!("Größe of-{number:016x}.select"))
    }

    pub(crate) fn named(name: &str) -> Self {
        let application = format!("outbox-test-{:016x}", rand::random::<u64>());
        let pool = pool(server().application_name(&application));
        Self {
            name: name.parse().unwrap(),
            pool,
            application,
            passed: AtomicI64::new(0),
        }
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

    pub(crate) async fn now_ms(&self) -> i64 {
        self.count("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint")
            .await
    }

    /// Lets time pass: every time that stands in a row moves back. What lasts until infinity stays.
    pub(crate) async fn advance(&self, by: Duration) {
        let by = i64::try_from(by.as_millis()).unwrap();
        self.passed.fetch_add(by, Ordering::Relaxed);
        self.run(&shift(by, "true")).await;
    }

    /// How many milliseconds passed so far.
    pub(crate) fn passed(&self) -> i64 {
        self.passed.load(Ordering::Relaxed)
    }

    /// What an open transaction runs before it commits, so that what it wrote catches up with the time that passed since, of which it saw nothing.
    pub(crate) fn catch_up(&self, since: i64) -> String {
        let own = "xmin = pg_current_xact_id()::xid";
        self.name.apply(&shift(self.passed() - since, own))
    }

    /// Spoils the pending message at `position`, as a writer could if the tables did not forbid it.
    pub(crate) async fn corrupt(&self, position: Position, how: Corruption) {
        let spoil = match how {
            Corruption::Id => "id = ''",
            Corruption::Topic => "topic = U&'\\0085'",
            Corruption::Headers => "headers = '{}'",
            Corruption::Lane => "lane = (lane + 1) % 64",
            other => panic!("the harness cannot spoil a row by {other:?}"),
        };
        self.forget_checks().await;
        self.change(
            position,
            &format!("UPDATE {{table}} SET {spoil} WHERE position = $1"),
        )
        .await;
    }

    /// Deletes the row of the pending message at `position` and nothing else.
    pub(crate) async fn delete(&self, position: Position) {
        self.change(position, "DELETE FROM {table} WHERE position = $1")
            .await;
    }

    /// Sets the counters of the pending message at `position`.
    pub(crate) async fn set_counts(&self, position: Position, attempts: u32, tries: u32) {
        let set = format!(
            "UPDATE {{table}} SET attempts = {attempts}, tries = {tries} WHERE position = $1"
        );
        self.change(position, &set).await;
    }

    /// The published messages that are kept, by position.
    pub(crate) async fn published(&self) -> Vec<Delivery> {
        let rows = sqlx::query(self.sql(
            "SELECT lane, position, attempts, tries, id, topic, key, content_type, headers::text AS headers, payload
             FROM outbox.published
             ORDER BY position",
        ));
        let rows = rows.fetch_all(&self.pool).await.unwrap();
        rows.iter().map(published).collect()
    }

    /// How many of this test's sessions are inside a transaction.
    pub(crate) async fn open_transactions(&self) -> i64 {
        let count = sqlx::query_scalar(
            "SELECT count(*) FROM pg_stat_activity
             WHERE starts_with(application_name, $1) AND xact_start IS NOT NULL AND pid <> pg_backend_pid()",
        );
        let count = count.bind(&self.application).fetch_one(&self.pool);
        count.await.unwrap()
    }

    async fn change(&self, position: Position, statement: &str) {
        let mut changed = 0;
        for table in PENDING {
            let statement = self.sql(&statement.replace("{table}", table));
            let done = sqlx::query(statement).bind(position.0).execute(&self.pool);
            changed += done.await.unwrap().rows_affected();
        }
        assert_eq!(changed, 1, "position {} is pending", position.0);
    }

    async fn forget_checks(&self) {
        let checks = sqlx::query_scalar(
            "SELECT format('ALTER DOMAIN %s DROP CONSTRAINT %I', contypid::regtype, conname)
             FROM pg_constraint
             JOIN pg_namespace ON pg_namespace.oid = connamespace
             WHERE contype = 'c' AND contypid <> 0 AND nspname = $1",
        );
        let checks: Vec<String> = checks
            .bind(self.name.as_str())
            .fetch_all(&self.pool)
            .await
            .unwrap();
        for check in checks {
            let dropped = self.pool.execute(sqlx::raw_sql(AssertSqlSafe(check)));
            dropped.await.unwrap();
        }
    }
}

impl Drop for TestSchema {
    /// The runtime of a test may be on its way out, and transactions still open: a thread ends its sessions and drops the schema.
    fn drop(&mut self) {
        let (drop, application) = (
            format!("DROP SCHEMA IF EXISTS {} CASCADE", self.name.quoted()),
            self.application.clone(),
        );
        let cleaned = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(clean_up(&drop, &application)).ok();
        });
        cleaned.join().ok();
    }
}

/// Moves the times of these rows back, in ms.
fn shift(by: i64, rows: &str) -> String {
    let columns = [
        ("outbox.lane", &["lease_until"][..]),
        ("outbox.message", &["saved_at"]),
        ("outbox.scheduled", &["saved_at", "due_at"]),
        ("outbox.waiting", &["saved_at"]),
        ("outbox.dead", &["saved_at", "died_at"]),
        ("outbox.published", &["saved_at", "published_at"]),
        ("outbox.blocked_key", &["until"]),
        ("outbox.saved_id", &["expires_at"]),
        ("outbox.inbox", &["handled_at"]),
        ("outbox.destination_state", &["open_since", "next_probe"]),
        ("outbox.topic_state", &["stopped_at", "until"]),
        ("outbox.upkeep", &["done_at"]),
    ];
    let update = columns.iter().map(|(table, columns)| {
        let moved = |column: &&str| match *column {
            // What a stop set aside is due at no time.
            "due_at" => format!(
                "due_at = CASE WHEN due_at = {FAR} THEN due_at ELSE due_at - {by} * interval '1 ms' END"
            ),
            column => format!("{column} = {column} - {by} * interval '1 ms'"),
        };
        let set: Vec<String> = columns.iter().map(moved).collect();
        format!("UPDATE {table} SET {} WHERE {rows};", set.join(", "))
    });
    update.collect()
}

fn published(row: &PgRow) -> Delivery {
    let lane = Lane(u16::try_from(row.get::<i16, _>("lane")).unwrap());
    let count = |name| u32::try_from(row.get::<i64, _>(name)).unwrap();
    let text = |name| row.get::<Option<String>, _>(name).map(Into::into);
    let raw = RawMessage {
        lane,
        id: text("id").unwrap(),
        topic: text("topic").unwrap(),
        key: text("key"),
        headers: text("headers"),
        content_type: text("content_type"),
        payload: row.get::<Vec<u8>, _>("payload").into(),
    };
    Delivery {
        lane,
        position: Position(row.get("position")),
        attempts: count("attempts"),
        tries: count("tries"),
        starts: 0,
        message: raw.decode(LANES).unwrap(),
    }
}

async fn clean_up(drop: &str, application: &str) -> Result<(), sqlx::Error> {
    let mut connection: PgConnection = server().connect().await?;
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE starts_with(application_name, $1)";
    let ended = sqlx::query(end).bind(application).execute(&mut connection);
    ended.await?;
    connection
        .execute(sqlx::raw_sql(
            "SET lock_timeout = '10s'; SET client_min_messages = warning",
        ))
        .await?;
    connection
        .execute(sqlx::raw_sql(AssertSqlSafe(drop)))
        .await?;
    connection.close().await
}

/// How to reach the server of the tests.
pub(crate) fn server() -> PgConnectOptions {
    let url = std::env::var("OUTBOX_TEST_POSTGRES").unwrap_or_else(|_| {
        panic!("OUTBOX_TEST_POSTGRES names no database: run `cargo xtask test`, which finds or starts a server")
    });
    url.parse().unwrap()
}

/// A pool that connects when it is used. Many tests share one server.
pub(crate) fn pool(options: PgConnectOptions) -> PgPool {
    PgPoolOptions::new()
        .max_connections(5)
        .connect_lazy_with(options)
}
