//! Upkeep and purge: one bounded step of forgetting what is over, by whichever relay gets to it or by hand.

use std::time::Duration;

use outbox_store::{Circuit, Purge, PurgeMode, Purged, StoreError, adapter::millis};
use sqlx::SqlitePool;

use crate::{row::int, schema};

/// How many ids, and how many published messages, one step of upkeep removes.
const MOST_REMOVED: i64 = 1_000;

/// One step of upkeep. Returns how many rows it removed.
pub(crate) async fn maintain(
    pool: &SqlitePool,
    retain: Option<Duration>,
) -> Result<usize, StoreError> {
    match remove_old(pool, retain).await {
        Ok(removed) => Ok(usize::try_from(removed).unwrap_or(usize::MAX)),
        Err(error) => Err(schema::explain(pool, "forget what is over", error).await),
    }
}

async fn remove_old(pool: &SqlitePool, retain: Option<Duration>) -> Result<u64, sqlx::Error> {
    let ids = forget_ids(pool, MOST_REMOVED).await?;
    let circuits = sqlx::query(include_str!("sql/forget_circuits.sql"))
        .bind(millis(Circuit::FORGOTTEN_AFTER))
        .execute(pool)
        .await?
        .rows_affected();
    let published = match retain {
        None => 0,
        Some(retain) => purge_published(pool, retain, MOST_REMOVED).await?,
    };
    Ok(ids + circuits + published)
}

/// One step of a purge by hand (obligation A5).
pub(crate) async fn purge(pool: &SqlitePool, purge: &Purge) -> Result<Purged, sqlx::Error> {
    let limit = i64::try_from(purge.limit).unwrap_or(i64::MAX);
    let (published, ids) = match purge.mode {
        PurgeMode::Delete => (
            purge_published(pool, purge.older_than, limit).await?,
            forget_ids(pool, limit).await?,
        ),
        PurgeMode::Count => count(pool, purge.older_than, limit).await?,
    };
    let limit = limit.unsigned_abs();
    Ok(Purged {
        published,
        ids,
        partitions: 0,
        more: published >= limit || ids >= limit,
    })
}

async fn purge_published(
    pool: &SqlitePool,
    older_than: Duration,
    limit: i64,
) -> Result<u64, sqlx::Error> {
    let deleted = sqlx::query(include_str!("sql/purge_published.sql"))
        .bind(age(older_than))
        .bind(limit)
        .execute(pool)
        .await?;
    Ok(deleted.rows_affected())
}

async fn forget_ids(pool: &SqlitePool, limit: i64) -> Result<u64, sqlx::Error> {
    let forgotten = sqlx::query(include_str!("sql/forget_ids.sql"))
        .bind(limit)
        .execute(pool)
        .await?;
    Ok(forgotten.rows_affected())
}

async fn count(
    pool: &SqlitePool,
    older_than: Duration,
    limit: i64,
) -> Result<(u64, u64), sqlx::Error> {
    let row = sqlx::query(include_str!("sql/purge_count.sql"))
        .bind(age(older_than))
        .bind(limit)
        .fetch_one(pool)
        .await?;
    let count = |column| int(&row, column).map(i64::unsigned_abs);
    Ok((count("published")?, count("ids")?))
}

/// An age in milliseconds; the difference to the clock must not overflow.
fn age(of: Duration) -> i64 {
    millis(of).min(i64::MAX / 4)
}
