//! The operator side: status, dead letters, redrive, discard, retry now, purge.

mod dead;
mod status;

use async_trait::async_trait;
use outbox_message::{OrderingKey, Position};
use outbox_store::{
    DeadFilter, DeadLetter, DeadPage, DeadPayload, OutboxOperator, Purge, Purged, Status, Stepped,
    StoreError,
};

use crate::{session::Database, store::Relaying, upkeep::Purging};

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

    async fn purge(&self, purge: &Purge) -> Result<Purged, StoreError> {
        self.run(Purging(purge)).await
    }
}
