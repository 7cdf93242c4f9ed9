//! The relay side of the port.

use std::{fmt::Debug, sync::Arc, time::Duration};

use async_trait::async_trait;
use outbox_message::{LaneToken, Lanes, Position, Topic};

use crate::{Claim, ClaimRequest, DestinationStop, LaneSettled, LaneSettlement, StoreError};

/// What a relay needs of a store. Held as `Arc<dyn OutboxStore>`.
///
/// Obligations, each citing the contract:
///
/// * **S1** A claim leases whole lanes; at most one claim holds a lane at any time (O3). A lease that ran out is taken over by an ordinary claim (D2).
/// * **S2** A claim hands out, of each leased lane, messages in position order, and a message only together with, or after, all that precede it (O2, O4).
/// * **S3** Nothing of a key whose head waits, or that is held by a dead letter, is handed out; it is set aside once, and costs nothing afterwards (O6, O9, P3).
/// * **S4** A scheduled message joins the line when it is due, late by a bounded time, never early, and takes its place by position (O1, O8).
/// * **S5** No transaction is open between calls (D2).
/// * **S6** `settle` and `extend` with a stale token change nothing, except that messages reported as published are removed if position and id match,
///   and that start marks of the token's own holder are taken back (D2). Release changes the token.
/// * **S7** An outcome applies only while the message has the tries it was claimed with, so that a settlement sent again counts nothing twice.
/// * **S8** Of several keyed retries of one key in one settlement the smallest position counts; the others are released untouched.
/// * **S9** A lane whose lease ran out on a holder is careful: a claim that meets it leases that lane only and hands out one message, until as many
///   messages as that claim could hold were completed, or nothing of it is due (F6).
/// * **S10** A row that cannot be read is handed out as [`Entry::Unreadable`](crate::Entry::Unreadable) and hinders no other (F7).
/// * **S11** Claim and settle take a constant number of statements, whatever the batch (P1), and their cost does not grow with what cannot run (P2).
/// * **S12** Time is the store's own clock.
/// * **S13** A claim takes the lanes that were served least recently, so that no lane starves (O7).
/// * **S14** While a topic is stopped no message of it is handed out, but for the one that [`probe_topic`](OutboxStore::probe_topic) let through. What
///   stands in the way of other messages is set aside once and costs nothing afterwards, until the stop is over (P3). Other topics go on, in the same lanes
///   too. A retry that falls due meanwhile is set aside likewise; dead letters keep their keys.
/// * **S15** What a stop set aside is freed by bounded steps of [`free_topics`](OutboxStore::free_topics) once it is over, in the order of each key, and
///   nothing else is: schedules, and retries that are not due, keep their time.
/// * **S16** The notice of a death is saved in the transaction that records the death, and only if it is recorded: not with a stale token, and once however
///   often the settlement is sent. It is a plain save of a new message (W3, W5), which joins the line of its own ordering key; each death of a
///   message that was redriven saves its own.
/// * **S17** A claim also hands out what can run of the lanes that their holder [reads on](crate::ReadOn), read anew from the bottom as in a lane that is
///   leased (S2 to S4, S10, S14), within the same limits. What is in hand is left out, and so is every message of a closed key, which is moved only
///   if its key waits or is held anyway. The lease neither ends later by it nor changes its token. Nothing is handed out of a lane whose token is stale,
///   whose lease has run out, or that is served carefully; nor, this time, of one that something else has locked: a claim never waits for it.
#[async_trait]
pub trait OutboxStore: Debug + Send + Sync + 'static {
    /// How many lanes the store has.
    fn lanes(&self) -> Lanes;

    /// Leases lanes that have due work and hands out messages of them, and of those that are read on.
    async fn claim(&self, request: &ClaimRequest) -> Result<Claim, StoreError>;

    /// Records what happened, and gives back the lanes that say so. One answer for each element of `lanes`, in order.
    /// Either all of it is recorded or, on an error, none; after an error the caller cannot know which, and may send it again (S7).
    async fn settle(&self, lanes: &[LaneSettlement]) -> Result<Vec<LaneSettled>, StoreError>;

    /// Makes the leases end `lease` from now. Returns the tokens that are no longer held.
    async fn extend(
        &self,
        tokens: &[LaneToken],
        lease: Duration,
    ) -> Result<Vec<LaneToken>, StoreError>;

    /// Records that the message at `position` of a careful lane is about to be handed over (F6). `false` if the token is stale: it must not be handed over.
    async fn starting(&self, token: &LaneToken, position: Position) -> Result<bool, StoreError>;

    /// Records a change of a relay's circuit, for status, as long as [`Circuit`](crate::Circuit) says; claims never read it.
    async fn record_circuit(&self, change: &CircuitChange) -> Result<(), StoreError>;

    /// Stops topics because their destination is down, or says so again; then the message that was let through is not any more.
    /// A topic that an operator paused stays paused. Messages that are held already are not concerned.
    async fn stop_topics(&self, stop: &DestinationStop) -> Result<(), StoreError>;

    /// Lets one message of a topic whose destination is down through, so that it becomes due at once: the head of a key, or a message without
    /// one; of another lane than the last time, if there is any. `false` if there is none to let through, or the topic is not stopped for this cause:
    /// then [`start_topics`](OutboxStore::start_topics) is right, and whatever comes is the probe.
    async fn probe_topic(&self, topic: &Topic) -> Result<bool, StoreError>;

    /// Ends the stops of topics whose destination is up again, whichever relay began them. One that an operator paused stays paused.
    /// [`free_topics`](OutboxStore::free_topics) is to follow.
    async fn start_topics(&self, topics: &[Topic]) -> Result<(), StoreError>;

    /// One bounded step of freeing what stops that are over set aside: ended ones, and those whose time is over. Returns how many rows it
    /// freed or removed; at zero nothing is left. Costs next to nothing while no topic is stopped.
    async fn free_topics(&self) -> Result<usize, StoreError>;

    /// One bounded step of upkeep: forgets ids whose remembered time is over, ids of the inbox if the store is told how long to keep them, and circuits of relays that are gone, which are those whose
    /// next probe is overdue by more than [`Circuit::FORGOTTEN_AFTER`](crate::Circuit::FORGOTTEN_AFTER). Returns how many rows it removed.
    /// A store that many relays share may do nothing if one of them did it within the minute. Ids of the inbox that a dead letter may need are kept, and that is
    /// reported, after all else is done, as [`StoreError::DeadLetterNeedsInbox`].
    async fn maintain(&self) -> Result<usize, StoreError>;

    /// Completes when there may be new work: a hint, never needed for progress (D3). A store without such hints never completes.
    async fn wake_up(&self);
}

