//! Reading the line of leased lanes: what can run, and what must stay because its key is blocked or its topic is stopped.

use std::collections::{HashMap, HashSet};

use futures_util::TryStreamExt;
use outbox_ordering::{
    line::{LineRead, LineRow},
    share::Room,
};
use outbox_store::adapter::any_key;
use sqlx::{SqliteConnection, sqlite::SqliteRow};

use super::{
    read_on::LeftOut,
    statements::{count, weight},
};
use crate::row::{int, lane, lane_of, maybe_bytes, maybe_int, to_json};

/// How `read_line.sql` says that a key is blocked, and that a row is left out.
const KEY_BLOCKED: i64 = 1;
const LEFT_OUT: i64 = 3;

/// Topic and key as they stand in a row.
pub(super) type RawKey = (Vec<u8>, Vec<u8>);

/// What was read of the line of a lane.
#[derive(Default)]
pub(super) struct Line {
    pub(super) read: LineRead<RawKey>,
    /// Of what is to be set aside, the messages whose topics are stopped and whose keys are not blocked yet.
    pub(super) stopped: Vec<i64>,
    /// Messages without a key whose topics are stopped, which are to be set aside too.
    pub(super) unkeyed: Vec<i64>,
}

/// Reads the lines of lanes within `share` each; rows that must stay count in `looks` only.
pub(super) async fn read_lines(
    tx: &mut SqliteConnection,
    lanes: &[u16],
    share: Room,
    looks: usize,
    now: i64,
    left_out: &LeftOut,
) -> Result<HashMap<u16, Line>, sqlx::Error> {
    // The limits do not hide each other: a line without blocked keys fills its share.
    let looks = looks.saturating_add(share.messages);
    let mut rows = sqlx::query(include_str!("../sql/read_line.sql"))
        .bind(to_json(lanes))
        .bind(count(share.messages))
        .bind(i64::try_from(share.bytes).unwrap_or(i64::MAX))
        .bind(count(looks))
        .bind(now)
        .bind(to_json(&left_out.positions))
        .bind(to_json(&left_out.keys))
        .fetch(tx);
    let mut read: HashMap<u16, (Vec<LineRow<RawKey>>, Line)> = HashMap::new();
    while let Some(row) = rows.try_next().await? {
        let of = lane(&row)?.0;
        let (looked_at, line) = read.entry(of).or_default();
        let (position, key) = (int(&row, "position")?, raw_key(&row)?);
        let why = int(&row, "blocked")?;
        let left_out = why == LEFT_OUT;
        let blocked = match (why, &key) {
            (0 | LEFT_OUT, _) => false,
            (KEY_BLOCKED, _) => true,
            (_, None) => {
                line.unkeyed.push(position);
                true
            }
            // A row that stands in the wrong lane cannot be read, and is never set aside.
            (_, Some((topic, key))) => {
                let here = any_key(topic, Some(key)).is_some_and(|key| lane_of(&key).0 == of);
                line.stopped.extend(here.then_some(position));
                here
            }
        };
        looked_at.push(LineRow {
            position,
            weight: weight(&row)?,
            blocked,
            left_out,
            key: key.filter(|_| !blocked && !left_out),
        });
    }
    let sorted = read.into_iter().map(|(lane, (rows, line))| {
        let mut read = LineRead::of(rows, share, looks);
        if !line.unkeyed.is_empty() {
            let unkeyed: HashSet<i64> = line.unkeyed.iter().copied().collect();
            read.blocked.retain(|position| !unkeyed.contains(position));
        }
        (lane, Line { read, ..line })
    });
    Ok(sorted.collect())
}

/// The ordering key of a row, which may not be one that can be read.
fn raw_key(row: &SqliteRow) -> Result<Option<RawKey>, sqlx::Error> {
    let topic = maybe_bytes(row, "topic")?.unwrap_or_default();
    Ok(maybe_bytes(row, "key")?.map(|key| (topic, key)))
}

/// How far the line of a lane is known to be of the key of the message at `head`, given that it is up to `known`, and whether another message
/// was met behind.
pub(super) async fn look_ahead(
    tx: &mut SqliteConnection,
    lane: u16,
    known: i64,
    head: i64,
    looks: usize,
) -> Result<(i64, bool), sqlx::Error> {
    let row = sqlx::query(include_str!("../sql/look_ahead.sql"))
        .bind(lane)
        .bind(known)
        .bind(head)
        .bind(count(looks))
        .fetch_one(tx)
        .await?;
    let other = int(&row, "other")? != 0;
    let ahead = maybe_int(&row, "ahead")?.filter(|_| !other);
    Ok((ahead.unwrap_or(known), other))
}
