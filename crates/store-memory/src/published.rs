//! Published messages, as long as they are kept.

use std::{collections::BTreeMap, ops::Bound, time::Duration};

use outbox_message::{Delivery, Lane, Message, Position};
use outbox_store::PublishedPlace;

use crate::{clock::millis, state::Row};

/// What was published, by time and position.
#[derive(Debug)]
pub(crate) struct Published {
    retain: Option<Duration>,
    rows: BTreeMap<(i64, Position), (Lane, Row)>,
}

impl Published {
    /// Keeps messages for this long, if at all.
    pub(crate) fn new(retain: Option<Duration>) -> Self {
        Self {
            retain,
            rows: BTreeMap::new(),
        }
    }

    /// A message was published now.
    pub(crate) fn keep(&mut self, now: i64, lane: Lane, position: Position, row: Row) {
        if self.retain.is_some() {
            self.rows.insert((now, position), (lane, row));
        }
    }

    /// The messages by position, as they were when they were settled.
    pub(crate) fn list(&self) -> Vec<Delivery> {
        let rows = self.rows.iter();
        let mut published: Vec<_> = rows
            .map(|((_, position), (lane, row))| Delivery {
                lane: *lane,
                position: *position,
                attempts: row.attempts,
                tries: row.tries,
                starts: 0,
                message: row.message.clone(),
            })
            .collect();
        published.sort_by_key(|delivery| delivery.position);
        published
    }

    /// Those after one place and up to another, in the order of publishing.
    pub(crate) fn between(
        &self,
        after: PublishedPlace,
        upto: PublishedPlace,
    ) -> impl Iterator<Item = (PublishedPlace, &Message)> {
        let key = |place: PublishedPlace| (place.at, Position(place.number));
        // A range must not end before it begins.
        let end = Bound::Included(key(upto).max(key(after)));
        self.rows
            .range((Bound::Excluded(key(after)), end))
            .map(|((at, position), row)| {
                let number = position.0;
                (PublishedPlace { at: *at, number }, &row.1.message)
            })
    }

    /// How many were published at least this long ago, but no more than `limit`.
    pub(crate) fn count(&self, now: i64, older_than: Duration, limit: usize) -> usize {
        let last = (now.saturating_sub(millis(older_than)), Position(i64::MAX));
        self.rows.range(..=last).take(limit).count()
    }

    /// Drops those that were published at least this long ago, oldest first, but no more than `limit`, and says how many.
    pub(crate) fn purge(&mut self, now: i64, older_than: Duration, limit: usize) -> usize {
        let count = self.count(now, older_than, limit);
        for _ in 0..count {
            self.rows.pop_first();
        }
        count
    }

    /// Drops those that were kept for as long as they are to be.
    pub(crate) fn purge_retained(&mut self, now: i64, limit: usize) -> usize {
        self.retain
            .map_or(0, |retain| self.purge(now, retain, limit))
    }
}
