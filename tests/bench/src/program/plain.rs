//! A plain queue on Postgres: first in, first out, no order of keys, no retries, no dead letters. The ceiling: what is left
//! when everything that this outbox promises beyond "at least once" is taken away.

use sqlx::{AssertSqlSafe, Connection, PgConnection, PgPool, Row, postgres::PgPoolOptions};

use super::told;
use crate::{Result, template::Fill};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    url: String,
    #[arg(long)]
    batch: i64,
    /// Claims and deletes in one transaction, which is open while the broker would be waited for.
    #[arg(long)]
    held: bool,
}

const TABLE: &str = "CREATE TABLE queue (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    topic text NOT NULL,
    key text,
    payload bytea NOT NULL,
    leased_until timestamptz
  )";

const LEASE: &str = "UPDATE queue
  SET leased_until = clock_timestamp() + interval '30 s'
  WHERE id IN (
    SELECT q.id
    FROM queue q
    WHERE q.leased_until IS NULL
      OR q.leased_until < now()
    ORDER BY q.id
    LIMIT $1
    FOR UPDATE SKIP LOCKED
  )
  RETURNING id, topic, key, payload";

const TAKE: &str = "DELETE FROM queue
  WHERE id IN (
    SELECT q.id
    FROM queue q
    ORDER BY q.id
    LIMIT $1
    FOR UPDATE SKIP LOCKED
  )
  RETURNING id, topic, key, payload";

/// Fills a new database with the queue.
pub(crate) async fn fill(url: &str, fill: Fill) -> Result {
    let mut connection = PgConnection::connect(url).await?;
    for sql in [
        TABLE,
        &format!(
            "INSERT INTO queue (topic, key, payload)
             SELECT 'orders', CASE WHEN {keys} > 0 THEN 'order-' || n % greatest({keys}, 1) END, {payload}
             FROM generate_series(1, {messages}) AS n",
            keys = fill.keys,
            messages = fill.messages,
            payload = super::outbox_tables::payload(fill.payload),
        ),
        "VACUUM (ANALYZE) queue",
    ] {
        sqlx::raw_sql(AssertSqlSafe(sql))
            .execute(&mut connection)
            .await?;
    }
    Ok(connection.close().await?)
}

pub(crate) async fn run(args: Args) -> Result {
    let pool = PgPoolOptions::new()
        .max_connections(2)
        .min_connections(2)
        .connect(&args.url)
        .await?;
    // Prepares the statements, and takes nothing.
    for _ in 0..12 {
        take(&pool, &args, 0).await?;
    }
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
        let taken = take(&pool, &args, args.batch).await?;
        found = taken > 0;
        if found {
            told::done(taken)?;
        }
    }
}

/// Takes a batch, and reads it as one that is published would be read.
async fn take(pool: &PgPool, args: &Args, batch: i64) -> Result<usize> {
    let mut read = 0;
    if args.held {
        let mut tx = pool.begin().await?;
        let rows = sqlx::query(TAKE).bind(batch).fetch_all(&mut *tx).await?;
        for row in &rows {
            read += row.try_get::<&[u8], _>("payload")?.len();
        }
        tx.commit().await?;
        std::hint::black_box(read);
        return Ok(rows.len());
    }
    let rows = sqlx::query(LEASE).bind(batch).fetch_all(pool).await?;
    let mut ids = Vec::with_capacity(rows.len());
    for row in &rows {
        read += row.try_get::<&[u8], _>("payload")?.len();
        ids.push(row.try_get::<i64, _>("id")?);
    }
    std::hint::black_box(read);
    sqlx::query("DELETE FROM queue WHERE id = ANY($1)")
        .bind(&ids)
        .execute(pool)
        .await?;
    Ok(rows.len())
}
