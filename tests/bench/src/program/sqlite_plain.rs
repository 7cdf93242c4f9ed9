//! A plain queue in an SQLite file: the ceiling of SQLite, as `plain.rs` is that of Postgres. Each batch is two write
//! transactions, one that leases and one that deletes; nothing is held while the broker would be waited for.

use sqlx::{AssertSqlSafe, Row, SqlitePool};

use super::{sqlite, told};
use crate::{Result, template::Fill};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    url: String,
    #[arg(long)]
    batch: i64,
}

const TABLE: &str = "CREATE TABLE queue (
    id INTEGER PRIMARY KEY,
    topic TEXT NOT NULL,
    key TEXT,
    payload BLOB NOT NULL,
    leased_until INTEGER
  ) STRICT";

const LEASE: &str = "UPDATE queue
  SET leased_until = unixepoch() + 30
  WHERE id IN (
    SELECT q.id
    FROM queue q
    WHERE q.leased_until IS NULL
      OR q.leased_until < unixepoch()
    ORDER BY q.id
    LIMIT ?1
  )
  RETURNING id, topic, key, payload";

const DELETE: &str = "DELETE FROM queue
  WHERE id IN (SELECT value FROM json_each(?1))";

/// Fills a new file with the queue.
pub(crate) async fn fill(url: &str, fill: Fill) -> Result {
    let pool = sqlite::create(url).await?;
    let Fill { messages, keys, .. } = fill;
    let payload = sqlite::payload("' || n || '", fill.payload);
    let rows = format!(
        "WITH RECURSIVE numbers (n) AS (
           SELECT 1
           UNION ALL
           SELECT n + 1
           FROM numbers
           WHERE n < {messages}
         )
         INSERT INTO queue (topic, key, payload)
         SELECT 'orders', CASE WHEN {keys} > 0 THEN 'order-' || n % max({keys}, 1) END, CAST('{payload}' AS BLOB)
         FROM numbers"
    );
    for sql in [TABLE, &rows] {
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&pool).await?;
    }
    sqlite::complete(pool).await
}

pub(crate) async fn run(args: Args) -> Result {
    let pool = sqlite::pool(&args.url, 1).await?;
    // Prepares the statements, and takes nothing.
    take(&pool, 0).await?;
    told::ready()?;
    let ended = told::until_end();
    tokio::pin!(ended);
    let mut found = true;
    loop {
        // Between any two batches: there may be more than is waited for.
        tokio::select! {
            biased;
            () = &mut ended => return Ok(()),
            () = told::pause(found) => {}
        }
        let taken = take(&pool, args.batch).await?;
        found = taken > 0;
        if found {
            told::done(taken)?;
        }
    }
}

/// Takes a batch, and reads it as one that is published would be read.
async fn take(pool: &SqlitePool, batch: i64) -> Result<usize> {
    let mut tx = pool.begin_with("BEGIN IMMEDIATE").await?;
    let rows = sqlx::query(LEASE).bind(batch).fetch_all(&mut *tx).await?;
    tx.commit().await?;
    let mut read = 0;
    let mut ids = Vec::with_capacity(rows.len());
    for row in &rows {
        read += row.try_get::<&[u8], _>("payload")?.len();
        ids.push(row.try_get::<i64, _>("id")?);
    }
    std::hint::black_box(read);
    let ids = serde_json::to_string(&ids)?;
    let mut tx = pool.begin_with("BEGIN IMMEDIATE").await?;
    sqlx::query(DELETE).bind(ids).execute(&mut *tx).await?;
    tx.commit().await?;
    Ok(rows.len())
}
