//! Steps 3 and 4: what stands in the lines, read whole where that can go out at once, and what of it is set aside.

use std::collections::{HashMap, HashSet};

use outbox_message::Lane;
use outbox_ordering::line::{LineRead, LineRow};
use outbox_store::adapter::any_key;

use crate::{
    failure::Failure,
    procedure::query,
    row::{Row, UnexpectedRow},
    session::Session,
    statements::Statements,
    value::Value,
};

use super::{
    KeyText, LaneWork, Work,
    lanes::count,
    load::{Columns, key_text},
    read_on::LeftOut,
};

/// How many rows a claim looks at behind a line that is all of one key; behind several half as many, of all of them together. That is far more than it serves of it, so that a neighbor is found long before its turn.
const LOOKS_AHEAD: usize = 10_000;

/// The rows of each lane.
type Rows = HashMap<u16, Vec<LineRow<KeyText>>>;

impl Work<'_> {
    /// Step 3: reads the lines, and finds keys that keep a lane to themselves.
    pub(super) async fn read_lines<S: Session>(
        &mut self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<(), Failure<S::Error>> {
        let (share, looks, bytes_aside) = (self.share(), self.looks(), self.bytes_aside());
        // If retries are due, the line gets a part of each lane's share only, so nothing is read whole before that is decided.
        let mut leased = self.lanes.iter().filter(|lane| lane.left_out.is_none());
        let whole = !leased.clone().any(|lane| lane.seen.blocked_due);
        let any_leased = leased.next().is_some();
        let mut rows = Rows::new();
        if whole && any_leased {
            rows = self.read_whole(session, statements).await?;
        }
        let behind: Vec<(u16, i64)> = self
            .lanes
            .iter()
            .filter(|lane| {
                let read = rows.get(&lane.seen.lane);
                let leased = || read.map_or(!whole, |read| is_all_blocked(read, share.messages));
                lane.left_out.is_some() || leased()
            })
            .map(|lane| (lane.seen.lane, rows.get(&lane.seen.lane)))
            .map(|(lane, rows)| {
                (
                    lane,
                    rows.and_then(|rows| rows.last())
                        .map_or(0, |row| row.position),
                )
            })
            .collect();
        if !behind.is_empty() {
            self.look(session, statements, &behind, &mut rows).await?;
        }
        for lane in &mut self.lanes {
            let mut read = rows.remove(&lane.seen.lane).unwrap_or_default();
            let was_looked_at = behind.iter().any(|(looked, _)| *looked == lane.seen.lane);
            let read_whole = whole && lane.left_out.is_none();
            let window = if read_whole { share.messages } else { 0 };
            let most = window + if was_looked_at { looks } else { 0 };
            let most = most.min(cut_behind(&mut read, bytes_aside));
            lane.line = LineRead::of(read, share, most);
        }
        self.look_ahead(session, statements, whole).await
    }

    /// Reads the first messages of each line whole.
    async fn read_whole<S: Session>(
        &mut self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<Rows, Failure<S::Error>> {
        let share = self.share();
        let lanes: Vec<i64> = self
            .lanes
            .iter()
            .filter(|lane| lane.left_out.is_none())
            .map(|lane| i64::from(lane.seen.lane))
            .collect();
        let values = [
            Value::Ints(&lanes),
            Value::Int(count(share.messages)),
            Value::Int(i64::try_from(share.bytes).unwrap_or(i64::MAX)),
            // Of a single message it cannot be said that it keeps a lane to itself.
            Value::Int(i64::from(share.messages == 1)),
            Value::Int(count(LOOKS_AHEAD)),
        ];
        let mut read = Rows::new();
        for mut row in query(session, &statements.read_line, &values).await? {
            let (lane, mut found) = self.line_row(&mut row)?;
            let is_busy = row.flag()?;
            let columns = Columns::of(row)?;
            found.key = key_text(Some(&columns.topic), columns.key.as_ref());
            if is_busy && let Some(work) = self.lane_mut(lane) {
                work.busy = found.key.clone().filter(|key| belongs(key, lane));
            }
            if let Some(entry) = columns.entry(Lane(lane), found.position) {
                self.whole.insert(found.position, entry);
            }
            read.entry(lane).or_default().push(found);
        }
        // They come in order, though nothing makes them.
        for rows in read.values_mut() {
            rows.sort_unstable_by_key(|row| row.position);
        }
        Ok(read)
    }

    /// Looks at lines behind a position, without payloads.
    async fn look<S: Session>(
        &mut self,
        session: &mut S,
        statements: &Statements,
        behind: &[(u16, i64)],
        rows: &mut Rows,
    ) -> Result<(), Failure<S::Error>> {
        let lanes: Vec<i64> = behind.iter().map(|(lane, _)| i64::from(*lane)).collect();
        let positions: Vec<i64> = behind.iter().map(|(_, position)| *position).collect();
        let left_out = LeftOut::of(self.request, &self.lanes);
        let values = [
            Value::Ints(&lanes),
            Value::Ints(&positions),
            Value::Int(count(self.share().messages)),
            Value::Int(count(self.looks())),
            Value::Ints(&left_out.positions),
            Value::Texts(&left_out.topics),
            Value::Texts(&left_out.keys),
        ];
        // A stop may have ended since the first read. What stands behind a message that is set aside all the same does not overtake it.
        let kept: HashSet<KeyText> = rows
            .values()
            .flatten()
            .filter(|row| self.stopped.contains(&row.position))
            .filter_map(|row| row.key.clone())
            .collect();
        for mut row in query(session, &statements.look_line, &values).await? {
            let (lane, mut found) = self.line_row(&mut row)?;
            let topic = row.maybe_bytes()?;
            found.key = key_text(topic.as_ref(), row.maybe_bytes()?.as_ref());
            found.left_out = row.flag()?;
            found.blocked &= !found.left_out;
            if found.key.as_ref().is_some_and(|key| kept.contains(key)) {
                found.blocked = true;
                self.stopped.insert(found.position);
            }
            rows.entry(lane).or_default().push(found);
        }
        Ok(())
    }

    /// Finds keys that keep a lane to themselves while others stand behind; if lines were read `whole`, only in those that were not.
    async fn look_ahead<S: Session>(
        &mut self,
        session: &mut S,
        statements: &Statements,
        whole: bool,
    ) -> Result<(), Failure<S::Error>> {
        if self.share().messages == 1 {
            return Ok(());
        }
        let lone: Vec<(u16, i64, KeyText)> = self
            .lanes
            .iter()
            .filter(|lane| !whole || lane.left_out.is_some())
            .filter_map(|lane| {
                let (key, _) = lane.line.lone_key()?;
                belongs(key, lane.seen.lane).then(|| (lane.seen.lane, lane.line.last, key.clone()))
            })
            .collect();
        if lone.is_empty() {
            return Ok(());
        }
        let lanes: Vec<i64> = lone.iter().map(|(lane, ..)| i64::from(*lane)).collect();
        let last: Vec<i64> = lone.iter().map(|(_, last, _)| *last).collect();
        let topics: Vec<_> = lone
            .iter()
            .map(|(.., (topic, _))| Some(topic.as_str()))
            .collect();
        let keys: Vec<_> = lone
            .iter()
            .map(|(.., (_, key))| Some(key.as_str()))
            .collect();
        let values = [
            Value::Ints(&lanes),
            Value::Ints(&last),
            Value::Texts(&topics),
            Value::Texts(&keys),
            Value::Int(count(LOOKS_AHEAD)),
        ];
        for mut row in query(session, &statements.look_ahead, &values).await? {
            let busy = row.lane()?;
            let key = lone.iter().find(|(lane, ..)| *lane == busy);
            if let (Some(work), Some((.., key))) = (self.lane_mut(busy), key) {
                work.busy = Some(key.clone());
            }
        }
        Ok(())
    }

    /// The columns that both reads begin with; the key comes later.
    fn line_row(&mut self, row: &mut Row) -> Result<(u16, LineRow<KeyText>), UnexpectedRow> {
        let lane = row.lane()?;
        let position = row.int()?;
        let blocked = row.flag()?;
        if row.flag()? {
            self.stopped.insert(position);
        }
        let found = LineRow {
            position,
            blocked,
            weight: row.count()?,
            left_out: false,
            key: None,
        };
        Ok((lane, found))
    }

    /// Step 4: sets aside the messages of blocked keys and of stopped topics, and those of busy keys.
    pub(super) async fn set_aside<S: Session>(
        &mut self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<(), Failure<S::Error>> {
        let mut busy: Vec<(i64, KeyText, i64)> = Vec::new();
        for lane in &mut self.lanes {
            let head = lane.line.runnable.first().map(|head| head.position);
            if let (Some(key), Some(head)) = (&lane.busy, head) {
                busy.push((i64::from(lane.seen.lane), key.clone(), head));
                lane.line.step_aside();
            }
        }
        let aside = self.lanes.iter().flat_map(|lane: &LaneWork| {
            let number = i64::from(lane.seen.lane);
            lane.line
                .blocked
                .iter()
                .map(move |position| (number, *position))
        });
        let (stopped, aside): (Vec<_>, Vec<_>) =
            aside.partition(|(_, position)| self.stopped.contains(position));
        for (aside, text) in [
            (aside, &statements.set_aside),
            (stopped, &statements.set_aside_topics),
        ] {
            if !aside.is_empty() {
                let (lanes, positions): (Vec<i64>, Vec<i64>) = aside.into_iter().unzip();
                let values = [Value::Ints(&lanes), Value::Ints(&positions)];
                query(session, text, &values).await?;
                self.moved += lanes.len();
            }
        }
        if !busy.is_empty() {
            let lanes: Vec<i64> = busy.iter().map(|(lane, ..)| *lane).collect();
            let topics: Vec<_> = busy
                .iter()
                .map(|(_, key, _)| Some(key.0.as_str()))
                .collect();
            let keys: Vec<_> = busy
                .iter()
                .map(|(_, key, _)| Some(key.1.as_str()))
                .collect();
            let heads: Vec<i64> = busy.iter().map(|(.., head)| *head).collect();
            let values = [
                Value::Ints(&lanes),
                Value::Texts(&topics),
                Value::Texts(&keys),
                Value::Ints(&heads),
            ];
            query(session, &statements.block_busy, &values).await?;
        }
        Ok(())
    }
}

/// Whether nothing of a full window can run, so that more must be looked at.
fn is_all_blocked(rows: &[LineRow<KeyText>], window: usize) -> bool {
    rows.len() >= window && rows.iter().all(|row| row.blocked)
}

/// Leaves out what stands behind so many bytes that are to be set aside. Returns how many rows are left, if it left any out.
fn cut_behind(rows: &mut Vec<LineRow<KeyText>>, bytes: u64) -> usize {
    let mut sum: u64 = 0;
    let heavy = rows.iter().position(|row| {
        sum = sum.saturating_add(if row.blocked { row.weight } else { 0 });
        sum > bytes
    });
    heavy.map_or(usize::MAX, |at| {
        rows.truncate(at + 1);
        rows.len()
    })
}

/// Whether a key can be read and belongs to the lane: what cannot be read is never set aside.
fn belongs((topic, key): &KeyText, lane: u16) -> bool {
    any_key(topic.as_bytes(), Some(key.as_bytes()))
        .is_some_and(|key| key.lane(crate::LANES).0 == lane)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(position: i64, blocked: bool) -> LineRow<KeyText> {
        LineRow {
            position,
            weight: 10,
            blocked,
            key: None,
            left_out: false,
        }
    }

    #[test]
    fn what_is_set_aside_is_cut_by_its_bytes_and_never_before_the_first() {
        let rows = || vec![row(1, true), row(2, false), row(3, true), row(4, true)];
        let cut = |bytes| {
            let mut rows = rows();
            (cut_behind(&mut rows, bytes), rows.len())
        };
        assert_eq!(cut(30), (usize::MAX, 4));
        assert_eq!(cut(20), (4, 4));
        assert_eq!(cut(19), (3, 3));
        assert_eq!(cut(0), (1, 1));
    }
}
