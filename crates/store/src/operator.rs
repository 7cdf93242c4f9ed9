//! The operator side of the port: what people do with a store.

use std::{fmt::Debug, sync::Arc, time::Duration};

use async_trait::async_trait;
use outbox_message::{MessageId, OrderingKey, Position, Topic};

use crate::{
    AfterDeath, AuditLine, AuditPage, Command, DeathReason, Purge, Purged, Replay, Replayed,
    Status, StoreError,
};

/// What operators need of a store.
///
/// Obligations:
///
/// * **A1** Redrive keeps the id and resets attempts, tries and starts. A dead letter that holds its key keeps its position and goes first; every other gets a new position, at the tail (O9).
/// * **A2** Discarding the dead letter that holds its key lets the key go on (O9).
/// * **A3** A step touches at most the number of dead letters asked for, in position order, and doing it again does nothing more.
/// * **A4** Nothing set aside is ever left without its blocked key.
/// * **A5** A purge deletes published messages of the age asked, ids whose time is over, and, if asked, ids of messages handled that long ago, and nothing
///   else; a step is bounded, and repeated steps come to an end. That nothing is kept is no error.
/// * **A6** A paused topic stays stopped (S14) until it is resumed or its time is over, whatever relays say of its destination.
/// * **A7** A replay saves published messages that are kept again, in the order of publishing: the same id, payload, key and headers, and the header
///   [`REPLAY_HEADER`](crate::REPLAY_HEADER) once, at a new position at the tail, with no attempts and tries. Those that are kept stay as they are. A step is
///   bounded, repeated steps come to an end, and none of them meets what the walk itself had published. Remembered ids (C3) do not matter to it.
/// * **A8** Each change by an operator who is [`audited`](Self::audited) grows the command's line of the audit, in the transaction of the change; of a
///   purge that is several transactions, in the last of the step. What is only counted or shown leaves no line.
#[async_trait]
pub trait OutboxOperator: Debug + Send + Sync + 'static {
    /// The state of the store. It counts, so its cost grows with the backlog.
    async fn status(&self) -> Result<Status, StoreError>;

    /// How many dead letters match, and the last position among them.
    async fn count_dead(&self, filter: &DeadFilter) -> Result<(u64, Option<Position>), StoreError>;

    /// The dead letters of a page, by position.
    async fn dead_letters(
        &self,
        page: &DeadPage,
        payload: DeadPayload,
    ) -> Result<Vec<DeadLetter>, StoreError>;

    /// Makes the dead letters of a page pending again.
    async fn redrive(&self, page: &DeadPage) -> Result<Stepped, StoreError>;

    /// Drops the dead letters of a page.
    async fn discard(&self, page: &DeadPage) -> Result<Stepped, StoreError>;

    /// Makes a waiting key due now. `false` if it does not wait for a retry.
    async fn retry_now(&self, key: &OrderingKey) -> Result<bool, StoreError>;

    /// Pauses a topic, for this long or until it is resumed. Pausing again sets the new time. What relays hold already still goes out.
    async fn pause(&self, topic: &Topic, time: Option<Duration>) -> Result<(), StoreError>;

    /// Ends the stop of a topic, whatever its cause. `false` if it is not stopped. [`OutboxStore::free_topics`](crate::OutboxStore::free_topics) is to follow.
    async fn resume(&self, topic: &Topic) -> Result<bool, StoreError>;

    /// Deletes old published messages, if they are kept, and forgets ids whose time is over, and ids of the inbox if it is asked to.
    /// Refuses with [`StoreError::DeadLetterNeedsInbox`] to forget what a dead letter may need, and does nothing else then either.
    async fn purge(&self, purge: &Purge) -> Result<Purged, StoreError>;

    /// Saves published messages that are kept again.
    async fn replay(&self, replay: &Replay) -> Result<Replayed, StoreError>;

    /// The same operator on behalf of a command, which the audit tells of (A8).
    fn audited(&self, command: &Command) -> Arc<dyn OutboxOperator>;

    /// Lines of the audit, the newest first.
    async fn audit(&self, page: &AuditPage) -> Result<Vec<AuditLine>, StoreError>;
}

/// Which dead letters; an empty filter matches all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeadFilter {
    /// Only this message id.
    pub id: Option<MessageId>,
    /// Only this topic.
    pub topic: Option<String>,
    /// Only this key.
    pub key: Option<String>,
    /// Only those that died for this reason.
    pub reason: Option<DeathReason>,
    /// Only those that died at least this long ago, by the store's clock.
    pub older_than: Option<Duration>,
}

/// A bounded part of the dead letters that match, in position order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadPage {
    /// Which dead letters.
    pub filter: DeadFilter,
    /// Only those after this position.
    pub after: Option<Position>,
    /// Only those up to this position: taken from [`OutboxOperator::count_dead`], it keeps a loop from meeting what died meanwhile.
    pub upto: Option<Position>,
    /// At most this many.
    pub limit: usize,
}

/// Whether dead letters are listed with their payloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeadPayload {
    /// With the payload bytes.
    Include,
    /// With its length only.
    Omit,
}

/// What a step over dead letters did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stepped {
    /// How many dead letters were moved or dropped.
    pub count: usize,
    /// How many of them, redriven, went to the tail although they have a key: later messages of their key may already be out.
    pub out_of_order: usize,
    /// The last position met; the next step begins after it. `None`: there was nothing left.
    pub last: Option<Position>,
}

/// A dead letter. Texts are as stored, readable or not; bytes that are no text are shown with replacement characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetter {
    /// Its position.
    pub position: Position,
    /// Its message id.
    pub id: String,
    /// Its topic.
    pub topic: String,
    /// Its key.
    pub key: Option<String>,
    /// Its headers as stored: a JSON array of [name, value] pairs, unless the row was unreadable.
    pub headers: String,
    /// Its content type.
    pub content_type: Option<String>,
    /// The payload, if asked for.
    pub payload: Option<Vec<u8>>,
    /// The payload's length in bytes.
    pub payload_len: u64,
    /// Counted failures.
    pub attempts: u32,
    /// Publish calls whose outcome was recorded.
    pub tries: u32,
    /// The word of its [`DeathReason`](crate::DeathReason).
    pub reason: String,
    /// The last error.
    pub error: String,
    /// What its key does.
    pub after: AfterDeath,
    /// When it was saved, in milliseconds since 1970-01-01 UTC by the store's clock.
    pub saved_at_ms: i64,
    /// When it died, in milliseconds since 1970-01-01 UTC by the store's clock.
    pub died_at_ms: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn _dyn_compatible(_: &dyn OutboxOperator) {}
}
