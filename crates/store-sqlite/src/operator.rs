//! The operator side: status, dead letters, redrive, discard, retry now, pause, purge. Each step is one write transaction, which is SQLite's lock of all lanes.

mod audit;
mod dead;
mod replay;
mod status;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use outbox_message::{OrderingKey, Position, Topic};
use outbox_store::{
    Action, AuditLine, AuditPage, Command, DeadFilter, DeadLetter, DeadPage, DeadPayload,
    OutboxOperator, Purge, PurgeMode, Purged, Replay, ReplayMode, Replayed, Status, Stepped,
    StoreError,
};
use sqlx::SqliteConnection;

use crate::{SqliteStore, schema, topics, transaction, upkeep};

impl SqliteStore {
    /// Makes a change under the write lock, and notes in the same transaction how many it concerned, if it is made on behalf of a command.
    async fn change<T>(
        &self,
        what: &'static str,
        action: Action,
        work: impl AsyncFnOnce(&mut SqliteConnection) -> Result<(T, usize), sqlx::Error>,
    ) -> Result<T, StoreError> {
        let done = transaction::write(&self.pool, async |tx| {
            let (done, count) = work(&mut *tx).await?;
            if let Some(command) = &self.command {
                audit::note(tx, command, action, count).await?;
            }
            Ok(done)
        });
        self.explained(what, done.await).await
    }

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
        self.change("redrive dead letters", Action::Redrive, async |tx| {
            let stepped = dead::redrive(tx, page).await?;
            Ok((stepped, stepped.count))
        })
        .await
    }

    async fn discard(&self, page: &DeadPage) -> Result<Stepped, StoreError> {
        self.change("discard dead letters", Action::Discard, async |tx| {
            let stepped = dead::discard(tx, page).await?;
            Ok((stepped, stepped.count))
        })
        .await
    }

    async fn retry_now(&self, key: &OrderingKey) -> Result<bool, StoreError> {
        self.change("make a key due", Action::RetryNow, async |tx| {
            let retried = sqlx::query(include_str!("sql/retry_now.sql"))
                .bind(key.topic.as_str())
                .bind(key.key.as_str())
                .execute(tx)
                .await?;
            let retried = retried.rows_affected() > 0;
            Ok((retried, usize::from(retried)))
        })
        .await
    }

    async fn pause(&self, topic: &Topic, time: Option<Duration>) -> Result<(), StoreError> {
        self.change("pause a topic", Action::Pause, async |tx| {
            Ok((topics::pause(tx, topic, time).await?, 1))
        })
        .await
    }

    async fn resume(&self, topic: &Topic) -> Result<bool, StoreError> {
        self.change("resume a topic", Action::Resume, async |tx| {
            let resumed = topics::resume(tx, topic).await?;
            Ok((resumed, usize::from(resumed)))
        })
        .await
    }

    async fn purge(&self, purge: &Purge) -> Result<Purged, StoreError> {
        let purged = upkeep::purge(&self.pool, purge).await?;
        if self.command.is_some() && purge.mode == PurgeMode::Delete {
            let rows = purged.published + purged.ids + purged.inbox;
            self.change("note a purge", Action::Purge, async |_| {
                Ok(((), usize::try_from(rows).unwrap_or(usize::MAX)))
            })
            .await?;
        }
        Ok(purged)
    }

    async fn replay(&self, replay: &Replay) -> Result<Replayed, StoreError> {
        if replay.mode == ReplayMode::Count {
            let counted =
                transaction::read(&self.pool, async |tx| replay::replay(tx, replay).await);
            return self
                .explained("count published messages", counted.await)
                .await;
        }
        self.change("replay published messages", Action::Replay, async |tx| {
            let replayed = replay::replay(tx, replay).await?;
            Ok((replayed, replayed.count))
        })
        .await
    }

    fn audited(&self, command: &Command) -> Arc<dyn OutboxOperator> {
        Arc::new(Self {
            command: Some(Arc::new(command.clone())),
            ..self.clone()
        })
    }

    async fn audit(&self, page: &AuditPage) -> Result<Vec<AuditLine>, StoreError> {
        let lines = audit::list(&self.pool, page).await;
        self.explained("list its audit", lines).await
    }
}
