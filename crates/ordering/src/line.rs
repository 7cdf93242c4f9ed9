//! What a claim found in the line of one lane: what can run, what is to be set aside, and how far it has seen. How the rows are read is the
//! store's.

use crate::share::{Candidate, Room, Source};

/// A message in line, as a claim looks at it; `K` tells ordering keys apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineRow<K> {
    /// Its number in the store's order.
    pub position: i64,
    /// Its bytes.
    pub weight: u64,
    /// Its key is blocked; it is to be set aside. Its key may be left out then.
    pub blocked: bool,
    /// It stays where it is, because the holder of the lane reads on and has it, or something of its key, in hand.
    pub left_out: bool,
    /// Its ordering key, if it has one.
    pub key: Option<K>,
}

/// The part of a line that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineRead<K> {
    /// What can run, by position.
    pub runnable: Vec<Candidate>,
    /// What is to be set aside.
    pub blocked: Vec<i64>,
    /// The last position looked at.
    pub last: i64,
    cut: bool,
    /// The key of the runnable messages, if they all have the same.
    one_key: Option<K>,
}

impl<K> Default for LineRead<K> {
    /// A line in which nothing stands.
    fn default() -> Self {
        Self {
            runnable: Vec::new(),
            blocked: Vec::new(),
            last: 0,
            cut: false,
            one_key: None,
        }
    }
}

impl<K: PartialEq> LineRead<K> {
    /// Sorts the rows of one lane, given by position, that were read until `share` was filled, at most `looks` of them.
    pub fn of(rows: Vec<LineRow<K>>, share: Room, looks: usize) -> Self {
        let looked = rows.len();
        let mut bytes: u64 = 0;
        let mut read = Self::default();
        for row in rows {
            read.last = row.position;
            if row.left_out {
                continue;
            }
            if row.blocked {
                read.blocked.push(row.position);
                continue;
            }
            if read.runnable.is_empty() {
                read.one_key = row.key;
            } else if read.one_key != row.key {
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
}

impl<K> LineRead<K> {
    /// Whether a limit ended the read, so that more may stand behind.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// The last position that a waiting message may have to be handed out: all of its key up to there was seen and set aside.
    pub fn frontier(&self) -> i64 {
        if self.cut { self.last } else { i64::MAX }
    }

    /// The key and the first position, if a limit ended the read and all that can run is of one ordering key.
    pub fn lone_key(&self) -> Option<(&K, i64)> {
        let key = self.one_key.as_ref().filter(|_| self.cut)?;
        Some((key, self.runnable.first()?.position))
    }

    /// All that can run is to be set aside: its key keeps the lane to itself.
    pub fn step_aside(&mut self) {
        let runnable = std::mem::take(&mut self.runnable);
        self.blocked
            .extend(runnable.iter().map(|candidate| candidate.position));
    }
}

/// How many rows a claim looks at behind a lone key, when its line is known to be of that key for `known` positions already. It goes on far faster
/// than the line is served, so that a neighbor is found long before its turn, and costs little once a long line is known well.
pub fn looks_ahead(known: i64) -> usize {
    if known < 20_000 { 10_000 } else { 3_000 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Room = Room {
        messages: 3,
        bytes: 100,
    };

    fn row(position: i64, key: Option<&'static str>) -> LineRow<&'static str> {
        LineRow {
            position,
            weight: 10,
            blocked: false,
            left_out: false,
            key,
        }
    }

    fn blocked(position: i64) -> LineRow<&'static str> {
        LineRow {
            blocked: true,
            ..row(position, None)
        }
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
    fn what_is_left_out_is_looked_at_and_nothing_else() {
        let left_out = |position| LineRow {
            left_out: true,
            ..row(position, Some("in hand"))
        };
        let rows = || vec![left_out(1), row(2, Some("a")), left_out(3)];
        let read = LineRead::of(rows(), ROOM, 10);
        assert_eq!((read.runnable.len(), read.blocked.len()), (1, 0));
        assert_eq!((read.last, read.frontier()), (3, i64::MAX));
        assert_eq!(LineRead::of(rows(), ROOM, 3).frontier(), 3);
    }

    #[test]
    fn a_lone_key_fills_the_window() {
        let keys = |keys: [Option<&'static str>; 3]| {
            let rows = (1..).zip(keys).map(|(at, key)| row(at, key)).collect();
            LineRead::of(rows, ROOM, 10)
        };
        let lone = keys([Some("a"), Some("a"), Some("a")]);
        assert_eq!(lone.lone_key(), Some((&"a", 1)));
        assert_eq!(keys([Some("a"), Some("b"), Some("a")]).lone_key(), None);
        assert_eq!(keys([Some("a"), None, Some("a")]).lone_key(), None);
        assert_eq!(keys([None, Some("a"), Some("a")]).lone_key(), None);
        let short = LineRead::of(vec![row(1, Some("a"))], ROOM, 10);
        assert_eq!(short.lone_key(), None);
    }

    #[test]
    fn a_busy_key_steps_aside_with_what_is_blocked() {
        let rows = vec![blocked(1), row(2, Some("a")), row(3, Some("a"))];
        let mut read = LineRead::of(rows, ROOM, 10);
        read.step_aside();
        assert_eq!((read.runnable.len(), read.blocked), (0, vec![1, 2, 3]));
    }
}
