//! A store whose calls end: one that is not answered in time has failed, like one that was refused.
//!
//! A database can go silent in the middle of a statement (its machine lost power, its address moved, a firewall forgot
//! the connection), and then nothing ever ends the call.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use outbox_message::{LaneToken, Lanes, Position, Topic};
use outbox_store::{
    CircuitChange, Claim, ClaimRequest, DestinationStop, LaneSettled, LaneSettlement, OutboxStore,
    StoreError,
};
use tokio::time::timeout;

/// How long a small call may take that nothing waits for.
const NOTE: Duration = Duration::from_secs(5);

/// A store that answers in time, or with an error.
///
/// A call that took longer than the lease has no use any more: what it claimed, renewed or started has ended, and a
/// settlement is sent again. Dropping a call is safe: an adapter closes the connection of a call that was dropped, and
/// whether the database did what it was asked is as unknown as after any error of a store; a token that was released
/// meanwhile changes nothing (contract D2).
#[derive(Debug)]
pub(crate) struct InTime {
    store: Arc<dyn OutboxStore>,
    lease: Duration,
}

impl InTime {
    pub(crate) fn new(store: Arc<dyn OutboxStore>, lease: Duration) -> Self {
        Self { store, lease }
    }
}

async fn within<T>(
    limit: Duration,
    what: &'static str,
    call: impl Future<Output = Result<T, StoreError>> + Send,
) -> Result<T, StoreError> {
    timeout(limit, call).await.unwrap_or_else(|_| {
        Err(StoreError::Database {
            what,
            source: format!("it was silent for {limit:?}, and may have done it or not").into(),
        })
    })
}

#[async_trait]
impl OutboxStore for InTime {
    fn lanes(&self) -> Lanes {
        self.store.lanes()
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Claim, StoreError> {
        let call = self.store.claim(request);
        within(self.lease, "answer a claim in time", call).await
    }

    async fn settle(&self, lanes: &[LaneSettlement]) -> Result<Vec<LaneSettled>, StoreError> {
        let call = self.store.settle(lanes);
        within(self.lease, "answer a settlement in time", call).await
    }

    async fn extend(
        &self,
        tokens: &[LaneToken],
        lease: Duration,
    ) -> Result<Vec<LaneToken>, StoreError> {
        let call = self.store.extend(tokens, lease);
        within(self.lease, "answer a renewal in time", call).await
    }

    async fn starting(&self, token: &LaneToken, position: Position) -> Result<bool, StoreError> {
        let call = self.store.starting(token, position);
        within(self.lease, "answer a recorded start in time", call).await
    }

    async fn record_circuit(&self, change: &CircuitChange) -> Result<(), StoreError> {
        let call = self.store.record_circuit(change);
        within(NOTE, "answer the change of a circuit in time", call).await
    }

    async fn stop_topics(&self, stop: &DestinationStop) -> Result<(), StoreError> {
        let call = self.store.stop_topics(stop);
        within(NOTE, "answer the stop of a topic in time", call).await
    }

    async fn probe_topic(&self, topic: &Topic) -> Result<bool, StoreError> {
        let call = self.store.probe_topic(topic);
        within(NOTE, "answer the probe of a topic in time", call).await
    }

    async fn start_topics(&self, topics: &[Topic]) -> Result<(), StoreError> {
        let call = self.store.start_topics(topics);
        within(NOTE, "answer the end of a stop in time", call).await
    }

    async fn free_topics(&self) -> Result<usize, StoreError> {
        let call = self.store.free_topics();
        within(NOTE, "answer the freeing of a topic in time", call).await
    }

    async fn maintain(&self) -> Result<usize, StoreError> {
        within(NOTE, "answer upkeep in time", self.store.maintain()).await
    }

    async fn wake_up(&self) {
        self.store.wake_up().await;
    }
}
