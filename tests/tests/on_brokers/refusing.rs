//! A publisher that goes between a relay and a broker's and refuses some messages before the broker has seen them.

use std::{
    borrow::Cow,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use outbox::{
    message::Topic,
    publisher::{PublishError, PublishErrorKind, Published, Publisher, Run},
};
use rand::{RngExt, SeedableRng, rngs::StdRng};

/// Refuses one of so many messages, each time it is handed over.
#[derive(Debug)]
pub(crate) struct Refusing {
    broker: Arc<dyn Publisher>,
    one_of: u32,
    dice: Mutex<StdRng>,
    refusals: Arc<AtomicUsize>,
}

impl Refusing {
    /// Each refusal is added to `refusals`, so that those which a killed relay had are known too.
    pub(crate) fn new(
        broker: Arc<dyn Publisher>,
        one_of: u32,
        seed: u64,
        refusals: &Arc<AtomicUsize>,
    ) -> Self {
        Self {
            broker,
            one_of,
            dice: Mutex::new(StdRng::seed_from_u64(seed)),
            refusals: Arc::clone(refusals),
        }
    }

    /// The place of the first message in a run that is refused.
    fn refused(&self, run: Run<'_>) -> Option<usize> {
        let mut dice = self.dice.lock().unwrap_or_else(PoisonError::into_inner);
        (0..run.messages.len()).find(|_| dice.random_range(0..self.one_of) == 0)
    }
}

#[async_trait]
impl Publisher for Refusing {
    fn destination<'a>(&'a self, topic: &'a Topic) -> Cow<'a, str> {
        self.broker.destination(topic)
    }

    fn has_one_destination(&self) -> bool {
        self.broker.has_one_destination()
    }

    async fn publish(&self, run: Run<'_>) -> Published {
        let Some(refused) = self.refused(run) else {
            return self.broker.publish(run).await;
        };
        let messages = &run.messages[..refused];
        if !messages.is_empty() {
            let published = self.broker.publish(Run { messages, ..run }).await;
            if published.failure.is_some() {
                return published;
            }
        }
        self.refusals.fetch_add(1, Ordering::Relaxed);
        let failure = PublishError::new(PublishErrorKind::Rejected, "refused by the test");
        Published::failed(refused, failure)
    }
}
