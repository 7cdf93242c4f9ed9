//! The state of the store as people see it. It counts, in one read transaction, so that the numbers agree.

use outbox_store::{
    BlockReason, BlockedKey, Circuit, LaneHolder, Status, StopCause, StoppedTopic, TopicBacklog,
    adapter::{millis, until},
};
use sqlx::{SqliteConnection, sqlite::SqliteRow};

use crate::row::{NEVER, int, lane, maybe_int, shown};

/// Reads it all.
pub(super) async fn status(tx: &mut SqliteConnection) -> Result<Status, sqlx::Error> {
    let row = sqlx::query(include_str!("../sql/status_counts.sql"))
        .fetch_one(&mut *tx)
        .await?;
    let now = int(&row, "now")?;
    let status = Status {
        line: count(&row, "line")?,
        waiting: count(&row, "waiting")?,
        scheduled: count(&row, "scheduled")?,
        dead: count(&row, "dead")?,
        oldest_ready: maybe_int(&row, "oldest")?.map(|since| until(now, since)),
        blocked: count(&row, "blocked")?,
        blocked_keys: list(tx, include_str!("../sql/status_blocked.sql"), |row| {
            blocked_key(row, now)
        })
        .await?,
        circuits: circuits(tx, now).await?,
        topics: list(tx, include_str!("../sql/status_topics.sql"), topic).await?,
        lanes: list(tx, include_str!("../sql/status_lanes.sql"), |row| {
            holder(row, now)
        })
        .await?,
        stopped: list(tx, include_str!("../sql/status_stopped.sql"), |row| {
            stopped(row, now)
        })
        .await?,
        next_due: maybe_int(&row, "next_due")?.map(|due| until(due, now)),
        ready: count(&row, "ready")?,
        paused: count(&row, "paused")?,
        held: count(&row, "held")?,
        later: count(&row, "later")?,
        horizon: None,
    };
    Ok(status)
}

async fn list<T>(
    tx: &mut SqliteConnection,
    statement: &'static str,
    each: impl Fn(&SqliteRow) -> Result<T, sqlx::Error>,
) -> Result<Vec<T>, sqlx::Error> {
    let rows = sqlx::query(statement).fetch_all(tx).await?;
    rows.iter().map(each).collect()
}

fn count(row: &SqliteRow, column: &str) -> Result<u64, sqlx::Error> {
    Ok(u64::try_from(int(row, column)?).unwrap_or(0))
}

fn blocked_key(row: &SqliteRow, now: i64) -> Result<BlockedKey, sqlx::Error> {
    let held = shown(row, "reason")?.as_deref() == Some(BlockReason::Dead.as_str());
    Ok(BlockedKey {
        topic: shown(row, "topic")?.unwrap_or_default(),
        key: shown(row, "key")?.unwrap_or_default(),
        reason: if held {
            BlockReason::Dead
        } else {
            BlockReason::Retry
        },
        position: int(row, "position")?,
        next_try: (!held).then_some(until(int(row, "until")?, now)),
        waiting: count(row, "waiting")?,
        error: shown(row, "error")?,
    })
}

async fn circuits(tx: &mut SqliteConnection, now: i64) -> Result<Vec<Circuit>, sqlx::Error> {
    let rows = sqlx::query(include_str!("../sql/status_circuits.sql"))
        .bind(millis(Circuit::FORGOTTEN_AFTER))
        .fetch_all(tx)
        .await?;
    rows.iter().map(|row| circuit(row, now)).collect()
}

fn circuit(row: &SqliteRow, now: i64) -> Result<Circuit, sqlx::Error> {
    Ok(Circuit {
        destination: shown(row, "destination")?.unwrap_or_default(),
        relay: shown(row, "relay")?.unwrap_or_default(),
        open_for: until(now, int(row, "open_since")?),
        next_probe: until(int(row, "next_probe")?, now),
        error: shown(row, "error")?.unwrap_or_default(),
    })
}

fn stopped(row: &SqliteRow, now: i64) -> Result<StoppedTopic, sqlx::Error> {
    let cause = shown(row, "cause")?.and_then(|cause| StopCause::parse(&cause));
    let end = int(row, "until")?;
    Ok(StoppedTopic {
        topic: shown(row, "topic")?.unwrap_or_default(),
        // The table takes no other word.
        cause: cause.unwrap_or(StopCause::Paused),
        stopped_for: until(now, int(row, "stopped_at")?),
        until: (end != NEVER).then(|| until(end, now)),
        destination: shown(row, "destination")?,
        relay: shown(row, "relay")?,
        error: shown(row, "error")?,
    })
}

fn topic(row: &SqliteRow) -> Result<TopicBacklog, sqlx::Error> {
    Ok(TopicBacklog {
        topic: shown(row, "topic")?.unwrap_or_default(),
        pending: count(row, "pending")?,
        dead: count(row, "dead")?,
    })
}

fn holder(row: &SqliteRow, now: i64) -> Result<LaneHolder, sqlx::Error> {
    Ok(LaneHolder {
        lane: lane(row)?,
        relay: shown(row, "relay")?,
        lease: until(int(row, "lease_until")?, now),
        careful: count(row, "careful")?,
    })
}
