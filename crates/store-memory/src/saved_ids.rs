//! The ids of idempotent saves, each remembered for a time (C3).

use std::collections::{BTreeMap, BTreeSet};

use outbox_message::MessageId;

#[derive(Debug, Default)]
pub(crate) struct SavedIds {
    expires: BTreeMap<MessageId, i64>,
    by_expiry: BTreeSet<(i64, MessageId)>,
}

impl SavedIds {
    /// Whether an id is remembered; one whose time is over is as good as absent, removed or not.
    pub(crate) fn remembers(&self, id: &MessageId, now: i64) -> bool {
        self.expires.get(id).is_some_and(|expires| *expires > now)
    }

    pub(crate) fn remember(&mut self, id: MessageId, expires: i64) {
        if let Some(old) = self.expires.insert(id.clone(), expires) {
            self.by_expiry.remove(&(old, id.clone()));
        }
        self.by_expiry.insert((expires, id));
    }

    /// How many ids' time is over, but no more than `limit`.
    pub(crate) fn count_forgettable(&self, now: i64, limit: usize) -> usize {
        let expired = self.by_expiry.iter().take_while(|(at, _)| *at <= now);
        expired.take(limit).count()
    }

    /// Removes at most `limit` ids whose time is over, and says how many.
    pub(crate) fn forget(&mut self, now: i64, limit: usize) -> usize {
        let mut forgotten = 0;
        while forgotten < limit
            && self
                .by_expiry
                .first()
                .is_some_and(|(expires, _)| *expires <= now)
            && let Some((_, id)) = self.by_expiry.pop_first()
        {
            self.expires.remove(&id);
            forgotten += 1;
        }
        forgotten
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c3_an_id_is_remembered_until_its_time_is_over_and_then_forgotten_in_steps() {
        let mut ids = SavedIds::default();
        let names: Vec<_> = ["a", "b", "c"]
            .map(|name| MessageId::new(name).unwrap())
            .into();
        for name in &names {
            ids.remember(name.clone(), 10);
        }
        ids.remember(names[2].clone(), 20);
        assert!(ids.remembers(&names[0], 9));
        assert!(!ids.remembers(&names[0], 10));
        assert_eq!(ids.forget(10, 1), 1);
        assert_eq!(ids.forget(10, 5), 1);
        assert_eq!(ids.forget(10, 5), 0);
        assert!(ids.remembers(&names[2], 10));
    }
}
