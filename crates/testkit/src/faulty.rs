//! A store that fails where a test says so, around a real one. It counts calls, so that a test can also assert what was not asked.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use outbox_message::{Lane, LaneToken, Lanes, Position, Topic};
use outbox_store::{
    CircuitChange, Claim, ClaimRequest, DestinationStop, LaneSettled, LaneSettlement, OutboxStore,
    StoreError,
};
use tokio::sync::Notify;

/// A call of the relay side of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Call {
    /// [`OutboxStore::claim`].
    Claim,
    /// [`OutboxStore::settle`].
    Settle,
    /// [`OutboxStore::extend`].
    Extend,
    /// [`OutboxStore::starting`].
    Starting,
    /// [`OutboxStore::record_circuit`].
    RecordCircuit,
    /// [`OutboxStore::stop_topics`].
    StopTopics,
    /// [`OutboxStore::probe_topic`].
    ProbeTopic,
    /// [`OutboxStore::start_topics`].
    StartTopics,
    /// [`OutboxStore::free_topics`].
    FreeTopics,
    /// [`OutboxStore::maintain`].
    Maintain,
}

/// A store whose calls fail as a test tells them to.
///
/// Failures are [`StoreError::Database`], which a relay tries again. A clone shares faults and counts.
#[derive(Debug, Clone)]
pub struct FaultyStore {
    inner: Arc<dyn OutboxStore>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    faults: Mutex<Faults>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Faults {
    fail: HashMap<Call, usize>,
    lose: HashMap<Call, usize>,
    silent: HashMap<Call, usize>,
    lanes: HashSet<(Call, Lane)>,
    positions: HashSet<Position>,
    held: HashSet<Call>,
    begun: HashMap<Call, usize>,
    settled: Vec<Vec<LaneSettlement>>,
    claims: Vec<ClaimRequest>,
}

impl FaultyStore {
    /// A store that works like `inner` until it is told otherwise.
    pub fn new(inner: Arc<dyn OutboxStore>) -> Self {
        Self {
            inner,
            shared: Arc::default(),
        }
    }

    /// Fails the next `times` calls before they do anything.
    pub fn fail(&self, call: Call, times: usize) {
        self.shared.lock().fail.insert(call, times);
    }

    /// Does the next `times` calls and loses their answers, as a connection does that breaks during COMMIT.
    pub fn lose_answer(&self, call: Call, times: usize) {
        self.shared.lock().lose.insert(call, times);
    }

    /// Does the next `times` calls and never answers them, as a machine does that loses its power: not even [`heal`](Self::heal)
    /// ends such a call.
    pub fn never_answer(&self, call: Call, times: usize) {
        self.shared.lock().silent.insert(call, times);
    }

    /// Fails every call that touches `lane`: a claim that may lease it, a settlement, renewal or start of it.
    pub fn fail_lane(&self, call: Call, lane: Lane) {
        self.shared.lock().lanes.insert((call, lane));
    }

    /// Fails every settlement that names the message at `position`.
    pub fn fail_position(&self, position: Position) {
        self.shared.lock().positions.insert(position);
    }

    /// Holds these calls before they do anything, until [`open`](Self::open).
    pub fn hold(&self, call: Call) {
        self.shared.lock().held.insert(call);
    }

    /// Lets held calls go on.
    pub fn open(&self, call: Call) {
        self.shared.lock().held.remove(&call);
        self.shared.changed.notify_waiters();
    }

    /// Ends every fault.
    pub fn heal(&self) {
        let mut faults = self.shared.lock();
        faults.fail.clear();
        faults.lose.clear();
        faults.silent.clear();
        faults.lanes.clear();
        faults.positions.clear();
        faults.held.clear();
        drop(faults);
        self.shared.changed.notify_waiters();
    }

    /// How many of these calls have begun so far, failed ones included.
    pub fn calls(&self, call: Call) -> usize {
        self.shared.lock().begun(call)
    }

    /// Completes when this many of these calls have begun, counted from the first one of all.
    pub async fn begun(&self, call: Call, count: usize) {
        self.shared
            .until(|faults| faults.begun(call) >= count)
            .await;
    }

    /// What every settlement so far said, failed ones included.
    pub fn settlements(&self) -> Vec<Vec<LaneSettlement>> {
        self.shared.lock().settled.clone()
    }

    /// What every claim so far asked for, failed ones included.
    pub fn claims(&self) -> Vec<ClaimRequest> {
        self.shared.lock().claims.clone()
    }

