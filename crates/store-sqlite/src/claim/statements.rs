//! The statements of a claim, each with what its rows mean.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::TryStreamExt;
use outbox_message::{Delivery, Position};
use outbox_ordering::share::{Candidate, Source};
use outbox_store::{ClaimRequest, Entry, Unreadable};
use sqlx::{SqliteConnection, sqlite::SqliteRow};

use crate::{
    claim::{
        choose::{LaneSeen, Seen},
        read_on::LeftOut,
    },
    lease::lease_millis,
    moves::{Table, delete},
    row::{
        LANES, from_json, int, lane, maybe_bytes, maybe_int, positions, raw_message, to_counter,
        to_json,
    },
};

/// The lanes as they stand, and the version of the schema.
pub(super) async fn lanes(tx: &mut SqliteConnection) -> Result<(Seen, i64), sqlx::Error> {
    let rows = sqlx::query(include_str!("../sql/lanes.sql"))
        .fetch_all(tx)
        .await?;
    let first = rows.first().ok_or(sqlx::Error::RowNotFound)?;
    let nonce = maybe_bytes(first, "nonce")?.unwrap_or_default();
    let seen = Seen {
        now: int(first, "now")?,
        nonce: Arc::from(String::from_utf8_lossy(&nonce)),
        lanes: rows.iter().map(lane_seen).collect::<Result<_, _>>()?,
    };
    Ok((seen, int(first, "version")?))
}

fn lane_seen(row: &SqliteRow) -> Result<LaneSeen, sqlx::Error> {
    Ok(LaneSeen {
        lane: lane(row)?.0,
        epoch: int(row, "epoch")?,
        held: int(row, "held")? != 0,
        lease_until: int(row, "lease_until")?,
        turn: int(row, "turn")?,
        careful: int(row, "careful")?,
        line: maybe_int(row, "line")?,
        scheduled: maybe_int(row, "scheduled")?,
        scheduled_next: maybe_int(row, "scheduled_next")?,
        blocked: maybe_int(row, "blocked")?,
        blocked_next: maybe_int(row, "blocked_next")?,
    })
}

/// A lane that was leased.
pub(super) struct Leased {
    pub(super) lane: u16,
    pub(super) epoch: i64,
    pub(super) careful: bool,
    pub(super) ahead: i64,
    pub(super) now: i64,
}

/// Leases the lanes that are still as they were seen.
pub(super) async fn lease(
    tx: &mut SqliteConnection,
    request: &ClaimRequest,
    nonce: &Arc<str>,
    lanes: &[LaneSeen],
) -> Result<Vec<Leased>, sqlx::Error> {
    let seen: Vec<(u16, i64)> = lanes.iter().map(|seen| (seen.lane, seen.epoch)).collect();
    let rows = sqlx::query(include_str!("../sql/lease.sql"))
        .bind(to_json(&seen))
        .bind(Arc::clone(nonce))
        .bind(Arc::clone(&request.relay))
        .bind(lease_millis(request.lease))
        .bind(count(request.limit.max(1)))
        .fetch_all(tx)
        .await?;
    rows.iter()
        .map(|row| {
            Ok(Leased {
                lane: lane(row)?.0,
                epoch: int(row, "epoch")?,
                careful: int(row, "careful")? > 0,
                ahead: int(row, "ahead")?,
                now: int(row, "now")?,
            })
        })
        .collect()
}

/// Which of the lanes that are to be read on are held as the request says, by their places in it; and the clock.
pub(super) async fn hold(
    tx: &mut SqliteConnection,
    request: &ClaimRequest,
    chosen: &[(usize, LaneSeen)],
) -> Result<(Vec<usize>, i64), sqlx::Error> {
    let tokens = chosen.iter().map(|(at, _)| &request.read_on[*at].token);
    let tokens: Vec<(u16, i64, &str)> = tokens
        .map(|token| (token.lane.0, token.epoch, &*token.holder))
        .collect();
    let rows = sqlx::query(include_str!("../sql/read_on.sql"))
        .bind(to_json(&tokens))
        .fetch_all(tx)
        .await?;
    let now = rows.first().map(|row| int(row, "now")).transpose()?;
    let held = rows
        .iter()
        .map(|row| Ok(lane(row)?.0))
        .collect::<Result<Vec<u16>, sqlx::Error>>()?;
    let places = chosen.iter().filter(|(_, seen)| held.contains(&seen.lane));
    Ok((places.map(|(at, _)| *at).collect(), now.unwrap_or(0)))
}

