//! The writer of one store beside the relay side of another, on one database: what one saves the other relays.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use outbox_message::{LaneToken, Lanes, Message, MessageId, OrderingKey, Position, Topic};
use outbox_store::{
    AuditLine, AuditPage, CircuitChange, Claim, ClaimRequest, Command, Consumer, DeadFilter,
    DeadLetter, DeadPage, DeadPayload, DestinationStop, Handled, InboxWriter, LaneSettled,
    LaneSettlement, OutboxOperator, OutboxStore, OutboxWriter, Purge, Purged, Replay, Replayed,
    Save, SaveError, Saved, Status, Stepped, StoreError,
};

pub(crate) struct Pair<W, R> {
    pub(crate) writer: W,
    pub(crate) relays: R,
}

impl<W, R: fmt::Debug> fmt::Debug for Pair<W, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.relays.fmt(f)
    }
}

#[async_trait]
impl<C: ?Sized + Send, W: OutboxWriter<C>, R: Send + Sync> OutboxWriter<C> for Pair<W, R> {
    async fn save(&self, tx: &mut C, save: Save<'_>) -> Result<Saved, SaveError> {
        self.writer.save(tx, save).await
    }

    async fn save_all(&self, tx: &mut C, saves: &[Save<'_>]) -> Result<Vec<Saved>, SaveError> {
        self.writer.save_all(tx, saves).await
    }

    async fn pending(&self, tx: &mut C) -> Result<Vec<Message>, SaveError> {
        self.writer.pending(tx).await
    }
}

#[async_trait]
impl<C: ?Sized + Send, W: InboxWriter<C>, R: Send + Sync> InboxWriter<C> for Pair<W, R> {
    async fn once(
        &self,
        tx: &mut C,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Result<Handled, SaveError> {
        self.writer.once(tx, consumer, id).await
    }

    async fn forget(
        &self,
        tx: &mut C,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Result<bool, SaveError> {
        self.writer.forget(tx, consumer, id).await
    }
}

#[async_trait]
impl<W: Send + Sync + 'static, R: OutboxStore> OutboxStore for Pair<W, R> {
    fn lanes(&self) -> Lanes {
        self.relays.lanes()
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Claim, StoreError> {
        self.relays.claim(request).await
    }

    async fn settle(&self, lanes: &[LaneSettlement]) -> Result<Vec<LaneSettled>, StoreError> {
        self.relays.settle(lanes).await
    }

    async fn extend(
        &self,
        tokens: &[LaneToken],
        lease: Duration,
    ) -> Result<Vec<LaneToken>, StoreError> {
        self.relays.extend(tokens, lease).await
    }

    async fn starting(&self, token: &LaneToken, position: Position) -> Result<bool, StoreError> {
        self.relays.starting(token, position).await
    }

    async fn record_circuit(&self, change: &CircuitChange) -> Result<(), StoreError> {
        self.relays.record_circuit(change).await
    }

    async fn stop_topics(&self, stop: &DestinationStop) -> Result<(), StoreError> {
        self.relays.stop_topics(stop).await
    }

    async fn probe_topic(&self, topic: &Topic) -> Result<bool, StoreError> {
        self.relays.probe_topic(topic).await
    }

    async fn start_topics(&self, topics: &[Topic]) -> Result<(), StoreError> {
        self.relays.start_topics(topics).await
    }

    async fn free_topics(&self) -> Result<usize, StoreError> {
        self.relays.free_topics().await
    }

    async fn maintain(&self) -> Result<usize, StoreError> {
        self.relays.maintain().await
    }

    async fn wake_up(&self) {
        self.relays.wake_up().await;
    }
}

#[async_trait]
impl<W: Send + Sync + 'static, R: OutboxOperator> OutboxOperator for Pair<W, R> {
    async fn status(&self) -> Result<Status, StoreError> {
        self.relays.status().await
    }

    async fn count_dead(&self, filter: &DeadFilter) -> Result<(u64, Option<Position>), StoreError> {
        self.relays.count_dead(filter).await
    }

    async fn dead_letters(
        &self,
        page: &DeadPage,
        payload: DeadPayload,
    ) -> Result<Vec<DeadLetter>, StoreError> {
        self.relays.dead_letters(page, payload).await
    }

    async fn redrive(&self, page: &DeadPage) -> Result<Stepped, StoreError> {
        self.relays.redrive(page).await
    }

    async fn discard(&self, page: &DeadPage) -> Result<Stepped, StoreError> {
        self.relays.discard(page).await
    }

    async fn retry_now(&self, key: &OrderingKey) -> Result<bool, StoreError> {
        self.relays.retry_now(key).await
    }

    async fn pause(&self, topic: &Topic, time: Option<Duration>) -> Result<(), StoreError> {
        self.relays.pause(topic, time).await
    }

    async fn resume(&self, topic: &Topic) -> Result<bool, StoreError> {
        self.relays.resume(topic).await
    }

    async fn purge(&self, purge: &Purge) -> Result<Purged, StoreError> {
        self.relays.purge(purge).await
    }

    async fn replay(&self, replay: &Replay) -> Result<Replayed, StoreError> {
        self.relays.replay(replay).await
    }

    fn audited(&self, command: &Command) -> Arc<dyn OutboxOperator> {
        self.relays.audited(command)
    }

    async fn audit(&self, page: &AuditPage) -> Result<Vec<AuditLine>, StoreError> {
        self.relays.audit(page).await
    }
}
