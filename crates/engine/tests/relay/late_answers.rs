//! A store whose answer comes late: what it did is done, and the relay does not know it yet.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use outbox_engine::Relay;
use outbox_message::{LaneToken, Lanes, Position, Topic};
use outbox_store::{
    CircuitChange, Claim, ClaimRequest, DestinationStop, LaneSettled, LaneSettlement, OutboxStore,
    StoreError,
};
use outbox_testkit::FaultyStore;
use tokio::sync::Notify;

use crate::world::World;

/// Its first settlement is answered only after a claim that was asked for later.
#[derive(Debug)]
struct LateAnswer {
    inner: FaultyStore,
    settled: AtomicBool,
    claimed: Notify,
}

#[async_trait]
impl OutboxStore for LateAnswer {
    fn lanes(&self) -> Lanes {
        self.inner.lanes()
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Claim, StoreError> {
        let late = self.settled.load(Ordering::SeqCst);
        let claim = self.inner.claim(request).await;
        if late {
            self.claimed.notify_one();
        }
        claim
    }

    async fn settle(&self, lanes: &[LaneSettlement]) -> Result<Vec<LaneSettled>, StoreError> {
        let settled = self.inner.settle(lanes).await;
        if !self.settled.swap(true, Ordering::SeqCst) {
            self.claimed.notified().await;
        }
        settled
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

#[tokio::test(start_paused = true)]
async fn d2_a_claim_that_is_answered_before_the_settlement_before_it_keeps_its_lane() {
    let world = World::new();
    world.save("a", Some("k")).await;
    world.broker.hold("a");
    let store = Arc::new(LateAnswer {
        inner: world.store.clone(),
        settled: AtomicBool::new(false),
        claimed: Notify::new(),
    });
    let relay = Relay::with_config(store, world.broker.clone(), world.config.clone())
        .expect("valid settings");
    let drain = tokio::spawn(async move { relay.drain().await });
    while world.broker.handed().is_empty() {
        tokio::task::yield_now().await;
    }
    world.save("b", Some("k")).await;
    world.broker.let_go("a");

    let report = drain.await.expect("no panic").expect("a drain");
    assert_eq!(report.published, 2);
    assert_eq!(world.broker.handed().len(), 2);
    let status = world.status().await;
    assert_eq!(status.pending(), 0);
    assert!(status.lanes.is_empty(), "{:?}", status.lanes);
}
