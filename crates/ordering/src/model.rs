//! A reference model of a whole store, to run beside a real one. It leaves out payloads, statements
//! and every cost: it is a list of messages and the rules, in code that is meant to be obvious.

mod claim;
mod fault;
mod message;
mod operate;
mod settle;
mod stop;

pub use claim::{Given, Handed, Report, Request};
pub use fault::Fault;
pub use message::{Block, Message};
pub use settle::Outcome;
pub use stop::Cause;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::state::State;

/// A pure store that judges a real one.
///
/// A test does everything to the real store and to the model, in the same order and from one
/// thread. A store has freedom, above all in which lanes a claim takes and how much of them, so
/// the model is an oracle: [`claimed`](Self::claimed) takes what the real store handed out, says
/// whether that was allowed, and goes on from there. Between claims it predicts
/// exactly which messages are pending, dead, published or gone, and their attempts and tries.
///
/// Times are milliseconds since the model began. `K` is the type of ordering keys, `I` that of
/// message ids; positions are the store's numbers, topics are numbers of the test's choice.
///
/// ```
/// use outbox_ordering::model::{Fault, Given, Handed, Model, Outcome, Report, Request};
///
/// let mut model = Model::new(|_key: &&str| 0, 0);
/// for (position, id) in [(1, "a"), (2, "b")] {
///     let tx = model.begin();
///     model.save(tx, position, id, Some("order-1"), None);
///     model.commit(tx);
/// }
/// let request = Request { limit: 10, max_lanes: 1, lease: 30_000, lanes: None };
/// let give = |position, id| Given { position, id, attempts: 0, tries: 0 };
///
/// // A store that hands out 2 without 1 lets it overtake; one that hands out just 1 is fine.
/// let wrong = Report { lanes: vec![Handed { lane: 0, given: vec![give(2, "b")] }], moved: 0 };
/// let overtakes = Fault::Overtakes { position: 2, first: Some(1) };
/// assert_eq!(model.claimed(&request, &wrong), Err(overtakes));
/// let right = Report { lanes: vec![Handed { lane: 0, given: vec![give(1, "a")] }], moved: 0 };
/// let lease = model.claimed(&request, &right)?[0];
/// let retry = Outcome::Retry { after: Some(10_000), counted: true };
/// model.settle(lease, &[(1, retry)], true, false)?;
///
/// // Its key waits for ten seconds, and then a store must not stand still.
/// let empty = Report { lanes: vec![], moved: 0 };
/// assert_eq!(model.claimed(&request, &empty)?, []);
/// model.advance(10_000);
/// assert_eq!(model.claimed(&request, &empty), Err(Fault::Stalled { lane: Some(0) }));
/// # Ok::<(), Fault>(())
/// ```
#[derive(Clone)]
pub struct Model<K, I> {
    lane_of: Arc<dyn Fn(&K) -> u32 + Send + Sync>,
    slack: u64,
    now: u64,
    /// Committed messages, in no particular order; those published, dead and gone too.
    messages: Vec<Message<K, I>>,
    /// What transactions that are still open have saved.
    open: BTreeMap<Tx, Vec<Message<K, I>>>,
    /// The keys that wait. A block whose time has come is inert.
    blocks: BTreeMap<K, Block>,
    /// The topics that are stopped, and those that may still keep messages back.
    stops: BTreeMap<u32, stop::Stop>,
    leases: Vec<Lease<I>>,
    /// The lease that counts for each lane, ended or not.
    current: BTreeMap<u32, LeaseId>,
    /// Counts allocations of positions; orders messages whose position is not known yet.
    born: u64,
    next_tx: u64,
}

/// Names an open transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tx(u64);

/// Names one lease of one lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseId(usize);

#[cfg(test)]
impl LeaseId {
    pub(crate) fn nth(number: usize) -> Self {
        Self(number)
    }
}

#[derive(Debug, Clone)]
struct Lease<I> {
    lane: u32,
    until: u64,
    given: Vec<Given<I>>,
}

