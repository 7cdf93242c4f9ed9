//! Wake-ups: a commit tells whoever waits that there may be work. A hint that nobody heard is kept for the next one who asks.

use std::{
    collections::BTreeMap,
    pin::Pin,
    task::{Context, Poll, Waker},
};

use crate::MemoryStore;

#[derive(Debug, Default)]
pub(crate) struct Hints {
    unheard: bool,
    last_waiter: u64,
    waiters: BTreeMap<u64, Waker>,
}

impl Hints {
    /// Gives a hint. The wakers are called by the caller, once it has let go of the state.
    #[must_use]
    pub(crate) fn give(&mut self) -> Vec<Waker> {
        self.unheard = self.waiters.is_empty();
        std::mem::take(&mut self.waiters).into_values().collect()
    }
}

/// Completes at the next hint, or at once if the last one was not heard.
pub(crate) struct WakeUp<'a> {
    store: &'a MemoryStore,
    state: Waiting,
}

enum Waiting {
    NotYet,
    As(u64),
    Over,
}

impl<'a> WakeUp<'a> {
    pub(crate) fn new(store: &'a MemoryStore) -> Self {
        Self {
            store,
            state: Waiting::NotYet,
        }
    }
}

impl Future for WakeUp<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let waiting = self.store.with(|state| {
            let hints = &mut state.hints;
            let waiter = match self.state {
                Waiting::NotYet if std::mem::take(&mut hints.unheard) => return Waiting::Over,
                Waiting::NotYet => {
                    hints.last_waiter += 1;
                    hints.last_waiter
                }
                // A hint takes the waiters off the list.
                Waiting::As(waiter) if !hints.waiters.contains_key(&waiter) => {
                    return Waiting::Over;
                }
                Waiting::As(waiter) => waiter,
                Waiting::Over => return Waiting::Over,
            };
            hints.waiters.insert(waiter, cx.waker().clone());
            Waiting::As(waiter)
        });
        self.state = waiting;
        match self.state {
            Waiting::Over => Poll::Ready(()),
            _ => Poll::Pending,
        }
    }
}

impl Drop for WakeUp<'_> {
    fn drop(&mut self) {
        if let Waiting::As(waiter) = self.state {
            self.store.with(|state| {
                // Woken but dropped before it could look: the hint is still unheard.
                if state.hints.waiters.remove(&waiter).is_none() {
                    state.hints.unheard = true;
                }
            });
        }
    }
}
