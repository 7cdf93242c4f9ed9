//! What a claim hands out of what it read: a pure decision within the claim's limits of messages and bytes (contract P4). What it read, and how
//! the chosen messages get out of the store, is the store's.
//!
//! ```
//! use outbox_ordering::share::{Candidate, Room, Source, hand_out};
//!
//! let at = |position, source| Candidate { position, weight: 10, source };
//! let line = [at(2, Source::Line), at(5, Source::Line)];
//! let waiting = [at(3, Source::Waiting)];
//! let whole = Room { messages: 2, bytes: 1_000 };
//! let mut left = whole;
//! let chosen = hand_out(&line, &waiting, whole, &mut left, true);
//! assert_eq!(chosen, [at(2, Source::Line), at(3, Source::Waiting)]);
//! assert_eq!(left.messages, 0);
//! ```

/// Room for messages, in number and bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// How many messages.
    pub messages: usize,
    /// How many bytes, counted as the store weighs a message.
    pub bytes: u64,
}

impl Room {
    /// An equal part for each of `lanes`; together they may exceed the whole, which is kept by the last cut.
    #[must_use]
    pub fn share(self, lanes: usize) -> Self {
        let lanes = lanes.max(1);
        Self {
            messages: self.messages.div_ceil(lanes),
            bytes: (self.bytes / u64::try_from(lanes).unwrap_or(1)).max(1),
        }
    }

    fn fits(self, weight: u64) -> bool {
        self.messages > 0 && weight <= self.bytes
    }

    fn take(&mut self, weight: u64) {
        self.messages = self.messages.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(weight);
    }

    /// What is left of this room for one of two sources, if the other one wants `wanted`: each is sure of a half.
    fn beside(self, wanted: Self) -> Self {
        Self {
            messages: self.messages - wanted.messages.min(self.messages / 2),
            bytes: self.bytes - wanted.bytes.min(self.bytes / 2),
        }
    }
}

/// A message that can run: its position, its weight in bytes, and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// Its number in the store's order.
    pub position: i64,
    /// Its bytes.
    pub weight: u64,
    /// Where it is to be read.
    pub source: Source,
}

/// Where a message that can run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// In the line of its lane.
    Line,
    /// Among the messages that were set aside; its key is due.
    Waiting,
}

/// Chooses what a lane hands out of its line and of its waiting messages, both by position. An ordering key stands in one of the two only, so
/// any first part of each is in order; neither starves the other: while both have messages each is sure of half the room. The room is the smaller
/// one of `share`, the lane's, and `left`, the claim's, which is lowered by what is chosen. With `at_least_one` the first message is taken
/// whatever its weight.
pub fn hand_out(
    line: &[Candidate],
    waiting: &[Candidate],
    share: Room,
    left: &mut Room,
    at_least_one: bool,
) -> Vec<Candidate> {
    let room = Room {
        messages: share.messages.min(left.messages),
        bytes: share.bytes.min(left.bytes),
    };
    let mut total = room;
    let mut line = Part::new(line, room.beside(wanted(waiting)));
    let mut waiting = Part::new(waiting, room.beside(wanted(line.rest)));
    let mut chosen = Vec::new();
    while let Some(part) = next_of(&mut line, &mut waiting) {
        let Some(candidate) = part.rest.first().copied() else {
            break;
        };
        let first = at_least_one && chosen.is_empty() && total.messages > 0;
        let fits = part.room.fits(candidate.weight) && total.fits(candidate.weight);
        if !first && !fits {
            part.rest = &[];
            continue;
        }
        part.rest = &part.rest[1..];
        part.room.take(candidate.weight);
        total.take(candidate.weight);
        left.take(candidate.weight);
        chosen.push(candidate);
    }
    chosen
}

fn wanted(candidates: &[Candidate]) -> Room {
    Room {
        messages: candidates.len(),
        bytes: candidates
            .iter()
            .fold(0, |sum, next| sum.saturating_add(next.weight)),
    }
}

/// One of the two sources, and what it may still give.
struct Part<'a> {
    rest: &'a [Candidate],
    room: Room,
}

impl<'a> Part<'a> {
    fn new(rest: &'a [Candidate], room: Room) -> Self {
        Self { rest, room }
    }
}

/// The source whose next message has the smaller position.
fn next_of<'p, 'a>(a: &'p mut Part<'a>, b: &'p mut Part<'a>) -> Option<&'p mut Part<'a>> {
    match (a.rest.first(), b.rest.first()) {
        (None, None) => None,
        (Some(_), None) => Some(a),
        (None, Some(_)) => Some(b),
        (Some(x), Some(y)) => Some(if x.position <= y.position { a } else { b }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(source: Source, positions: impl IntoIterator<Item = i64>) -> Vec<Candidate> {
        positions
            .into_iter()
            .map(|position| Candidate {
                position,
                weight: 10,
                source,
            })
            .collect()
    }

    fn positions(
        line: &[Candidate],
        waiting: &[Candidate],
        messages: usize,
        bytes: u64,
        at_least_one: bool,
    ) -> Vec<i64> {
        let room = Room { messages, bytes };
        let mut left = room;
        let chosen = hand_out(line, waiting, room, &mut left, at_least_one);
        chosen.iter().map(|candidate| candidate.position).collect()
    }

    #[test]
    fn line_and_waiting_are_merged_by_position() {
        let line = candidates(Source::Line, [2, 5, 6]);
        let waiting = candidates(Source::Waiting, [1, 3]);
        assert_eq!(positions(&line, &waiting, 10, 1000, false), [1, 2, 3, 5, 6]);
        assert_eq!(positions(&line, &waiting, 1, 1000, false), [1]);
    }

    #[test]
    fn o7_neither_the_line_nor_the_waiting_messages_starve_the_other() {
        let line = candidates(Source::Line, 100..200);
        let waiting = candidates(Source::Waiting, 1..100);
        assert_eq!(
            positions(&line, &waiting, 6, 1000, false),
            [1, 2, 3, 100, 101, 102]
        );
        assert_eq!(
            positions(&line, &waiting, 60, 60, false),
            [1, 2, 3, 100, 101, 102]
        );
        let neighbor = candidates(Source::Line, [100]);
        assert_eq!(
            positions(&neighbor, &waiting, 4, 1000, false),
            [1, 2, 3, 100]
        );
    }

    #[test]
    fn p4_the_first_message_is_taken_whatever_its_weight() {
        let line = candidates(Source::Line, [1, 2]);
        assert_eq!(positions(&line, &[], 10, 9, true), [1]);
        assert_eq!(positions(&line, &[], 10, 9, false), [] as [i64; 0]);
        assert_eq!(positions(&line, &[], 10, 19, true), [1]);
        assert_eq!(positions(&line, &[], 10, 20, true), [1, 2]);
    }

    #[test]
    fn p4_lanes_share_the_limits_and_the_last_one_gets_the_rest() {
        let whole = Room {
            messages: 5,
            bytes: 1000,
        };
        let share = whole.share(2);
        assert_eq!(
            share,
            Room {
                messages: 3,
                bytes: 500
            }
        );
        let mut left = whole;
        let line = candidates(Source::Line, 1..10);
        assert_eq!(hand_out(&line, &[], share, &mut left, true).len(), 3);
        assert_eq!(hand_out(&line, &[], share, &mut left, false).len(), 2);
        assert_eq!(left.messages, 0);
    }
}
