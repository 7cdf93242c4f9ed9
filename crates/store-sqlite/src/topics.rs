//! Topics that are stopped: by an operator, or because relays say that their destination is down (obligations S14, S15, A6). What claims set
//! aside of them is in `claim.rs`; here stops begin and end, one message is let through, and what was set aside is freed.
//!
//! A stop that is over is forgotten in the write transaction that found nothing left of it. Claims read the stops under the same lock, so none can
//! set anything aside after that.

use std::time::Duration;

use outbox_message::Topic;
use outbox_store::{DestinationStop, StoreError, adapter::millis};
use sqlx::{SqliteConnection, SqlitePool};

use crate::{
    row::{int, maybe_int, to_json},
    schema, transaction,
};

/// How many rows one step frees at most.
const MOST_FREED: i64 = 1_000;

/// No pause or lease is meant to last longer; the sum with the clock must not overflow.
const MOST_MS: i64 = i64::MAX / 4;

/// Pauses a topic.
pub(crate) async fn pause(
    tx: &mut SqliteConnection,
    topic: &Topic,
    time: Option<Duration>,
) -> Result<(), sqlx::Error> {
    sqlx::query(include_str!("sql/pause.sql"))
        .bind(topic.as_str())
        .bind(time.map(|time| millis(time).min(MOST_MS)))
        .execute(tx)
        .await?;
    Ok(())
}

/// Ends the stop of a topic. `false` if it is not stopped.
pub(crate) async fn resume(tx: &mut SqliteConnection, topic: &Topic) -> Result<bool, sqlx::Error> {
    let done = sqlx::query(include_str!("sql/resume.sql"))
        .bind(topic.as_str())
        .execute(tx)
        .await?;
    Ok(done.rows_affected() > 0)
}

/// Stops topics because their destination is down.
pub(crate) async fn stop(pool: &SqlitePool, stop: &DestinationStop) -> Result<(), StoreError> {
    let stopped = sqlx::query(include_str!("sql/stop_topics.sql"))
        .bind(names(&stop.topics))
        .bind(millis(stop.lease).min(MOST_MS))
        .bind(&stop.destination)
        .bind(&*stop.relay)
        .bind(&stop.error)
        .execute(pool)
        .await;
    match stopped {
        Ok(_) => Ok(()),
        Err(error) => Err(schema::explain(pool, "stop topics", error).await),
    }
}

/// Ends the stops of topics whose destination is up again.
pub(crate) async fn start(pool: &SqlitePool, topics: &[Topic]) -> Result<(), StoreError> {
    let started = sqlx::query(include_str!("sql/start_topics.sql"))
        .bind(names(topics))
        .execute(pool)
        .await;
    match started {
        Ok(_) => Ok(()),
        Err(error) => Err(schema::explain(pool, "start topics", error).await),
    }
}

fn names(topics: &[Topic]) -> String {
    to_json(&topics.iter().map(Topic::as_str).collect::<Vec<_>>())
}

/// Lets one message of a topic through whose destination is down. `false` if there is none.
pub(crate) async fn probe(pool: &SqlitePool, topic: &Topic) -> Result<bool, StoreError> {
    match transaction::write(pool, async |tx| let_through(tx, topic).await).await {
        Ok(found) => Ok(found),
        Err(error) => Err(schema::explain(pool, "let a message through", error).await),
    }
}

async fn let_through(tx: &mut SqliteConnection, topic: &Topic) -> Result<bool, sqlx::Error> {
    let picked = sqlx::query(include_str!("sql/probe_pick.sql"))
        .bind(topic.as_str())
        .fetch_optional(&mut *tx)
        .await?;
    let Some(picked) = picked else {
        return Ok(false);
    };
    let position = int(&picked, "position")?;
    let (free, what) = match maybe_int(&picked, "number")? {
        Some(block) => (include_str!("sql/free_block.sql"), block),
        None => (include_str!("sql/free_message.sql"), position),
    };
    sqlx::query(free).bind(what).execute(&mut *tx).await?;
    sqlx::query(include_str!("sql/probe_mark.sql"))
        .bind(topic.as_str())
        .bind(position)
        .bind(int(&picked, "lane")?)
        .execute(tx)
        .await?;
    Ok(true)
}

/// One step of freeing what stops that are over set aside. Returns how many rows it freed or removed. It takes the write lock only if a stop is over.
pub(crate) async fn free(pool: &SqlitePool) -> Result<usize, StoreError> {
    let freed = async {
        if over(&mut *pool.acquire().await?).await?.is_empty() {
            return Ok(0);
        }
        transaction::write(pool, free_some).await
    };
    match freed.await {
        Ok(freed) => Ok(usize::try_from(freed).unwrap_or(usize::MAX)),
        Err(error) => Err(schema::explain(pool, "free what a stop set aside", error).await),
    }
}

/// The topics whose stop is over.
async fn over(connection: &mut SqliteConnection) -> Result<Vec<String>, sqlx::Error> {
    sqlx::query_scalar(include_str!("sql/topics_over.sql"))
        .fetch_all(connection)
        .await
}

async fn free_some(tx: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
    let mut left = MOST_FREED;
    for topic in over(tx).await? {
        for statement in [
            include_str!("sql/free_keys.sql"),
            include_str!("sql/free_messages.sql"),
        ] {
            let freed = sqlx::query(statement).bind(&topic).bind(left);
            left -= affected(freed.execute(&mut *tx).await?.rows_affected());
        }
        if left <= 0 {
            break;
        }
        let forgotten = sqlx::query(include_str!("sql/forget_topic.sql")).bind(&topic);
        left -= affected(forgotten.execute(&mut *tx).await?.rows_affected());
    }
    Ok(MOST_FREED - left)
}

fn affected(rows: u64) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}