    /// Runs one call: counts it, holds it, fails it before or after `work`, or keeps its answer for itself.
    async fn run<T>(
        &self,
        call: Call,
        touches: impl Fn(Lane) -> bool + Send,
        positions: &[Position],
        work: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        *self.shared.lock().begun.entry(call).or_default() += 1;
        self.shared.changed.notify_waiters();
        self.shared
            .until(|faults| !faults.held.contains(&call))
            .await;
        if self.shared.lock().strikes(call, &touches, positions) {
            return Err(broken("do what it was asked before a scripted failure"));
        }
        let answer = work.await?;
        let silent = take_one(&mut self.shared.lock().silent, call);
        if silent {
            std::future::pending::<()>().await;
        }
        if take_one(&mut self.shared.lock().lose, call) {
            return Err(broken("answer before a scripted failure"));
        }
        Ok(answer)
    }
}

fn broken(what: &'static str) -> StoreError {
    StoreError::Database {
        what,
        source: "scripted failure".into(),
    }
}

fn take_one(counts: &mut HashMap<Call, usize>, call: Call) -> bool {
    match counts.get_mut(&call) {
        Some(left) if *left > 0 => {
            *left -= 1;
            true
        }
        _ => false,
    }
}

impl Faults {
    fn begun(&self, call: Call) -> usize {
        self.begun.get(&call).copied().unwrap_or(0)
    }

    fn strikes(
        &mut self,
        call: Call,
        touches: impl Fn(Lane) -> bool,
        positions: &[Position],
    ) -> bool {
        take_one(&mut self.fail, call)
            || self
                .lanes
                .iter()
                .any(|(c, lane)| *c == call && touches(*lane))
            || positions.iter().any(|p| self.positions.contains(p))
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Faults> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn until(&self, mut ready: impl FnMut(&Faults) -> bool) {
        loop {
            // Registered before the look, so that a change between look and wait is not missed.
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if ready(&self.lock()) {
                return;
            }
            changed.await;
        }
    }
}

#[async_trait]
impl OutboxStore for FaultyStore {
    fn lanes(&self) -> Lanes {
        self.inner.lanes()
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Claim, StoreError> {
        self.shared.lock().claims.push(request.clone());
        let touches = |lane| request.lanes.allows(lane);
        self.run(Call::Claim, touches, &[], self.inner.claim(request))
            .await
    }

    async fn settle(&self, lanes: &[LaneSettlement]) -> Result<Vec<LaneSettled>, StoreError> {
        self.shared.lock().settled.push(lanes.to_vec());
        let positions: Vec<_> = lanes
            .iter()
            .flat_map(|lane| lane.outcomes.iter().map(|s| s.target.position))
            .collect();
        let touches = |lane| lanes.iter().any(|s| s.token.lane == lane);
        self.run(Call::Settle, touches, &positions, self.inner.settle(lanes))
            .await
    }

    async fn extend(
        &self,
        tokens: &[LaneToken],
        lease: Duration,
    ) -> Result<Vec<LaneToken>, StoreError> {
        let touches = |lane| tokens.iter().any(|token| token.lane == lane);
        self.run(Call::Extend, touches, &[], self.inner.extend(tokens, lease))
            .await
    }

    async fn starting(&self, token: &LaneToken, position: Position) -> Result<bool, StoreError> {
        let touches = |lane| token.lane == lane;
        self.run(
            Call::Starting,
            touches,
            &[],
            self.inner.starting(token, position),
        )
        .await
    }

    async fn record_circuit(&self, change: &CircuitChange) -> Result<(), StoreError> {
        self.run(
            Call::RecordCircuit,
            |_| false,
            &[],
            self.inner.record_circuit(change),
        )
        .await
    }

    async fn stop_topics(&self, stop: &DestinationStop) -> Result<(), StoreError> {
        let work = self.inner.stop_topics(stop);
        self.run(Call::StopTopics, |_| false, &[], work).await
    }

    async fn probe_topic(&self, topic: &Topic) -> Result<bool, StoreError> {
        let work = self.inner.probe_topic(topic);
        self.run(Call::ProbeTopic, |_| false, &[], work).await
    }

    async fn start_topics(&self, topics: &[Topic]) -> Result<(), StoreError> {
        let work = self.inner.start_topics(topics);
        self.run(Call::StartTopics, |_| false, &[], work).await
    }

    async fn free_topics(&self) -> Result<usize, StoreError> {
        let work = self.inner.free_topics();
        self.run(Call::FreeTopics, |_| false, &[], work).await
    }

    async fn maintain(&self) -> Result<usize, StoreError> {
        self.run(Call::Maintain, |_| false, &[], self.inner.maintain())
            .await
    }

    async fn wake_up(&self) {
        self.inner.wake_up().await;
    }
}
