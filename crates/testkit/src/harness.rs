//! What the conformance suite needs of a store besides its ports: a fresh one for each test, transactions, and time that a test moves.

use std::time::Duration;

use outbox_message::{Delivery, MessageId, Position};
use outbox_store::{
    Consumer, Handled, InboxWriter, OutboxOperator, OutboxStore, OutboxWriter, Save, SaveError,
    Saved,
};

/// A fresh, isolated store of one kind, as a test drives it. Implemented once for each store, beside its [`conformance!`](crate::conformance).
///
/// Whatever goes wrong in the harness itself panics: it is the test that failed.
pub trait Harness: Sized + Send + Sync + 'static {
    /// The store.
    type Store: OutboxStore
        + OutboxOperator
        + OutboxWriter<Self::Connection>
        + InboxWriter<Self::Connection>;
    /// What the store's writer takes.
    type Connection: ?Sized + Send;
    /// An open transaction; dropped without a commit it is rolled back.
    type Transaction: Send;

    /// What this store can do that others cannot.
    const CAPABILITIES: Capabilities;

    /// How many random histories are tried unless the environment says otherwise. A store that shares its procedures with another, and differs in how it reaches
    /// them, may do with fewer.
    const HISTORIES: u32 = 100;

    /// Makes an empty store that no other test sees.
    fn start() -> impl Future<Output = Self> + Send;

    /// Makes an empty store that keeps published messages for this long. `None`, the default, if this store keeps none: what tests them passes
    /// without a look then.
    fn start_keeping(retain: Duration) -> impl Future<Output = Option<Self>> + Send {
        let _ = retain;
        async { None }
    }

    /// Makes an empty store whose upkeep forgets handled ids after this long. `None`, the default, if this store's upkeep never does: what tests it passes
    /// without a look then.
    fn start_keeping_inbox(retain: Duration) -> impl Future<Output = Option<Self>> + Send {
        let _ = retain;
        async { None }
    }

    /// The published messages that the store keeps, by position, with the counters they had. A store made by
    /// [`start`](Self::start) keeps none.
    fn published(&self) -> impl Future<Output = Vec<Delivery>> + Send {
        async { Vec::new() }
    }

    /// The store.
    fn store(&self) -> &Self::Store;

    /// Begins a transaction of a writer.
    fn begin(&self) -> impl Future<Output = Self::Transaction> + Send;

    /// What to hand to the writer.
    fn connection(tx: &mut Self::Transaction) -> &mut Self::Connection;

    /// Commits.
    fn commit(&self, tx: Self::Transaction) -> impl Future<Output = ()> + Send;

    /// Rolls back.
    fn rollback(&self, tx: Self::Transaction) -> impl Future<Output = ()> + Send;

    /// Saves on a connection that has no open transaction. `None` if this store's writer cannot even be called without one.
    fn save_outside(
        &self,
        save: Save<'_>,
    ) -> impl Future<Output = Option<Result<Saved, SaveError>>> + Send;

    /// Records a handling on a connection that has no open transaction. `None`, the default, if this store's writer cannot even be called without one.
    fn once_outside(
        &self,
        consumer: &Consumer,
        id: &MessageId,
    ) -> impl Future<Output = Option<Result<Handled, SaveError>>> + Send {
        let _ = (consumer, id);
        async { None }
    }

    /// The store's clock, in milliseconds since 1970-01-01 UTC.
    fn now_ms(&self) -> impl Future<Output = i64> + Send;

    /// Lets time pass without waiting: moves the store's clock, or shifts the times of all rows back.
    /// What is beyond all time stays there: a block that nothing but an operator or the end of a stop ends, a message that a stop set aside, the end of a
    /// pause that lasts until it is resumed, and of a stop that was ended.
    fn advance(&self, by: Duration) -> impl Future<Output = ()> + Send;

    /// Spoils the pending message at `position`, as a faulty writer or a damaged file would.
    fn corrupt(&self, position: Position, how: Corruption) -> impl Future<Output = ()> + Send;

    /// Deletes the row of the pending message at `position` and nothing else, as a person would with SQL.
    fn delete(&self, position: Position) -> impl Future<Output = ()> + Send;

    /// Sets the counters of the pending message at `position`.
    fn set_counts(
        &self,
        position: Position,
        attempts: u32,
        tries: u32,
    ) -> impl Future<Output = ()> + Send;
}

/// What stores differ in. A case that needs more than a store has passes without a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// Two writers can have uncommitted saves at the same time, so that positions may commit out of order.
    pub concurrent_writers: bool,
    /// A claim can lease lanes while a writer has uncommitted saves.
    pub claims_beside_writers: bool,
    /// A save in commit order waits for the open transaction of another writer of its key (contract O10); needs `concurrent_writers`.
    pub commit_order_waits: bool,
}

impl Capabilities {
    /// One writer at a time, everything else waits for it.
    pub const SERIAL: Self = Self {
        concurrent_writers: false,
        claims_beside_writers: false,
        commit_order_waits: false,
    };

    /// The same with any number of writers at a time.
    #[must_use]
    pub const fn with_concurrent_writers(self) -> Self {
        Self {
            concurrent_writers: true,
            ..self
        }
    }

    /// The same with claims that do not wait for writers.
    #[must_use]
    pub const fn with_claims_beside_writers(self) -> Self {
        Self {
            claims_beside_writers: true,
            ..self
        }
    }

    /// The same with saves in commit order that wait for each other.
    #[must_use]
    pub const fn with_commit_order_waits(self) -> Self {
        Self {
            commit_order_waits: true,
            ..self
        }
    }
}

/// How a row is spoiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Corruption {
    /// Its message id is no text.
    Id,
    /// Its topic is no text; its lane stays.
    Topic,
    /// Its headers cannot be decoded.
    Headers,
    /// It sits in the lane after that of its key.
    Lane,
}

impl Corruption {
    /// Every way to spoil a row.
    pub const ALL: [Self; 4] = [Self::Id, Self::Topic, Self::Headers, Self::Lane];
}
