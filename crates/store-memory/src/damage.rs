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

    /// Deletes the row of the pending message at `position` and nothing else, as a person would with SQL. `false` if there is none.
    pub fn delete(&self, position: Position) -> bool {
        self.with(|state| state.delete(position))
    }

    /// Sets the counters of the pending message at `position`, for tests of their limits. `false` if there is none.
    pub fn set_counts(&self, position: Position, attempts: u32, tries: u32) -> bool {
        self.with(|state| {
            state.change(position, |row| {
                row.attempts = attempts;
                row.tries = tries;
            })
        })
    }
}

impl State {
    fn corrupt(&mut self, position: Position, how: Damage) -> bool {
        let in_line = self.line.lane_of(position);
        if in_line.is_none() && matches!(how, Damage::Topic | Damage::Lane) {
            return false;
        }
        let found = self.change(position, |row| row.corrupt(how));
        if how == Damage::Lane
            && let Some(lane) = in_line
            && let Some(row) = self.line.remove(lane, position)
        {
            let next = Lane((lane.0 + 1) % self.number.get());
            self.line.insert(next, position, row);
        }
        found
    }

    fn delete(&mut self, position: Position) -> bool {
        let in_line = self.line.lane_of(position);
        let from_line = in_line.and_then(|lane| self.line.remove(lane, position));
        let mut found = from_line.is_some();
        self.scheduled.retain(|(_, _, at), _| {
            found |= *at == position;
            *at != position
        });
        self.waiting.retain(|_, rows| {
            found |= rows.remove(&position).is_some();
            !rows.is_empty()
        });
        found
    }

    fn change(&mut self, position: Position, change: impl FnOnce(&mut Row)) -> bool {
        if let Some(lane) = self.line.lane_of(position)
            && let Some(mut row) = self.line.remove(lane, position)
        {
            change(&mut row);
            self.line.insert(lane, position, row);
            return true;
        }
        let scheduled = self.scheduled.iter_mut();
        let scheduled = scheduled.map(|((_, _, at), row)| (*at, row));
        let waiting = self.waiting.values_mut().flatten();
        let row = scheduled
            .chain(waiting.map(|(at, row)| (*at, row)))
            .find(|(at, _)| *at == position);
        row.map(|(_, row)| change(row)).is_some()
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
