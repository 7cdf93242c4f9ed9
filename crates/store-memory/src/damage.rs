//! Rows that cannot be read as messages. In a database other programs write them; here a test spoils one on purpose (F7).

use outbox_message::{Lane, MessageId, Position, Topic};

use crate::{
    MemoryStore,
    state::{Row, State},
};

/// What text becomes whose bytes are no text.
const NO_TEXT: &str = "\u{FFFD}";

/// How a stored message is spoiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Damage {
    /// Its id is no text.
    Id,
    /// Its topic is no text, so that its ordering key is lost too.
    Topic,
    /// Its headers are no list of names and values.
    Headers,
    /// It stands in the lane after that of its key. A redrive puts it right.
    Lane,
}

impl Damage {
    pub(crate) fn as_error(self) -> &'static str {
        match self {
            Self::Id => "the message id is no text",
            Self::Topic => "the topic is no text",
            Self::Headers => "the headers are no list of names and values",
            Self::Lane => "the lane is not that of the ordering key",
        }
    }
}

impl MemoryStore {
    /// Spoils the pending message at `position`, for tests of what becomes of it. `false` if there is none, or if it has been set
    /// aside, where topic and lane cannot change.
    pub fn corrupt(&self, position: Position, how: Damage) -> bool {
        self.with(|state| state.corrupt(position, how))
    }

    /// Sets the counters of the pending message at `position`, for tests of their limits. `false` if there is none.
    pub fn set_counts(&self, position: Position, attempts: u32, tries: u32) -> bool {
        self.with(|state| {
            let row = state.pending_mut().find(|(at, _)| *at == position);
            row.map(|(_, row)| (row.attempts, row.tries) = (attempts, tries))
                .is_some()
        })
    }
}

impl State {
    fn corrupt(&mut self, position: Position, how: Damage) -> bool {
        if matches!(how, Damage::Topic | Damage::Lane) {
            let at = self.line.keys().find(|(_, at)| *at == position);
            let Some((lane, _)) = at.copied() else {
                return false;
            };
            let next = (lane.0 + 1) % u16::try_from(self.lanes.len()).unwrap_or(u16::MAX);
            let to = if how == Damage::Lane {
                Lane(next)
            } else {
                lane
            };
            if let Some(row) = self.line.remove(&(lane, position)) {
                self.line.insert((to, position), row);
            }
        }
        let row = self.pending_mut().find(|(at, _)| *at == position);
        row.map(|(_, row)| row.corrupt(how)).is_some()
    }

    /// Every pending message, in no order.
    fn pending_mut(&mut self) -> impl Iterator<Item = (Position, &mut Row)> {
        let line = self.line.iter_mut();
        let line = line.map(|((_, position), row)| (*position, row));
        let scheduled = self.scheduled.iter_mut();
        let scheduled = scheduled.map(|((_, _, position), row)| (*position, row));
        let waiting = self.waiting.values_mut().flatten();
        line.chain(scheduled)
            .chain(waiting.map(|(position, row)| (*position, row)))
    }
}

impl Row {
    fn corrupt(&mut self, how: Damage) {
        self.damage = Some(how);
        match how {
            Damage::Id => self.message.id = MessageId::new(NO_TEXT).expect("it is short"),
            Damage::Topic => {
                self.message.topic = Topic::new(NO_TEXT).expect("it is short");
                self.key = None;
            }
            Damage::Headers => {}
            Damage::Lane => self.key = None,
        }
    }

    /// A message that only stood in the wrong lane reads again, once it is about to be put into the right one.
    pub(crate) fn heal_lane(&mut self) {
        if self.damage == Some(Damage::Lane) {
            self.damage = None;
            self.key = self.message.ordering_key();
        }
    }
}
