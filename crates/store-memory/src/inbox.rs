//! The inbox: what consumers have handled, and the transactions in which they handle it.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use async_trait::async_trait;
use outbox_message::MessageId;
use outbox_store::{
    Consumer, Handled, InboxWriter, SaveError, StoreError, Transactions,
    adapter::{OldestDead, spoiled},
};

use crate::{
    MemoryStore, MemoryTx,
    clock::{millis, until},
    locks::{Lock, lock_or_roll_back},
    state::State,
};

/// An id, and who handled it.
pub(crate) type HandledId = (Consumer, MessageId);

/// The ids that were handled, with the time.
#[derive(Debug)]
pub(crate) struct Inbox {
    retain: Option<Duration>,
    handled: BTreeMap<HandledId, i64>,
    by_time: BTreeSet<(i64, HandledId)>,
}

impl Inbox {
    /// Keeps ids for this long; `None` keeps them until they are forgotten by hand.
    pub(crate) fn new(retain: Option<Duration>) -> Self {
        Self {
            retain,
            handled: BTreeMap::new(),
            by_time: BTreeSet::new(),
        }
    }

    pub(crate) fn contains(&self, id: &HandledId) -> bool {
        self.handled.contains_key(id)
    }

    pub(crate) fn record(&mut self, id: HandledId, at: i64) {
        self.forget(&id);
        self.by_time.insert((at, id.clone()));
        self.handled.insert(id, at);
    }

    pub(crate) fn forget(&mut self, id: &HandledId) {
        if let Some(at) = self.handled.remove(id) {
            self.by_time.remove(&(at, id.clone()));
        }
    }

    /// How many were handled at least this long ago, but no more than `limit`.
    pub(crate) fn count(&self, now: i64, older_than: Duration, limit: usize) -> usize {
        let last = now.saturating_sub(millis(older_than));
        let old = self.by_time.iter().take_while(|(at, _)| *at <= last);
        old.take(limit).count()
    }

    /// Forgets those that were handled at least this long ago, oldest first, but no more than `limit`, and says how many.
    pub(crate) fn purge(&mut self, now: i64, older_than: Duration, limit: usize) -> usize {
        let count = self.count(now, older_than, limit);
        for _ in 0..count {
            if let Some((_, id)) = self.by_time.pop_first() {
                self.handled.remove(&id);
            }
        }
        count
    }
}

impl State {
    /// One step of upkeep over the inbox. Says how many ids it forgot.
    pub(crate) fn keep_inbox(&mut self, now: i64, limit: usize) -> Result<usize, StoreError> {
        let Some(retain) = self.inbox.retain else {
            return Ok(0);
        };
        self.check_dead_letters(now, retain)?;
        Ok(self.inbox.purge(now, retain, limit))
    }

    /// Refuses to forget what was handled this long ago while a dead letter is older.
    pub(crate) fn check_dead_letters(
        &self,
        now: i64,
        older_than: Duration,
    ) -> Result<(), StoreError> {
        let oldest = self.dead.values().min_by_key(|dead| dead.row.saved_at);
        let Some(dead) = oldest else {
            return Ok(());
        };
        let letter = OldestDead {
            id: dead.row.message.id.to_string(),
            topic: dead.row.message.topic.to_string(),
            age: until(now, dead.row.saved_at),
        };
        letter.check(older_than)
    }
}

impl MemoryStore {
    /// Records in `tx` that `consumer` handles the message, unless it was handled, as [`InboxWriter::once`] does.
    ///
    /// # Errors
    ///
    /// [`SaveError::NoTransaction`] if `tx` has ended or belongs to another store, [`SaveError::Conflict`] if `tx` was rolled back because it and another
    /// transaction waited for each other.
    pub async fn once(
        &self,
        tx: &mut MemoryTx,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Result<Handled, SaveError> {
        let id = self.lock_handled(tx, consumer, id).await?;
        Ok(self.with(|state| {
            if tx.has_handled(state, &id) {
                return Handled::Duplicate;
            }
            tx.inbox.insert(id, Some(state.clock.now_ms()));
            Handled::First
        }))
    }

    /// Forgets in `tx` that `consumer` handled the message, as [`InboxWriter::forget`] does.
    ///
    /// # Errors
    ///
    /// As [`once`](Self::once).
    pub async fn forget(
        &self,
        tx: &mut MemoryTx,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Result<bool, SaveError> {
        let id = self.lock_handled(tx, consumer, id).await?;
        Ok(self.with(|state| {
            let was_handled = tx.has_handled(state, &id);
            tx.inbox.insert(id, None);
            was_handled
        }))
    }

    /// Waits until no other transaction is about to handle the message, as a unique index would do it.
    async fn lock_handled(
        &self,
        tx: &mut MemoryTx,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Result<HandledId, SaveError> {
        self.check_open(tx)?;
        let id = (consumer.clone(), id.clone());
        let wanted = BTreeSet::from([Lock::Handled(id.clone())]);
        lock_or_roll_back(self, tx, &wanted).await?;
        Ok(id)
    }
}

#[async_trait]
impl InboxWriter<MemoryTx> for MemoryStore {
    async fn once(
        &self,
        tx: &mut MemoryTx,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Result<Handled, SaveError> {
        self.once(tx, consumer, id).await
    }

    async fn forget(
        &self,
        tx: &mut MemoryTx,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Result<bool, SaveError> {
        self.forget(tx, consumer, id).await
    }
}

#[async_trait]
impl Transactions for MemoryStore {
    type Tx = MemoryTx;
    type Open = MemoryTx;

    async fn begin(&self) -> Result<MemoryTx, StoreError> {
        Ok(MemoryStore::begin(self))
    }

    fn tx<'a>(&self, open: &'a mut MemoryTx) -> &'a mut MemoryTx {
        open
    }

    async fn commit(&self, mut open: MemoryTx) -> Result<(), StoreError> {
        if open.is_open() {
            open.commit();
            return Ok(());
        }
        Err(spoiled("has ended before its commit"))
    }

    async fn rollback(&self, mut open: MemoryTx) {
        open.rollback();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i6_ids_are_forgotten_by_age_in_steps() {
        let mut inbox = Inbox::new(None);
        let consumer = Consumer::new("c").unwrap();
        let ids = ["a", "b", "c"].map(|id| (consumer.clone(), MessageId::new(id).unwrap()));
        for (at, id) in (10..).zip(&ids) {
            inbox.record(id.clone(), at);
        }
        // Recorded again, it is as young as that.
        inbox.record(ids[0].clone(), 20);
        let age = Duration::from_millis(8);
        assert_eq!(inbox.count(20, age, 5), 2);
        assert_eq!(inbox.purge(20, age, 1), 1);
        assert!(!inbox.contains(&ids[1]) && inbox.contains(&ids[2]));
        assert_eq!(inbox.purge(20, age, 5), 1);
        assert_eq!(inbox.purge(20, age, 5), 0);
        assert!(inbox.contains(&ids[0]));
    }
}
