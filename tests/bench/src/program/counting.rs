//! A store that tells when messages are recorded as published, and otherwise is the one inside it.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use outbox::{
    message::{LaneToken, Lanes, Position, Topic},
    store::{
        CircuitChange, Claim, ClaimRequest, DestinationStop, LaneSettled, LaneSettlement,
        OutboxStore, Outcome, StoreError,
    },
};

use super::told;

#[derive(Debug)]
pub(crate) struct Counting<S> {
    inner: S,
    /// Tells of each call on standard error, if asked to.
    trace: bool,
}

impl<S: OutboxStore> Counting<S> {
    pub(crate) fn of(inner: S, trace: bool) -> Self {
        Self { inner, trace }
    }

    fn trace(&self, what: &str, began: Instant, messages: usize) {
        if self.trace {
            let at = crate::fleet::now().unwrap_or_default().as_micros();
            eprintln!(
                "{at} {what} {messages} in {} us",
                began.elapsed().as_micros()
            );
        }
    }
}

#[async_trait]
impl<S: OutboxStore> OutboxStore for Counting<S> {
    fn lanes(&self) -> Lanes {
        self.inner.lanes()
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Claim, StoreError> {
        let began = Instant::now();
        let claim = self.inner.claim(request).await?;
        self.trace("claim", began, claim.entries.len());
        Ok(claim)
    }

    async fn settle(&self, lanes: &[LaneSettlement]) -> Result<Vec<LaneSettled>, StoreError> {
        let began = Instant::now();
        let settled = self.inner.settle(lanes).await?;
        let outcomes = lanes.iter().flat_map(|lane| &lane.outcomes);
        let published = outcomes.filter(|it| it.outcome == Outcome::Published);
        let missed: usize = settled.iter().map(|lane| lane.missed.len()).sum();
        let done = published.count().saturating_sub(missed);
        self.trace("settle", began, done);
        if done > 0 {
            // Nobody listens any more if this fails, and then standard input ends too.
            let _ = told::done(done);
        }
        Ok(settled)
    }

    async fn extend(
        &self,
        tokens: &[LaneToken],
        lease: Duration,
    ) -> Result<Vec<LaneToken>, StoreError> {
        self.inner.extend(tokens, lease).await
    }

    async fn starting(&self, token: &LaneToken, position: Position) -> Result<bool, StoreError> {
        self.inner.starting(token, position).await
    }

    async fn record_circuit(&self, change: &CircuitChange) -> Result<(), StoreError> {
        self.inner.record_circuit(change).await
    }

    async fn stop_topics(&self, stop: &DestinationStop) -> Result<(), StoreError> {
        self.inner.stop_topics(stop).await
    }

    async fn probe_topic(&self, topic: &Topic) -> Result<bool, StoreError> {
        self.inner.probe_topic(topic).await
    }

    async fn start_topics(&self, topics: &[Topic]) -> Result<(), StoreError> {
        self.inner.start_topics(topics).await
    }

    async fn free_topics(&self) -> Result<usize, StoreError> {
        self.inner.free_topics().await
    }

    async fn maintain(&self) -> Result<usize, StoreError> {
        self.inner.maintain().await
    }

    async fn wake_up(&self) {
        self.inner.wake_up().await;
    }
}