pub(super) fn count(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Ends the care of lanes.
pub(super) async fn end_care(
    tx: &mut SqliteConnection,
    lanes: &[(u16, i64)],
) -> Result<(), sqlx::Error> {
    sqlx::query(include_str!("../sql/end_care.sql"))
        .bind(to_json(lanes))
        .execute(tx)
        .await?;
    Ok(())
}

/// Moves what fell due into the line, at most `limit` of each lane. Returns how many.
pub(super) async fn promote(
    tx: &mut SqliteConnection,
    lanes: &[u16],
    now: i64,
    limit: usize,
) -> Result<usize, sqlx::Error> {
    let rows = sqlx::query(include_str!("../sql/promote.sql"))
        .bind(to_json(lanes))
        .bind(now)
        .bind(count(limit))
        .fetch_all(&mut *tx)
        .await?;
    let promoted = positions(&rows)?;
    delete(tx, Table::Scheduled, promoted.iter().copied()).await?;
    Ok(promoted.len())
}

/// Blocks the keys of these messages, which are still in line, because their topics are stopped.
pub(super) async fn block_topic(
    tx: &mut SqliteConnection,
    stopped: &[i64],
) -> Result<(), sqlx::Error> {
    sqlx::query(include_str!("../sql/block_topic.sql"))
        .bind(to_json(stopped))
        .execute(tx)
        .await?;
    Ok(())
}

/// Lets due blocks last until the stop of their topics is over.
pub(super) async fn stop_keys(
    tx: &mut SqliteConnection,
    numbers: &[i64],
) -> Result<(), sqlx::Error> {
    sqlx::query(include_str!("../sql/stop_keys.sql"))
        .bind(to_json(numbers))
        .execute(tx)
        .await?;
    Ok(())
}

pub(super) fn weight(row: &SqliteRow) -> Result<u64, sqlx::Error> {
    Ok(u64::try_from(int(row, "weight")?).unwrap_or(0))
}

/// Blocks the keys of these waiting messages as busy.
pub(super) async fn block_busy(
    tx: &mut SqliteConnection,
    heads: &[i64],
    now: i64,
) -> Result<(), sqlx::Error> {
    sqlx::query(include_str!("../sql/block_busy.sql"))
        .bind(to_json(heads))
        .bind(now)
        .execute(tx)
        .await?;
    Ok(())
}

/// A blocked key that is due.
pub(super) struct DueBlock {
    pub(super) number: i64,
    pub(super) lane: u16,
    /// The first message that waits, if any does.
    pub(super) head: Option<i64>,
    pub(super) topic: DueTopic,
}

/// What the topic of a key that is due says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DueTopic {
    Runs,
    Stopped,
    /// It is stopped, and the first message of the key is let through.
    LetsThrough,
}

/// The blocked keys of lanes that are due, but for those that are left out, at most `limit` of each lane, those that wait longest first.
pub(super) async fn due_blocks(
    tx: &mut SqliteConnection,
    lanes: &[u16],
    now: i64,
    limit: usize,
    left_out: &LeftOut,
) -> Result<Vec<DueBlock>, sqlx::Error> {
    let rows = sqlx::query(include_str!("../sql/due_blocks.sql"))
        .bind(to_json(lanes))
        .bind(now)
        .bind(count(limit))
        .bind(to_json(&left_out.keys))
        .fetch_all(tx)
        .await?;
    rows.iter()
        .map(|row| {
            let head = maybe_int(row, "head")?;
            let topic = match int(row, "stopped")? {
                0 => DueTopic::Runs,
                _ if head.is_some() && maybe_int(row, "probe")? == head => DueTopic::LetsThrough,
                _ => DueTopic::Stopped,
            };
            Ok(DueBlock {
                number: int(row, "number")?,
                lane: lane(row)?.0,
                head,
                topic,
            })
        })
        .collect()
}