impl<K: Ord + Clone, I: Eq + Clone> Model<K, I> {
    /// An empty store that finds the lane of a key by `lane_of`.
    ///
    /// `slack` is how far, in milliseconds, the clock of the real store may be off, because it runs
    /// on while the test does. Within it of a due time or the end of a lease both answers are right.
    /// With a clock that only the test moves it is 0 and the model is exact.
    pub fn new(lane_of: impl Fn(&K) -> u32 + Send + Sync + 'static, slack: u64) -> Self {
        Self {
            lane_of: Arc::new(lane_of),
            slack,
            now: 0,
            messages: Vec::new(),
            open: BTreeMap::new(),
            blocks: BTreeMap::new(),
            stops: BTreeMap::new(),
            leases: Vec::new(),
            current: BTreeMap::new(),
            born: 0,
            next_tx: 0,
        }
    }

    /// Begins a transaction.
    pub fn begin(&mut self) -> Tx {
        self.next_tx += 1;
        let tx = Tx(self.next_tx);
        self.open.insert(tx, Vec::new());
        tx
    }

    /// Saves a message in a transaction, at the position that the real store gave it. With `due`
    /// it is scheduled for that time. In a transaction that has ended nothing is saved. Its topic is 0.
    pub fn save(&mut self, tx: Tx, position: i64, id: I, key: Option<K>, due: Option<u64>) {
        self.save_in(tx, 0, position, id, key, due);
    }

    /// As [`save`](Self::save), for a message of this topic. A key has one topic only.
    pub fn save_in(
        &mut self,
        tx: Tx,
        topic: u32,
        position: i64,
        id: I,
        key: Option<K>,
        due: Option<u64>,
    ) {
        self.born += 1;
        let born = self.born;
        if let Some(saved) = self.open.get_mut(&tx) {
            saved.push(Message {
                id,
                position: Some(position),
                topic,
                key,
                state: if due.is_some() {
                    State::Scheduled
                } else {
                    State::Ready
                },
                due: due.unwrap_or(0),
                attempts: 0,
                tries: 0,
                in_line: due.is_none(),
                born,
            });
        }
    }

    /// Commits: what was saved is visible to claims.
    pub fn commit(&mut self, tx: Tx) {
        self.messages
            .extend(self.open.remove(&tx).unwrap_or_default());
    }

    /// Rolls back: what was saved never was (C1).
    pub fn rollback(&mut self, tx: Tx) {
        self.open.remove(&tx);
    }

    /// Lets time pass, in milliseconds. The crash of a relay is nothing but this: its leases end.
    pub fn advance(&mut self, by: u64) {
        self.now = self.now.saturating_add(by);
    }

    /// The time, in milliseconds since the model began.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Every committed message, published, dead and gone ones included.
    pub fn messages(&self) -> impl Iterator<Item = &Message<K, I>> {
        self.messages.iter()
    }

    /// The message at a position, if it is committed.
    #[must_use]
    pub fn message(&self, position: i64) -> Option<&Message<K, I>> {
        self.messages
            .iter()
            .find(|message| message.position == Some(position))
    }

    /// Why a key waits, if it does for certain or may.
    #[must_use]
    pub fn block(&self, key: &K) -> Option<&Block> {
        self.blocks.get(key).filter(|block| match block.until {
            Some(until) => !self.is_past(until),
            None => true,
        })
    }

    /// Whether a claim by anyone would have something to hand out, for certain: no lane is leased
    /// and some message is due. While it is true an empty claim that moved nothing is a fault.
    #[must_use]
    pub fn must_progress(&self) -> bool {
        self.stalled(None).is_some()
    }

    fn index(&self, position: i64) -> Option<usize> {
        self.messages
            .iter()
            .position(|message| message.position == Some(position))
    }

    /// Whether a due time has come, for certain.
    fn is_past(&self, time: u64) -> bool {
        time.saturating_add(self.slack) <= self.now
    }

    /// Whether a due time may have come.
    fn may_be_past(&self, time: u64) -> bool {
        time <= self.now.saturating_add(self.slack)
    }

    /// The lease of a lane that holds it for certain.
    fn holder(&self, lane: u32) -> Option<LeaseId> {
        let lease = *self.current.get(&lane)?;
        (!self.may_be_past(self.leases[lease.0].until)).then_some(lease)
    }
}

impl<K: fmt::Debug, I: fmt::Debug> fmt::Debug for Model<K, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model")
            .field("now", &self.now)
            .field("messages", &self.messages)
            .field("open", &self.open)
            .field("blocks", &self.blocks)
            .field("stops", &self.stops)
            .field("current", &self.current)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod props;
#[cfg(test)]
mod tests;
