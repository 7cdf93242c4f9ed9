//! The operator side of the port: the shared store does it.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use outbox_message::{OrderingKey, Position, Topic};
use outbox_store::{
    AuditLine, AuditPage, Command, DeadFilter, DeadLetter, DeadPage, DeadPayload, OutboxOperator,
    Purge, Purged, Replay, Replayed, Status, Stepped, StoreError,
};

use crate::PostgresStore;

#[async_trait]
impl OutboxOperator for PostgresStore {
    async fn status(&self) -> Result<Status, StoreError> {
        self.0.status().await
    }

    async fn count_dead(&self, filter: &DeadFilter) -> Result<(u64, Option<Position>), StoreError> {
        self.0.count_dead(filter).await
    }

    async fn dead_letters(
        &self,
        page: &DeadPage,
        payload: DeadPayload,
    ) -> Result<Vec<DeadLetter>, StoreError> {
        self.0.dead_letters(page, payload).await
    }

    async fn redrive(&self, page: &DeadPage) -> Result<Stepped, StoreError> {
        self.0.redrive(page).await
    }

    async fn discard(&self, page: &DeadPage) -> Result<Stepped, StoreError> {
        self.0.discard(page).await
    }

    async fn retry_now(&self, key: &OrderingKey) -> Result<bool, StoreError> {
        self.0.retry_now(key).await
    }

    async fn pause(&self, topic: &Topic, time: Option<Duration>) -> Result<(), StoreError> {
        self.0.pause(topic, time).await
    }

    async fn resume(&self, topic: &Topic) -> Result<bool, StoreError> {
        self.0.resume(topic).await
    }

    async fn purge(&self, purge: &Purge) -> Result<Purged, StoreError> {
        self.0.purge(purge).await
    }

    async fn replay(&self, replay: &Replay) -> Result<Replayed, StoreError> {
        self.0.replay(replay).await
    }

    fn audited(&self, command: &Command) -> Arc<dyn OutboxOperator> {
        self.0.audited(command)
    }

    async fn audit(&self, page: &AuditPage) -> Result<Vec<AuditLine>, StoreError> {
        self.0.audit(page).await
    }
}
