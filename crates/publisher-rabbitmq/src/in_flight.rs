//! What is in flight on a channel, and the batches in which it ends.

use std::{
    future::poll_fn,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use futures_util::{StreamExt, stream::FuturesUnordered, task::AtomicWaker};

/// Futures that end in batches: what ended before any future of a batch is in that batch or in one before.
///
/// That holds for futures that are woken, by one thread, in the order in which they end. One that was woken for something
/// else may be found ended before another that ended earlier and is woken only for that; so a batch is over only when
/// nobody is left who was woken.
#[derive(Debug)]
pub(crate) struct InFlight<F> {
    futures: FuturesUnordered<F>,
    waker: Waker,
    noticed: Arc<Noticed>,
}

/// Passes on who is woken, and remembers that somebody was.
#[derive(Debug, Default)]
struct Noticed {
    somebody: AtomicBool,
    task: AtomicWaker,
}

impl Wake for Noticed {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.somebody.store(true, Ordering::SeqCst);
        self.task.wake();
    }
}

impl<F: Future> InFlight<F> {
    pub(crate) fn new() -> Self {
        let noticed = Arc::<Noticed>::default();
        Self {
            futures: FuturesUnordered::new(),
            waker: Arc::clone(&noticed).into(),
            noticed,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.futures.is_empty()
    }

    pub(crate) fn push(&self, future: F) {
        self.futures.push(future);
    }

    /// Waits until some have ended. Dropping the future loses none.
    pub(crate) async fn batch(&mut self) -> Vec<F::Output> {
        poll_fn(|cx| self.poll_batch(cx)).await
    }

    fn poll_batch(&mut self, cx: &mut Context<'_>) -> Poll<Vec<F::Output>> {
        self.noticed.task.register(cx.waker());
        let mut cx = Context::from_waker(&self.waker);
        let mut batch = Vec::new();
        loop {
            self.noticed.somebody.store(false, Ordering::SeqCst);
            match self.futures.poll_next_unpin(&mut cx) {
                Poll::Ready(Some(output)) => batch.push(output),
                // It is also pending when it only pauses, and then it wakes itself.
                Poll::Pending if self.noticed.somebody.load(Ordering::SeqCst) => {}
                Poll::Ready(None) | Poll::Pending => break,
            }
        }
        if batch.is_empty() {
            Poll::Pending
        } else {
            Poll::Ready(batch)
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    /// Ends when both have been sent.
    async fn both(
        name: &'static str,
        first: oneshot::Receiver<()>,
        last: oneshot::Receiver<()>,
    ) -> &'static str {
        first.await.unwrap();
        last.await.unwrap();
        name
    }

    #[tokio::test]
    async fn what_ended_before_is_in_the_same_batch_whoever_was_woken_first() {
        let mut in_flight = InFlight::new();
        let mut senders = Vec::new();
        for name in ["early", "late", "never"] {
            let (first, first_receiver) = oneshot::channel();
            let (last, last_receiver) = oneshot::channel();
            in_flight.push(both(name, first_receiver, last_receiver));
            senders.push((Some(first), Some(last)));
        }
        let mut cx = Context::from_waker(Waker::noop());
        assert!(in_flight.poll_batch(&mut cx).is_pending());
        let mut first = |n: usize| senders[n].0.take().unwrap().send(()).unwrap();
        first(0);
        assert!(in_flight.poll_batch(&mut cx).is_pending());
        // The late one is woken for its first, then both end, the early one before.
        let (mut first, mut last) = (Vec::new(), Vec::new());
        for (one, other) in senders {
            first.push(one);
            last.push(other.unwrap());
        }
        first[1].take().unwrap().send(()).unwrap();
        let mut last = last.into_iter();
        last.next().unwrap().send(()).unwrap();
        last.next().unwrap().send(()).unwrap();
        let mut batch = in_flight.batch().await;
        batch.sort_unstable();
        assert_eq!(batch, ["early", "late"]);
        assert!(!in_flight.is_empty());
    }
}
