//! The operator side: status, dead letters, redrive, discard, retry now, pause, resume, purge.

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

use crate::{
    procedure::Procedure,
    session::Database,
    store::Relaying,
    topic::{Pause, Resume},
    upkeep,
};

use audit::{Done, ListAudit, Noted};
use dead::{CountDead, Discard, ListDead, Redrive, RetryNow};
use replay::Replaying;
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
        self.change(Action::Redrive, Redrive(page), |stepped| stepped.count)
            .await
    }

    async fn discard(&self, page: &DeadPage) -> Result<Stepped, StoreError> {
        self.change(Action::Discard, Discard(page), |stepped| stepped.count)
            .await
    }

    async fn retry_now(&self, key: &OrderingKey) -> Result<bool, StoreError> {
        self.change(Action::RetryNow, RetryNow(key), |due| usize::from(*due))
            .await
    }

    async fn pause(&self, topic: &Topic, time: Option<Duration>) -> Result<(), StoreError> {
        self.change(Action::Pause, Pause { topic, time }, |()| 1)
            .await
    }

    async fn resume(&self, topic: &Topic) -> Result<bool, StoreError> {
        self.change(Action::Resume, Resume(topic), |ended| usize::from(*ended))
            .await
    }

    async fn purge(&self, purge: &Purge) -> Result<Purged, StoreError> {
        let purged = upkeep::purge(self, purge).await?;
        if self.command.is_some() && purge.mode == PurgeMode::Delete {
            let rows = purged.published + purged.ids + purged.inbox + purged.partitions;
            let rows = usize::try_from(rows).unwrap_or(usize::MAX);
            self.change(Action::Purge, Done, move |()| rows).await?;
        }
        Ok(purged)
    }

    async fn replay(&self, replay: &Replay) -> Result<Replayed, StoreError> {
        match replay.mode {
            ReplayMode::Count => self.run(Replaying(replay)).await,
            ReplayMode::Save => {
                self.change(Action::Replay, Replaying(replay), |done| done.count)
                    .await
            }
        }
    }

    fn audited(&self, command: &Command) -> Arc<dyn OutboxOperator> {
        Arc::new(self.on_behalf(command))
    }

    async fn audit(&self, page: &AuditPage) -> Result<Vec<AuditLine>, StoreError> {
        self.run(ListAudit(page)).await
    }
}

impl<D: Database> Relaying<D> {
    /// Makes a change, and notes in its transaction how many it concerned, if it is made on behalf of a command.
    async fn change<P>(
        &self,
        action: Action,
        change: P,
        count: impl Fn(&P::Output) -> usize + Send + Sync,
    ) -> Result<P::Output, StoreError>
    where
        P: Procedure,
        P::Output: Sync,
    {
        let command = self.command.as_deref();
        self.run(Noted {
            change,
            action,
            command,
            count,
        })
        .await
    }
}
