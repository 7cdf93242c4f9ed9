//! Upkeep and purge: one bounded step of forgetting what is over, by whichever relay gets to it or by hand.

use std::time::Duration;

use outbox_store::{Circuit, Purge, PurgeMode, Purged, StoreError, adapter::millis};
use sqlx::SqlitePool;

use crate::{SqliteConfig, inbox::forget_old, row::int, schema};

/// How many ids of saves, ids of the inbox, and published messages, one step of upkeep removes.
const MOST_REMOVED: i64 = 1_000;

/// One step of upkeep. Returns how many rows it removed.
pub(crate) async fn maintain(
    pool: &SqlitePool,
    config: &SqliteConfig,
) -> Result<usize, StoreError> {
    let (removed, more) = match remove_old(pool, config.retain).await {
        Ok(removed) => removed,
        Err(error) => return Err(schema::explain(pool, "forget what is over", error).await),
    };
    let inbox = match config.retain_inbox {
        None => Ok(0),
        Some(retain) => forget_old(pool, retain, MOST_REMOVED, PurgeMode::Delete).await,
    };
    let inbox = match inbox {
        Ok(inbox) => inbox,
        // That a dead letter is in the way is for the time when there is nothing else to do.
        Err(StoreError::DeadLetterNeedsInbox { .. }) if more => 0,
        Err(error) => return Err(error),
    };
    Ok(usize::try_from(removed + inbox).unwrap_or(usize::MAX))
}

/// How many rows it removed, and whether it met a limit, so that there may be more.
async fn remove_old(
    pool: &SqlitePool,
    retain: Option<Duration>,
) -> Result<(u64, bool), sqlx::Error> {
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
    let most = MOST_REMOVED.unsigned_abs();
    let more = ids >= most || published >= most;
    Ok((ids + circuits + published, more))
}

/// One step of a purge by hand (obligation A5). The inbox comes first, because it may refuse.
pub(crate) async fn purge(pool: &SqlitePool, purge: &Purge) -> Result<Purged, StoreError> {
    let limit = i64::try_from(purge.limit).unwrap_or(i64::MAX);
    let inbox = match purge.inbox_older_than {
        None => 0,
        Some(older_than) => forget_old(pool, older_than, limit, purge.mode).await?,
    };
    match purge_messages(pool, purge, limit).await {
        Ok(purged) => Ok(Purged {
            inbox,
            more: purged.more || (inbox > 0 && inbox >= limit.unsigned_abs()),
            ..purged
        }),
        Err(error) => Err(schema::explain(pool, "purge what is old", error).await),
    }
}

/// The part of it that concerns what was published and saved.
async fn purge_messages(
    pool: &SqlitePool,
    purge: &Purge,
    limit: i64,
) -> Result<Purged, sqlx::Error> {
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
        more: published >= limit || ids >= limit,
        ..Purged::default()
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
pub(crate) fn age(of: Duration) -> i64 {
    millis(of).min(i64::MAX / 4)
}