/// The waiting messages of due keys, in turn one of each: `runs` holds the first position, the last one allowed, and how many. What is left out may fill
/// as many places more of each, and of all.
pub(super) async fn read_waiting(
    tx: &mut SqliteConnection,
    runs: &[(i64, i64, usize)],
    limit: usize,
    left_out: &LeftOut,
) -> Result<Vec<(u16, Candidate)>, sqlx::Error> {
    let more = left_out.positions.len();
    let walks = runs
        .iter()
        .map(|(head, last, run)| (*head, *last, run + more));
    let rows = sqlx::query(include_str!("../sql/read_waiting.sql"))
        .bind(to_json(&walks.collect::<Vec<_>>()))
        .bind(count(limit.max(runs.len()).saturating_add(more)))
        .fetch_all(tx)
        .await?;
    let found = rows.iter().map(|row| {
        let candidate = Candidate {
            position: int(row, "position")?,
            weight: weight(row)?,
            source: Source::Waiting,
        };
        Ok((lane(row)?.0, int(row, "head")?, candidate))
    });
    let found = found.collect::<Result<Vec<_>, sqlx::Error>>()?;
    Ok(left_out.beside(found, runs))
}

/// Deletes blocks behind which nothing waits. Returns how many.
pub(super) async fn delete_empty_blocks(
    tx: &mut SqliteConnection,
    numbers: &[i64],
) -> Result<usize, sqlx::Error> {
    let done = sqlx::query(include_str!("../sql/delete_empty_blocks.sql"))
        .bind(to_json(numbers))
        .execute(tx)
        .await?;
    Ok(usize::try_from(done.rows_affected()).unwrap_or(usize::MAX))
}

/// Reads the chosen messages whole, in the order given. Rows come one by one, so that a payload is in memory once or twice, not in a list of rows.
pub(super) async fn load(
    tx: &mut SqliteConnection,
    chosen: &[Candidate],
) -> Result<Vec<Entry>, sqlx::Error> {
    let of = |source: Source| {
        let chosen = chosen.iter().filter(|candidate| candidate.source == source);
        to_json(
            &chosen
                .map(|candidate| candidate.position)
                .collect::<Vec<_>>(),
        )
    };
    let mut rows = sqlx::query(include_str!("../sql/load.sql"))
        .bind(of(Source::Line))
        .bind(of(Source::Waiting))
        .fetch(tx);
    let mut found = HashMap::with_capacity(chosen.len());
    while let Some(row) = rows.try_next().await? {
        let numbers: Numbers = from_json(&row, "numbers")?;
        found.insert(numbers.0, entry(&row, numbers)?);
    }
    Ok(chosen
        .iter()
        .filter_map(|candidate| found.remove(&candidate.position))
        .collect())
}

/// Position, attempts, tries and starts of a message.
type Numbers = (i64, i64, i64, i64);

fn entry(row: &SqliteRow, numbers: Numbers) -> Result<Entry, sqlx::Error> {
    let (position, attempts, tries, starts) = numbers;
    let (position, tries) = (Position(position), to_counter(tries));
    let raw = raw_message(row)?;
    let lane = raw.lane;
    let key = raw.ordering_key(LANES);
    Ok(match raw.decode(LANES) {
        Ok(message) => Entry::Message(Delivery {
            lane,
            position,
            attempts: to_counter(attempts),
            tries,
            starts: to_counter(starts),
            message,
        }),
        Err(error) => Entry::Unreadable(Unreadable {
            lane,
            position,
            tries,
            key,
            error,
        }),
    })
}

/// A lane that the claim gives back, or whose line it knows better now.
pub(super) struct Left {
    pub(super) lane: u16,
    pub(super) released: bool,
    /// The turn it had before, if it is to keep it.
    pub(super) turn: Option<i64>,
    pub(super) ahead: i64,
}

/// Records what the claim leaves behind of its lanes.
pub(super) async fn leave_lanes(
    tx: &mut SqliteConnection,
    left: &[Left],
) -> Result<(), sqlx::Error> {
    let left: Vec<(u16, u8, Option<i64>, i64)> = left
        .iter()
        .map(|left| (left.lane, u8::from(left.released), left.turn, left.ahead))
        .collect();
    sqlx::query(include_str!("../sql/leave_lanes.sql"))
        .bind(to_json(&left))
        .execute(tx)
        .await?;
    Ok(())
}
