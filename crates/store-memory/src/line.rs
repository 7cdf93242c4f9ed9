//! The ready line of every lane: runnable messages by position, with a count of each key's, which is kept in step here and nowhere else.

use std::collections::BTreeMap;

use outbox_message::{Lane, OrderingKey, Position};

use crate::state::Row;

#[derive(Debug, Default)]
pub(crate) struct Line {
    rows: BTreeMap<(Lane, Position), Row>,
    /// How many messages of each key stand in each lane; those without a key count as one.
    keys: BTreeMap<(Lane, Option<OrderingKey>), usize>,
}

impl Line {
    pub(crate) fn insert(&mut self, lane: Lane, position: Position, row: Row) {
        *self.keys.entry((lane, row.key.clone())).or_default() += 1;
        self.rows.insert((lane, position), row);
    }

    pub(crate) fn remove(&mut self, lane: Lane, position: Position) -> Option<Row> {
        let row = self.rows.remove(&(lane, position))?;
        let key = (lane, row.key.clone());
        if let Some(count) = self.keys.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                self.keys.remove(&key);
            }
        }
        Some(row)
    }

    pub(crate) fn get(&self, lane: Lane, position: Position) -> Option<&Row> {
        self.rows.get(&(lane, position))
    }

    /// The messages of a lane, by position.
    pub(crate) fn of(&self, lane: Lane) -> impl Iterator<Item = (Position, &Row)> {
        self.rows
            .range((lane, Position(i64::MIN))..=(lane, Position(i64::MAX)))
            .map(|((_, position), row)| (*position, row))
    }

    /// Whether messages of other keys, or without one, stand in a lane beside those of `key`.
    pub(crate) fn has_beside(&self, lane: Lane, key: &OrderingKey) -> bool {
        self.keys
            .range((lane, None)..)
            .take_while(|((of, _), _)| *of == lane)
            .any(|((_, other), _)| other.as_ref() != Some(key))
    }

    /// The messages of all lanes.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Position, &Row)> {
        self.rows
            .iter()
            .map(|((_, position), row)| (*position, row))
    }

    /// Where a message stands.
    pub(crate) fn lane_of(&self, position: Position) -> Option<Lane> {
        let at = self.rows.keys().find(|(_, at)| *at == position);
        at.map(|(lane, _)| *lane)
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }
}

#[cfg(test)]
mod tests {
    use outbox_message::Message;

    use super::*;

    #[test]
    fn others_are_seen_as_long_as_they_stand_in_the_lane() {
        let row = |key: Option<&str>| {
            let message = Message::new("t", "").unwrap().with_key(key).unwrap();
            Row::new(message, 0)
        };
        let own = row(Some("a")).key.unwrap();
        let mut line = Line::default();
        line.insert(Lane(1), Position(1), row(Some("a")));
        line.insert(Lane(1), Position(2), row(Some("a")));
        line.insert(Lane(0), Position(3), row(Some("b")));
        line.insert(Lane(2), Position(4), row(Some("b")));
        assert!(!line.has_beside(Lane(1), &own));
        line.insert(Lane(1), Position(5), row(None));
        line.insert(Lane(1), Position(6), row(None));
        line.remove(Lane(1), Position(5));
        assert!(line.has_beside(Lane(1), &own));
        line.remove(Lane(1), Position(6));
        assert!(!line.has_beside(Lane(1), &own));
    }
}
