//! The relay side of the port, handed to the modules that do the work.

use std::{future::pending, time::Duration};

use async_trait::async_trait;
use outbox_message::{LaneToken, Lanes, Position, Topic};
use outbox_store::{
    CircuitChange, Claim, ClaimRequest, DestinationStop, LaneSettled, LaneSettlement, OutboxStore,
    StoreError,
};

use crate::{SqliteStore, claim::claim, lease, row::LANES, settle::settle, topics, upkeep};

#[async_trait]
impl OutboxStore for SqliteStore {
    fn lanes(&self) -> Lanes {
        LANES
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Claim, StoreError> {
        claim(&self.pool, request).await
    }

    async fn settle(&self, lanes: &[LaneSettlement]) -> Result<Vec<LaneSettled>, StoreError> {
        settle(&self.pool, lanes, self.config.retain).await
    }

    async fn extend(
        &self,
        tokens: &[LaneToken],
        lease: Duration,
    ) -> Result<Vec<LaneToken>, StoreError> {
        lease::extend(&self.pool, tokens, lease).await
    }

    async fn starting(&self, token: &LaneToken, position: Position) -> Result<bool, StoreError> {
        lease::starting(&self.pool, token, position).await
    }

    async fn record_circuit(&self, change: &CircuitChange) -> Result<(), StoreError> {
        lease::record_circuit(&self.pool, change).await
    }

    async fn stop_topics(&self, stop: &DestinationStop) -> Result<(), StoreError> {
        topics::stop(&self.pool, stop).await
    }

    async fn probe_topic(&self, topic: &Topic) -> Result<bool, StoreError> {
        topics::probe(&self.pool, topic).await
    }

    async fn start_topics(&self, topics: &[Topic]) -> Result<(), StoreError> {
        topics::start(&self.pool, topics).await
    }

    async fn free_topics(&self) -> Result<usize, StoreError> {
        topics::free(&self.pool).await
    }

    async fn maintain(&self) -> Result<usize, StoreError> {
        upkeep::maintain(&self.pool, &self.config).await
    }

    /// SQLite has no notifications between processes; the relay's own wake-up handle serves writers of the same process.
    async fn wake_up(&self) {
        pending::<()>().await;
    }
}
