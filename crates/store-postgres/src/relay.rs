//! The relay side of the port: each method runs one procedure.

use std::{
    future::pending,
    sync::PoisonError,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use outbox_message::{LaneToken, Lanes, Position, Topic};
use outbox_store::{
    CircuitChange, Claim, ClaimRequest, DestinationStop, LaneSettled, LaneSettlement, OutboxStore,
    StoreError,
};

use crate::{
    LANES,
    claim::{Claimed, Claiming},
    config::WakeUp,
    lease::{Extending, RecordCircuit, Starting},
    quiet::{Quiet, Say, Went},
    session::Database,
    settle::Settling,
    store::Relaying,
    topic::{self, StartTopics, StopTopics},
    upkeep,
};

#[async_trait]
impl<D: Database> OutboxStore for Relaying<D> {
    fn lanes(&self) -> Lanes {
        LANES
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Claim, StoreError> {
        let listens = self.database.listens();
        if listens {
            let delay = self.quiet(|quiet| quiet.put_off(Instant::now()));
            if !delay.is_zero() {
                self.database.sleep(delay).await;
            }
        }
        let began = Instant::now();
        let say = if listens {
            self.quiet(|quiet| quiet.say(began))
        } else {
            Say::default()
        };
        let Claimed { claim, quiet, full } = self.run(Claiming { request, say }).await?;
        let went = Went {
            began,
            ended: Instant::now(),
            found: !claim.entries.is_empty() || claim.moved > 0,
            set: quiet,
            full,
        };
        if listens && self.quiet(|quiet| quiet.went(say, went)) {
            self.database.wake();
        }
        Ok(claim)
    }

    async fn settle(&self, lanes: &[LaneSettlement]) -> Result<Vec<LaneSettled>, StoreError> {
        if lanes.is_empty() {
            return Ok(Vec::new());
        }
        let config = &self.config;
        self.run(Settling { lanes, config }).await
    }

    async fn extend(
        &self,
        tokens: &[LaneToken],
        lease: Duration,
    ) -> Result<Vec<LaneToken>, StoreError> {
        if tokens.is_empty() {
            return Ok(Vec::new());
        }
        self.run(Extending { tokens, lease }).await
    }

    async fn starting(&self, token: &LaneToken, position: Position) -> Result<bool, StoreError> {
        self.run(Starting { token, position }).await
    }

    async fn record_circuit(&self, change: &CircuitChange) -> Result<(), StoreError> {
        self.run(RecordCircuit(change)).await
    }

    async fn stop_topics(&self, stop: &DestinationStop) -> Result<(), StoreError> {
        if stop.topics.is_empty() {
            return Ok(());
        }
        self.run(StopTopics(stop)).await
    }

    async fn probe_topic(&self, topic: &Topic) -> Result<bool, StoreError> {
        topic::probe(self, topic).await
    }

    async fn start_topics(&self, topics: &[Topic]) -> Result<(), StoreError> {
        if topics.is_empty() {
            return Ok(());
        }
        self.run(StartTopics(topics)).await
    }

    async fn free_topics(&self) -> Result<usize, StoreError> {
        topic::free(self).await
    }

    async fn maintain(&self) -> Result<usize, StoreError> {
        upkeep::maintain(self).await
    }

    async fn wake_up(&self) {
        match self.config.wake_up {
            WakeUp::Poll => pending().await,
            WakeUp::Notify => self.database.wake_up(self.config.schema.as_str()).await,
        }
    }
}

impl<D> Relaying<D> {
    fn quiet<T>(&self, work: impl FnOnce(&mut Quiet) -> T) -> T {
        work(&mut self.quiet.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
