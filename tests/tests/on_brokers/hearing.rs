//! A publisher that goes between a relay and a broker's and listens: what was handed over when, what was confirmed, what counted.

use std::{
    borrow::Cow,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use outbox::{
    message::Topic,
    publisher::{PublishError, Published, Publisher, Run},
};

/// What was heard. A clone shares it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Heard(Arc<Mutex<Sums>>);

/// What was heard so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sums {
    /// Calls that ended or were dropped.
    pub(crate) calls: usize,
    pub(crate) confirmed: usize,
    /// The most counted failures of a message that was handed over.
    pub(crate) attempts: u32,
    pub(crate) in_flight: usize,
    /// The most calls that were under way at once, and the least time between two beginnings, since the last look.
    pub(crate) most_in_flight: usize,
    pub(crate) least_gap: Option<Duration>,
    began: Option<Instant>,
}

impl Heard {
    /// What was heard so far.
    pub(crate) fn sums(&self) -> Sums {
        *self.lock()
    }

    /// Begins to measure how close calls are.
    pub(crate) fn listen_anew(&self) {
        let mut sums = self.lock();
        sums.most_in_flight = sums.in_flight;
        sums.least_gap = None;
        sums.began = None;
    }

    fn lock(&self) -> MutexGuard<'_, Sums> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, run: Run<'_>) -> Call<'_> {
        let now = Instant::now();
        let mut sums = self.lock();
        sums.in_flight += 1;
        sums.most_in_flight = sums.most_in_flight.max(sums.in_flight);
        if let Some(before) = sums.began.replace(now) {
            let gap = now - before;
            sums.least_gap = Some(sums.least_gap.map_or(gap, |least| least.min(gap)));
        }
        let attempts = run.messages.iter().map(|delivery| delivery.attempts).max();
        sums.attempts = sums.attempts.max(attempts.unwrap_or(0));
        Call(self)
    }
}

/// A call that is under way until this is dropped.
struct Call<'a>(&'a Heard);

impl Drop for Call<'_> {
    fn drop(&mut self) {
        let mut sums = self.0.lock();
        sums.in_flight -= 1;
        sums.calls += 1;
    }
}

/// The publisher.
#[derive(Debug)]
pub(crate) struct Hearing {
    pub(crate) broker: Arc<dyn Publisher>,
    pub(crate) heard: Heard,
}

#[async_trait]
impl Publisher for Hearing {
    fn destination<'a>(&'a self, topic: &'a Topic) -> Cow<'a, str> {
        self.broker.destination(topic)
    }

    fn has_one_destination(&self) -> bool {
        self.broker.has_one_destination()
    }

    async fn publish(&self, run: Run<'_>) -> Published {
        let _call = self.heard.begin(run);
        let published = self.broker.publish(run).await;
        self.heard.lock().confirmed += published.confirmed;
        published
    }

    async fn check(&self, topic: &Topic) -> Result<(), PublishError> {
        self.broker.check(topic).await
    }
}
