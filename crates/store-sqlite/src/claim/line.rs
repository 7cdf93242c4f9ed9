//! Reading the line of leased lanes: what can run, and what must stay because its key is blocked or its topic is stopped.

use std::collections::{HashMap, HashSet};

use outbox_ordering::{
    line::{LineRead, LineRow},
    share::Room,
};
use outbox_store::adapter::any_key;
use sqlx::{SqliteConnection, sqlite::SqliteRow};

use super::{read_on::LeftOut, statements::count};
use crate::row::{from_json, int, lane, lane_of, maybe_bytes, maybe_int, to_json};

/// How `read_line.sql` says that a row can run, that its key is blocked, that a topic is stopped, and that a row is left out.
const RUNS: u8 = 0;
const KEY_BLOCKED: u8 = 1;
const TOPIC_STOPPED: u8 = 2;
const LEFT_OUT: u8 = 3;

/// Stands for the ordering key of a row that can run. Whether all have the same one is for the statement to say.
pub(super) type Keyed = ();

/// What `read_line.sql` says of a row: its lane, its position, why it must stay, whether it has a key, and its bytes.
type Looked = (u16, i64, u8, u8, u64);

/// What was read of the line of a lane.
#[derive(Default)]
pub(super) struct Line {
    pub(super) read: LineRead<Keyed>,
    /// The first position, if all that was read is of one ordering key that belongs here, and more may stand behind.
    pub(super) lone_head: Option<i64>,
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
    let rows = sqlx::query(include_str!("../sql/read_line.sql"))
        .bind(to_json(lanes))
        .bind(count(share.messages))
        .bind(i64::try_from(share.bytes).unwrap_or(i64::MAX))
        .bind(count(looks))
        .bind(now)
        .bind(to_json(&left_out.positions))
        .bind(to_json(&left_out.keys))
        .fetch_all(tx)
        .await?;
    let (first, keys) = rows.split_first().ok_or(sqlx::Error::RowNotFound)?;
    let looked: Vec<Looked> = from_json(first, "looked")?;
    let home = at_home(keys)?;
    let mut read: HashMap<u16, (Vec<LineRow<Keyed>>, Line)> = HashMap::new();
    for (lane, position, why, keyed, weight) in looked {
        let (looked_at, line) = read.entry(lane).or_default();
        let keyed = keyed != 0;
        let blocked = match why {
            KEY_BLOCKED => true,
            TOPIC_STOPPED if !keyed => {
                line.unkeyed.push(position);
                true
            }
            // A row that stands in the wrong lane cannot be read, and is never set aside.
            TOPIC_STOPPED if home.contains(&position) => {
                line.stopped.push(position);
                true
            }
            _ => false,
        };
        looked_at.push(LineRow {
            position,
            weight,
            blocked,
            left_out: why == LEFT_OUT,
            key: (why == RUNS && keyed).then_some(()),
        });
    }
    let sorted = read.into_iter().map(|(lane, (rows, line))| {
        let mut read = LineRead::of(rows, share, looks);
        if !line.unkeyed.is_empty() {
            let unkeyed: HashSet<i64> = line.unkeyed.iter().copied().collect();
            read.blocked.retain(|position| !unkeyed.contains(position));
        }
        let lone = read.lone_key().map(|((), head)| head);
        let lone_head = lone.filter(|head| home.contains(head));
        (
            lane,
            Line {
                read,
                lone_head,
                ..line
            },
        )
    });
    Ok(sorted.collect())
}

/// Which of these rows stand in the lanes of their ordering keys, which may not be such that can be read.
fn at_home(keys: &[SqliteRow]) -> Result<HashSet<i64>, sqlx::Error> {
    let mut home = HashSet::new();
    for row in keys {
        let topic = maybe_bytes(row, "topic")?.unwrap_or_default();
        let key = any_key(&topic, maybe_bytes(row, "key")?.as_deref());
        let lane = lane(row)?;
        if key.is_some_and(|key| lane_of(&key) == lane) {
            home.insert(int(row, "position")?);
        }
    }
    Ok(home)
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
