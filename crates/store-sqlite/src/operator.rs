//! The operator side: status, dead letters, redrive, discard, retry now, pause, purge. Each step is one write transaction, which is SQLite's lock of all lanes.

mod dead;
mod status;

use std::time::Duration;

use async_trait::async_trait;
use outbox_message::{OrderingKey, Position, Topic};
use outbox_store::{
    DeadFilter, DeadLetter, DeadPage, DeadPayload, OutboxOperator, Purge, Purged, Status, Stepped,
    StoreError,
};

use crate::{SqliteStore, schema, topics, transaction, upkeep};

impl SqliteStore {
    /// Says what an error of the driver means.
    async fn explained<T>(
        &self,
        what: &'static str,
        done: Result<T, sqlx::Error>,
    ) -> Result<T, StoreError> {
        match done {
            Ok(done) => Ok(done),
            Err(error) => Err(schema::explain(&self.pool, what, error).await),
        }
    }
}

#[async_trait]
impl OutboxOperator for SqliteStore {
    async fn status(&self) -> Result<Status, StoreError> {
        let status = transaction::read(&self.pool, async |tx| status::status(tx).await).await;
        self.explained("show its status", status).await
    }

    async fn count_dead(&self, filter: &DeadFilter) -> Result<(u64, Option<Position>), StoreError> {
        let counted = dead::count(&self.pool, filter).await;
        self.explained("count dead letters", counted).await
    }

    async fn dead_letters(
        &self,
        page: &DeadPage,
        payload: DeadPayload,
    ) -> Result<Vec<DeadLetter>, StoreError> {
        let letters = transaction::read(&self.pool, async |tx| {
            dead::letters(tx, page, payload).await
        })
        .await;
        self.explained("list dead letters", letters).await
    }

    async fn redrive(&self, page: &DeadPage) -> Result<Stepped, StoreError> {
        let stepped =
            transaction::write(&self.pool, async |tx| dead::redrive(tx, page).await).await;
        self.explained("redrive dead letters", stepped).await
    }

    async fn discard(&self, page: &DeadPage) -> Result<Stepped, StoreError> {
        let stepped =
            transaction::write(&self.pool, async |tx| dead::discard(tx, page).await).await;
        self.explained("discard dead letters", stepped).await
    }

    async fn retry_now(&self, key: &OrderingKey) -> Result<bool, StoreError> {
        let retried = sqlx::query(include_str!("sql/retry_now.sql"))
            .bind(key.topic.as_str())
            .bind(key.key.as_str())
            .execute(&self.pool)
            .await
            .map(|done| done.rows_affected() > 0);
        self.explained("make a key due", retried).await
    }

    async fn pause(&self, topic: &Topic, time: Option<Duration>) -> Result<(), StoreError> {
        let paused = topics::pause(&self.pool, topic, time).await;
        self.explained("pause a topic", paused).await
    }

    async fn resume(&self, topic: &Topic) -> Result<bool, StoreError> {
        let resumed = topics::resume(&self.pool, topic).await;
        self.explained("resume a topic", resumed).await
    }

    async fn purge(&self, purge: &Purge) -> Result<Purged, StoreError> {
        upkeep::purge(&self.pool, purge).await
    }
}
