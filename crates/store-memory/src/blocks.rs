//! The keys whose head waits, with an index by lane and due time, which is kept in step here and nowhere else.

use std::collections::{BTreeMap, BTreeSet};

use outbox_message::{Lane, OrderingKey, Position};

/// The due time of a key that does not go on by itself: a dead letter holds it, or its topic is stopped.
pub(crate) const NEVER: i64 = i64::MAX;

/// Why a key is blocked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// Its head waits for a retry.
    Retry,
    /// A dead letter holds it.
    Dead,
    /// Its topic is stopped.
    Topic,
    /// It is served a bounded run at a time, so that others in its lane get their turn. Not shown as blocked.
    Busy,
}

/// Why and until when a key is blocked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) lane: Lane,
    pub(crate) reason: Reason,
    /// By the store's clock; due when it is not after now.
    pub(crate) until: i64,
    /// The message it waits for.
    pub(crate) position: Position,
}

#[derive(Debug, Default)]
pub(crate) struct Blocks {
    by_key: BTreeMap<OrderingKey, Block>,
    by_due: BTreeMap<(Lane, i64), BTreeSet<OrderingKey>>,
}

impl Blocks {
    pub(crate) fn get(&self, key: &OrderingKey) -> Option<Block> {
        self.by_key.get(key).copied()
    }

    /// Blocks a key, or changes its block.
    pub(crate) fn set(&mut self, key: OrderingKey, block: Block) {
        self.remove(&key);
        let due = self.by_due.entry((block.lane, block.until));
        due.or_default().insert(key.clone());
        self.by_key.insert(key, block);
    }

    pub(crate) fn remove(&mut self, key: &OrderingKey) {
        let Some(old) = self.by_key.remove(key) else {
            return;
        };
        let at = (old.lane, old.until);
        if let Some(keys) = self.by_due.get_mut(&at) {
            keys.remove(key);
            if keys.is_empty() {
                self.by_due.remove(&at);
            }
        }
    }

    /// The keys of a lane that are due, longest due first.
    pub(crate) fn due(&self, lane: Lane, now: i64) -> impl Iterator<Item = &OrderingKey> {
        self.by_due
            .range((lane, i64::MIN)..=(lane, now))
            .flat_map(|(_, keys)| keys)
    }

    /// When the next key of a lane falls due that is not due yet; one that does not go on by itself never does.
    pub(crate) fn next_due(&self, lane: Lane, now: i64) -> Option<i64> {
        let ((_, until), _) = self
            .by_due
            .range((lane, now.saturating_add(1))..=(lane, NEVER))
            .next()?;
        Some(*until).filter(|until| *until != NEVER)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&OrderingKey, &Block)> {
        self.by_key.iter()
    }
}

#[cfg(test)]
mod tests {
    use outbox_message::{PartitionKey, Topic};

    use super::*;

    fn key(text: &str) -> OrderingKey {
        OrderingKey {
            topic: Topic::new("t").unwrap(),
            key: PartitionKey::new(text).unwrap(),
        }
    }

    fn block(reason: Reason, until: i64) -> Block {
        Block {
            lane: Lane(1),
            reason,
            until,
            position: Position(1),
        }
    }

    #[test]
    fn a_changed_block_is_found_at_its_new_time_only() {
        let mut blocks = Blocks::default();
        blocks.set(key("a"), block(Reason::Retry, 10));
        blocks.set(key("b"), block(Reason::Busy, 5));
        blocks.set(key("c"), block(Reason::Dead, NEVER));
        blocks.set(key("a"), block(Reason::Retry, 20));
        assert_eq!(blocks.due(Lane(1), 10).collect::<Vec<_>>(), [&key("b")]);
        assert_eq!(blocks.next_due(Lane(1), 10), Some(20));
        assert_eq!(blocks.next_due(Lane(1), 20), None);
        assert_eq!(blocks.due(Lane(0), 100).count(), 0);
        blocks.remove(&key("a"));
        assert_eq!(blocks.due(Lane(1), 100).collect::<Vec<_>>(), [&key("b")]);
    }
}
