//! What a claim found in the line of one lane.

use outbox_message::Lane;

use crate::{
    claim::share::{Candidate, Room, Source},
    row::ordering_key,
};

/// A message in line, without its payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LineRow {
    pub(crate) position: i64,
    pub(crate) weight: u64,
    /// Its key is blocked; it is to be set aside. Topic and key are left out then.
    pub(crate) blocked: bool,
    pub(crate) topic: Vec<u8>,
    pub(crate) key: Option<Vec<u8>>,
}

/// The part of a line that was looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LineRead {
    /// What can run, by position.
    pub(crate) runnable: Vec<Candidate>,
    /// What is to be set aside.
    pub(crate) blocked: Vec<i64>,
    /// The last position looked at.
    pub(crate) last: i64,
    cut: bool,
    /// Topic and key of the runnable messages, if they all have the same.
    one_key: Option<(Vec<u8>, Vec<u8>)>,
}

impl LineRead {
    /// Sorts the rows of one lane, given by position, that were read within `share` and `looks`.
    pub(crate) fn of(rows: Vec<LineRow>, share: Room, looks: usize) -> Self {
        let looked = rows.len();
        let mut bytes: u64 = 0;
        let mut read = Self::default();
        for row in rows {
            read.last = row.position;
            if row.blocked {
                read.blocked.push(row.position);
                continue;
            }
            let key = row.key.map(|key| (row.topic, key));
            if read.runnable.is_empty() {
                read.one_key = key;
            } else if read.one_key != key {
                read.one_key = None;
            }
            bytes = bytes.saturating_add(row.weight);
            read.runnable.push(Candidate {
                position: row.position,
                weight: row.weight,
                source: Source::Line,
            });
        }
        read.cut = read.runnable.len() >= share.messages || bytes >= share.bytes || looked >= looks;
        read
    }

    /// Whether a limit ended the read, so that more may stand behind.
    pub(crate) fn is_cut(&self) -> bool {
        self.cut
    }

    /// The last position that a waiting message may have to be handed out: all of its key up to there was seen and set aside.
    pub(crate) fn frontier(&self) -> i64 {
        if self.cut { self.last } else { i64::MAX }
    }

    /// The first position, if a limit ended the read and all that can run is of one ordering key of this lane.
    pub(crate) fn lone_key(&self, lane: Lane) -> Option<i64> {
        let (topic, key) = self.one_key.as_ref().filter(|_| self.cut)?;
        ordering_key(lane, topic, Some(key))?;
        Some(self.runnable.first()?.position)
    }

    /// All that can run is to be set aside.
    pub(crate) fn step_aside(&mut self) {
        let runnable = std::mem::take(&mut self.runnable);
        self.blocked
            .extend(runnable.iter().map(|candidate| candidate.position));
    }
}

/// How many rows a claim looks at behind a lone key, when its line is known to be of that key for `known` positions already. It goes on far faster
/// than the line is served, so that a neighbor is found long before its turn, and costs little once a long line is known well.
pub(crate) fn looks_ahead(known: i64) -> usize {
    if known < 20_000 { 10_000 } else { 3_000 }
}

#[cfg(test)]
mod tests {
    use outbox_message::OrderingKey;

    use super::*;
    use crate::row::lane_of;

    const ROOM: Room = Room {
        messages: 3,
        bytes: 100,
    };

    fn row(position: i64, key: Option<&str>) -> LineRow {
        LineRow {
            position,
            weight: 10,
            blocked: false,
            topic: b"t".to_vec(),
            key: key.map(|key| key.as_bytes().to_vec()),
        }
    }

    fn blocked(position: i64) -> LineRow {
        LineRow {
            blocked: true,
            ..row(position, None)
        }
    }

    fn lane() -> Lane {
        lane_of(&OrderingKey {
            topic: "t".parse().unwrap(),
            key: "a".parse().unwrap(),
        })
    }

    #[test]
    fn the_frontier_is_the_last_row_looked_at_if_a_limit_ended_the_read() {
        let read = |rows, looks| LineRead::of(rows, ROOM, looks);
        assert_eq!(read(vec![], 10).frontier(), i64::MAX);
        assert_eq!(
            read(vec![row(4, None), blocked(7)], 10).frontier(),
            i64::MAX
        );
        assert_eq!(read(vec![row(4, None), blocked(7)], 2).frontier(), 7);
        assert_eq!(
            read(vec![row(4, None), row(5, None), row(9, None)], 10).frontier(),
            9
        );
        let heavy = LineRow {
            weight: 100,
            ..row(4, None)
        };
        assert_eq!(read(vec![heavy], 10).frontier(), 4);
    }

    #[test]
    fn a_lone_key_fills_the_window_and_belongs_to_the_lane() {
        let keys = |keys: [Option<&str>; 3]| {
            let rows = (1..).zip(keys).map(|(at, key)| row(at, key)).collect();
            LineRead::of(rows, ROOM, 10)
        };
        let lone = keys([Some("a"), Some("a"), Some("a")]);
        assert_eq!(lone.lone_key(lane()), Some(1));
        assert_eq!(lone.lone_key(Lane(lane().0 ^ 1)), None);
        assert_eq!(
            keys([Some("a"), Some("b"), Some("a")]).lone_key(lane()),
            None
        );
        assert_eq!(keys([Some("a"), None, Some("a")]).lone_key(lane()), None);
        assert_eq!(keys([None, Some("a"), Some("a")]).lone_key(lane()), None);
        let short = LineRead::of(vec![row(1, Some("a"))], ROOM, 10);
        assert_eq!(short.lone_key(lane()), None);
    }

    #[test]
    fn a_busy_key_steps_aside_with_what_is_blocked() {
        let rows = vec![blocked(1), row(2, Some("a")), row(3, Some("a"))];
        let mut read = LineRead::of(rows, ROOM, 10);
        read.step_aside();
        assert_eq!((read.runnable.len(), read.blocked), (0, vec![1, 2, 3]));
    }
}
