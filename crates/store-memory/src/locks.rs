//! Locks that a transaction holds until it ends: on an ordering key, so that position order is commit order (O10), and on an
//! id that is saved idempotently (C3) or handled (I2). Leaves out what is done under a lock.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::poll_fn,
    task::{Poll, Waker},
};

use outbox_message::{MessageId, OrderingKey};
use outbox_store::SaveError;

use crate::{MemoryStore, MemoryTx, inbox::HandledId};

/// The number of a transaction.
pub(crate) type TxId = u64;

/// What can be locked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lock {
    Handled(HandledId),
    Id(MessageId),
    Key(OrderingKey),
}

/// Waiting would never end: the other transaction waits for this one.
#[derive(Debug, PartialEq, Eq)]
struct Deadlock;

#[derive(Debug, Default)]
pub(crate) struct Locks {
    held: BTreeMap<Lock, TxId>,
    waiters: BTreeMap<TxId, Waiter>,
}

#[derive(Debug)]
struct Waiter {
    waits_for: TxId,
    waker: Waker,
}

impl Locks {
    /// Takes all of `wanted` or none of them. `tx` waits for one other transaction at a time.
    fn take(
        &mut self,
        tx: TxId,
        wanted: &BTreeSet<Lock>,
        waker: &Waker,
    ) -> Poll<Result<(), Deadlock>> {
        self.waiters.remove(&tx);
        let other = wanted
            .iter()
            .filter_map(|lock| self.held.get(lock).copied())
            .find(|owner| *owner != tx);
        let Some(waits_for) = other else {
            self.held
                .extend(wanted.iter().map(|lock| (lock.clone(), tx)));
            return Poll::Ready(Ok(()));
        };
        if self.waits_for(waits_for, tx) {
            return Poll::Ready(Err(Deadlock));
        }
        let waker = waker.clone();
        self.waiters.insert(tx, Waiter { waits_for, waker });
        Poll::Pending
    }

    /// Whether `tx` waits for `other`, directly or through others. Nobody who would close a circle is let in, so it ends.
    fn waits_for(&self, mut tx: TxId, other: TxId) -> bool {
        while let Some(waiter) = self.waiters.get(&tx) {
            tx = waiter.waits_for;
            if tx == other {
                return true;
            }
        }
        false
    }

    /// Gives back what `tx` holds. The wakers are called by the caller, once it has let go of the state.
    #[must_use]
    pub(crate) fn release(&mut self, tx: TxId) -> Vec<Waker> {
        self.held.retain(|_, owner| *owner != tx);
        self.waiters
            .values()
            .filter(|waiter| waiter.waits_for == tx)
            .map(|waiter| waiter.waker.clone())
            .collect()
    }
}

/// Waits until `tx` holds all of `wanted`. Rolls it back where it would wait forever.
pub(crate) async fn lock_or_roll_back(
    store: &MemoryStore,
    tx: &mut MemoryTx,
    wanted: &BTreeSet<Lock>,
) -> Result<(), SaveError> {
    if let Err(Deadlock) = lock(store, tx.id, wanted).await {
        tx.rollback();
        return Err(SaveError::Conflict(
            "it and another transaction waited for each other's locks".into(),
        ));
    }
    Ok(())
}

async fn lock(store: &MemoryStore, tx: TxId, wanted: &BTreeSet<Lock>) -> Result<(), Deadlock> {
    let _waiting = StopsWaiting { store, tx };
    poll_fn(|cx| store.with(|state| state.locks.take(tx, wanted, cx.waker()))).await
}

/// A caller that gives up waiting must not look as if it still waited.
struct StopsWaiting<'a> {
    store: &'a MemoryStore,
    tx: TxId,
}

impl Drop for StopsWaiting<'_> {
    fn drop(&mut self) {
        self.store
            .with(|state| state.locks.waiters.remove(&self.tx));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> BTreeSet<Lock> {
        BTreeSet::from([Lock::Id(MessageId::new(text).unwrap())])
    }

    #[test]
    fn a_lock_waits_until_its_holder_ends() {
        let mut locks = Locks::default();
        let waker = Waker::noop();
        assert_eq!(locks.take(1, &id("a"), waker), Poll::Ready(Ok(())));
        assert_eq!(locks.take(1, &id("a"), waker), Poll::Ready(Ok(())));
        assert_eq!(locks.take(2, &id("a"), waker), Poll::Pending);
        assert_eq!(locks.release(1).len(), 1);
        assert_eq!(locks.take(2, &id("a"), waker), Poll::Ready(Ok(())));
    }

    #[test]
    fn a_circle_of_three_is_refused_where_it_would_close() {
        let mut locks = Locks::default();
        let waker = Waker::noop();
        for (tx, lock) in [(1, "a"), (2, "b"), (3, "c")] {
            assert_eq!(locks.take(tx, &id(lock), waker), Poll::Ready(Ok(())));
        }
        assert_eq!(locks.take(1, &id("b"), waker), Poll::Pending);
        assert_eq!(locks.take(2, &id("c"), waker), Poll::Pending);
        assert_eq!(locks.take(3, &id("a"), waker), Poll::Ready(Err(Deadlock)));
    }
}
