//! The suite once more, through a pooler: this program runs itself again on a server of its own behind a pgbouncer in transaction mode. That builds
//! nothing twice, and belongs to every run of the suite.

use std::{env, process::Command};

use outbox_store_postgres_sqlx::Connection;
use outbox_test_servers::{Options, PgBouncer, Postgres};
use sqlx::{
    PgPool,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use crate::schema::TestSchema;

/// Names the pooler, and is set only for the run through it.
const POOLER: &str = "OUTBOX_TEST_POOLER";

/// Sessions of the server, for all clients. Two tests run at once, and each may hold several transactions open.
const SERVER_SESSIONS: u32 = 8;

/// Clients of each test.
const CLIENTS: u32 = 16;

/// How the stores of this run reach their server.
pub(crate) async fn pool(schema: &TestSchema) -> (PgPool, Connection) {
    let Ok(url) = env::var(POOLER) else {
        return (schema.pool.clone(), Connection::Direct);
    };
    let options: PgConnectOptions = url.parse().unwrap();
    let pool = PgPoolOptions::new()
        .max_connections(CLIENTS)
        .connect_lazy_with(options);
    // All of them are there from the beginning, and then take turns, so that hardly a transaction has the session of the one before.
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        clients.push(pool.acquire().await.unwrap());
    }
    drop(clients);
    (pool, Connection::Pooler)
}

#[test]
fn the_suite_passes_through_a_pooler() {
    let postgres = Postgres::find().unwrap();
    let cluster = postgres.start(Options::default()).unwrap();
    let pooler = PgBouncer::start(&cluster, SERVER_SESSIONS).unwrap();
    let suite = Command::new(env::current_exe().unwrap())
        .args(["--skip", "the_suite_passes_through_a_pooler"])
        .args(["--test-threads", "2"])
        .env("OUTBOX_TEST_POSTGRES", cluster.url("postgres"))
        .env(POOLER, pooler.url("postgres"))
        .env("OUTBOX_PROPTEST_CASES", "20")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&suite.stdout);
    assert!(suite.status.success(), "{said}");
    let stats = postgres.sql(&pooler.url("pgbouncer"), "SHOW STATS");
    let stats = stats.unwrap();
    let transactions = stats.lines().find_map(|line| {
        let mut cells = line.split('|');
        cells.next().filter(|database| *database == "postgres")?;
        cells.next()?.parse::<u64>().ok()
    });
    assert!(
        transactions > Some(1_000),
        "it went through the pooler: {stats}"
    );
}