#[async_trait]
impl<S: OutboxStore + ?Sized> OutboxStore for Arc<S> {
    fn lanes(&self) -> Lanes {
        (**self).lanes()
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Claim, StoreError> {
        (**self).claim(request).await
    }

    async fn settle(&self, lanes: &[LaneSettlement]) -> Result<Vec<LaneSettled>, StoreError> {
        (**self).settle(lanes).await
    }

    async fn extend(
        &self,
        tokens: &[LaneToken],
        lease: Duration,
    ) -> Result<Vec<LaneToken>, StoreError> {
        (**self).extend(tokens, lease).await
    }

    async fn starting(&self, token: &LaneToken, position: Position) -> Result<bool, StoreError> {
        (**self).starting(token, position).await
    }

    async fn record_circuit(&self, change: &CircuitChange) -> Result<(), StoreError> {
        (**self).record_circuit(change).await
    }

    async fn stop_topics(&self, stop: &DestinationStop) -> Result<(), StoreError> {
        (**self).stop_topics(stop).await
    }

    async fn probe_topic(&self, topic: &Topic) -> Result<bool, StoreError> {
        (**self).probe_topic(topic).await
    }

    async fn start_topics(&self, topics: &[Topic]) -> Result<(), StoreError> {
        (**self).start_topics(topics).await
    }

    async fn free_topics(&self) -> Result<usize, StoreError> {
        (**self).free_topics().await
    }

    async fn maintain(&self) -> Result<usize, StoreError> {
        (**self).maintain().await
    }

    async fn wake_up(&self) {
        (**self).wake_up().await;
    }
}

/// A circuit opened, tried, or closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CircuitChange {
    /// The destination.
    pub destination: String,
    /// The relay whose circuit it is.
    pub relay: Arc<str>,
    /// `Some` while the circuit is open: when it tries next, and the last error, cleaned. `None` when it closed.
    pub open: Option<(Duration, String)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn _dyn_compatible(_: &dyn OutboxStore) {}
}
