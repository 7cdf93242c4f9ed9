//! The operator side: status, dead letters, redrive, discard, retry now, pause, resume, purge.

mod dead;
mod status;

use std::time::Duration;

use async_trait::async_trait;
use outbox_message::{OrderingKey, Position, Topic};
use outbox_store::{
    DeadFilter, DeadLetter, DeadPage, DeadPayload, OutboxOperator, Purge, Purged, Status, Stepped,
    StoreError,
};

use crate::{
    session::Database,
    store::Relaying,
    topic::{Pause, Resume},
    upkeep,
};

use dead::{CountDead, Discard, ListDead, Redrive, RetryNow};
use status::ReadStatus;

#[async_trait]
impl<D: Database> OutboxOperator for Relaying<D> {
    async fn status(&self) -> Result<Status, StoreError> {
        self.run(ReadStatus).await
    }

    async fn count_dead(&self, filter: &DeadFilter) -> Result<(u64, Option<Position>), StoreError> {
        self.run(CountDead(filter)).await
    }

    async fn dead_letters(
        &self,
        page: &DeadPage,
        payload: DeadPayload,
    ) -> Result<Vec<DeadLetter>, StoreError> {
        self.run(ListDead { page, payload }).await
    }

    async fn redrive(&self, page: &DeadPage) -> Result<Stepped, StoreError> {
        self.run(Redrive(page)).await
    }

    async fn discard(&self, page: &DeadPage) -> Result<Stepped, StoreError> {
        self.run(Discard(page)).await
    }

    async fn retry_now(&self, key: &OrderingKey) -> Result<bool, StoreError> {
        self.run(RetryNow(key)).await
    }

    async fn pause(&self, topic: &Topic, time: Option<Duration>) -> Result<(), StoreError> {
        self.run(Pause { topic, time }).await
    }

    async fn resume(&self, topic: &Topic) -> Result<bool, StoreError> {
        self.run(Resume(topic)).await
    }

    async fn purge(&self, purge: &Purge) -> Result<Purged, StoreError> {
        upkeep::purge(self, purge).await
    }
}
