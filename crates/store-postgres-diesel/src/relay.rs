//! The relay side of the port: the shared store does it.

use std::time::Duration;

use async_trait::async_trait;
use outbox_message::{LaneToken, Lanes, Position, Topic};
use outbox_store::{
    CircuitChange, Claim, ClaimRequest, DestinationStop, LaneSettled, LaneSettlement, OutboxStore,
    StoreError,
};

use crate::PostgresStore;

#[async_trait]
impl OutboxStore for PostgresStore {
    fn lanes(&self) -> Lanes {
        self.0.lanes()
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Claim, StoreError> {
        self.0.claim(request).await
    }

    async fn settle(&self, lanes: &[LaneSettlement]) -> Result<Vec<LaneSettled>, StoreError> {
        self.0.settle(lanes).await
    }

    async fn extend(
        &self,
        tokens: &[LaneToken],
        lease: Duration,
    ) -> Result<Vec<LaneToken>, StoreError> {
        self.0.extend(tokens, lease).await
    }

    async fn starting(&self, token: &LaneToken, position: Position) -> Result<bool, StoreError> {
        self.0.starting(token, position).await
    }

    async fn record_circuit(&self, change: &CircuitChange) -> Result<(), StoreError> {
        self.0.record_circuit(change).await
    }

    async fn stop_topics(&self, stop: &DestinationStop) -> Result<(), StoreError> {
        self.0.stop_topics(stop).await
    }

    async fn probe_topic(&self, topic: &Topic) -> Result<bool, StoreError> {
        self.0.probe_topic(topic).await
    }

    async fn start_topics(&self, topics: &[Topic]) -> Result<(), StoreError> {
        self.0.start_topics(topics).await
    }

    async fn free_topics(&self) -> Result<usize, StoreError> {
        self.0.free_topics().await
    }

    async fn maintain(&self) -> Result<usize, StoreError> {
        self.0.maintain().await
    }

    async fn wake_up(&self) {
        self.0.wake_up().await;
    }
}
