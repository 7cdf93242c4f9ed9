//! Fills databases for this outbox by plain SQL. What the rows mean stands in the migrations.

use outbox::postgres_sqlx::PostgresStore;
use sqlx::{AssertSqlSafe, PgPool, postgres::PgPoolOptions};

use crate::{Result, template::Fill};

/// The payload of message `n` in SQL, about so many bytes, the same in every system that takes bytes.
pub(crate) fn payload(bytes: u64) -> String {
    let filler = bytes.saturating_sub(60);
    format!(
        "convert_to('{{\"number\":' || n || ',\"total\":9900,\"currency\":\"EUR\",\"note\":\"' || repeat('x', {filler}) || '\"}}', 'UTF8')"
    )
}

/// The topic of all messages.
pub(crate) const TOPIC: &str = "orders";

/// Fills a new database with the schema and messages.
pub(crate) async fn fill(url: &str, fill: Fill) -> Result {
    let pool = PgPoolOptions::new().max_connections(2).connect(url).await?;
    PostgresStore::migrate(&pool).await?;
    if fill.published > 0 {
        execute(&pool, &published(fill.published, fill.payload)).await?;
    }
    if fill.waiting > 0 {
        for sql in waiting(fill.waiting, fill.payload) {
            execute(&pool, &sql).await?;
        }
    }
    if fill.messages > 0 {
        execute(&pool, &line(fill.messages, fill.keys, fill.payload)).await?;
    }
    execute(&pool, "VACUUM (ANALYZE)").await?;
    pool.close().await;
    Ok(())
}

async fn execute(pool: &PgPool, sql: &str) -> Result {
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(pool).await?;
    Ok(())
}

/// Spread over the lanes as a saver does it.
pub(crate) fn line(messages: u64, keys: u64, bytes: u64) -> String {
    format!(
        "INSERT INTO outbox.message (lane, id, topic, key, payload)
         SELECT coalesce(outbox.lane_of('{TOPIC}', n.key), n.n % 64), outbox.new_id(), '{TOPIC}', n.key, {payload}
         FROM (
           SELECT n, CASE WHEN {keys} > 0 THEN 'order-' || n % greatest({keys}, 1) END AS key
           FROM generate_series(1, {messages}) AS n
         ) AS n",
        payload = payload(bytes).replace("|| n ||", "|| n.n ||"),
    )
}

/// Messages of one key whose head was tried and waits for an hour.
fn waiting(messages: u64, bytes: u64) -> [String; 2] {
    let (key, payload) = ("waits", payload(bytes));
    [
        format!(
            "INSERT INTO outbox.waiting (position, lane, id, topic, key, attempts, tries, saved_at, payload)
             SELECT outbox.next_position(), outbox.lane_of('{TOPIC}', '{key}'), outbox.new_id(), '{TOPIC}', '{key}',
               (n = 1)::int, (n = 1)::int, now(), {payload}
             FROM generate_series(1, {messages}) AS n"
        ),
        format!(
            "INSERT INTO outbox.blocked_key (lane, topic, key, until, reason, position)
             SELECT outbox.lane_of('{TOPIC}', '{key}'), '{TOPIC}', '{key}', now() + interval '1 day', 'retry', min(position)
             FROM outbox.waiting"
        ),
    ]
}

/// Published messages that are kept.
fn published(messages: u64, bytes: u64) -> String {
    let payload = payload(bytes);
    format!(
        "INSERT INTO outbox.published
           (position, attempts, tries, saved_at, published_at, lane, id, topic, key, payload)
         SELECT outbox.next_position(), 0, 1, now(), now(), n % 64, outbox.new_id(), '{TOPIC}', 'order-' || n % 5000, {payload}
         FROM generate_series(1, {messages}) AS n"
    )
}
