//! A store whose server is not killed with the relay that asked it.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use outbox::{
    message::{LaneToken, Lanes, Position, Topic},
    store::{
        CircuitChange, Claim, ClaimRequest, DestinationStop, LaneSettled, LaneSettlement,
        OutboxStore, StoreError,
    },
};

/// A server ends what it was asked for, although the relay that asked is gone meanwhile.
#[derive(Debug, Clone)]
pub(super) struct AtServer(pub(super) Arc<dyn OutboxStore>);

impl AtServer {
    async fn ask<T: Send + 'static>(
        &self,
        call: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        tokio::spawn(call).await.unwrap()
    }
}

#[async_trait]
impl OutboxStore for AtServer {
    fn lanes(&self) -> Lanes {
        self.0.lanes()
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Claim, StoreError> {
        let (store, request) = (Arc::clone(&self.0), request.clone());
        self.ask(async move { store.claim(&request).await }).await
    }

    async fn settle(&self, lanes: &[LaneSettlement]) -> Result<Vec<LaneSettled>, StoreError> {
        let (store, lanes) = (Arc::clone(&self.0), lanes.to_vec());
        self.ask(async move { store.settle(&lanes).await }).await
    }

    async fn extend(
        &self,
        tokens: &[LaneToken],
        lease: Duration,
    ) -> Result<Vec<LaneToken>, StoreError> {
        let (store, tokens) = (Arc::clone(&self.0), tokens.to_vec());
        self.ask(async move { store.extend(&tokens, lease).await })
            .await
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
