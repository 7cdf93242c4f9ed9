//! A store, a broker and relays that share tokio's clock.

use std::{sync::Arc, sync::Mutex, time::Duration};

use async_trait::async_trait;
use outbox_engine::{Gate, Relay, RelayConfig, RelayError, Report};
use outbox_message::{LaneToken, Lanes, Message, Position, Topic};
use outbox_store::{
    CircuitChange, Claim, ClaimRequest, DeadFilter, DeadLetter, DeadPage, DeadPayload,
    DestinationStop, LaneSettled, LaneSettlement, OutboxOperator, OutboxStore, Save, Status,
    StoreError,
};
use outbox_store_memory::{Damage, MemoryStore};
use outbox_testkit::{FaultyStore, ScriptedPublisher};
use tokio::{
    sync::{Notify, oneshot},
    task::JoinHandle,
    time::Instant,
};

/// A store whose clock goes with tokio's.
#[derive(Debug)]
struct InStep {
    inner: MemoryStore,
    last: Mutex<Instant>,
    committed: Notify,
    claims_take: Mutex<Duration>,
    answers_take: Mutex<Duration>,
    settlements_take: Mutex<Duration>,
}

impl InStep {
    fn step(&self) -> &MemoryStore {
        let now = Instant::now();
        let last = std::mem::replace(&mut *self.last.lock().expect("no test panics in here"), now);
        if now > last {
            self.inner.advance(now - last);
        }
        &self.inner
    }
}

/// Takes as long as a test wants it.
async fn take(time: &Mutex<Duration>) {
    let time = *time.lock().expect("no test panics in here");
    if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
}

#[async_trait]
impl OutboxStore for InStep {
    fn lanes(&self) -> Lanes {
        self.inner.lanes()
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Claim, StoreError> {
        take(&self.claims_take).await;
        let claim = self.step().claim(request).await;
        take(&self.answers_take).await;
        claim
    }

    async fn settle(&self, lanes: &[LaneSettlement]) -> Result<Vec<LaneSettled>, StoreError> {
        take(&self.settlements_take).await;
        self.step().settle(lanes).await
    }

    async fn extend(
        &self,
        tokens: &[LaneToken],
        lease: Duration,
    ) -> Result<Vec<LaneToken>, StoreError> {
        self.step().extend(tokens, lease).await
    }

    async fn starting(&self, token: &LaneToken, position: Position) -> Result<bool, StoreError> {
        self.step().starting(token, position).await
    }

    async fn record_circuit(&self, change: &CircuitChange) -> Result<(), StoreError> {
        self.step().record_circuit(change).await
    }

    async fn stop_topics(&self, stop: &DestinationStop) -> Result<(), StoreError> {
        self.step().stop_topics(stop).await
    }

    async fn probe_topic(&self, topic: &Topic) -> Result<bool, StoreError> {
        self.step().probe_topic(topic).await
    }

    async fn start_topics(&self, topics: &[Topic]) -> Result<(), StoreError> {
        self.step().start_topics(topics).await
    }

    async fn free_topics(&self) -> Result<usize, StoreError> {
        self.step().free_topics().await
    }

    async fn maintain(&self) -> Result<usize, StoreError> {
        self.step().maintain().await
    }

    async fn wake_up(&self) {
        // Not the inner store's: there every step of the clock is a hint.
        self.committed.notified().await;
    }
}

/// Everything around a relay.
pub(crate) struct World {
    memory: MemoryStore,
    in_step: Arc<InStep>,
    pub(crate) store: FaultyStore,
    pub(crate) broker: ScriptedPublisher,
    pub(crate) config: RelayConfig,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with_broker(ScriptedPublisher::new())
    }

    pub(crate) fn with_broker(broker: ScriptedPublisher) -> Self {
        let memory = MemoryStore::manual();
        let in_step = Arc::new(InStep {
            inner: memory.clone(),
            last: Mutex::new(Instant::now()),
            committed: Notify::new(),
            claims_take: Mutex::default(),
            answers_take: Mutex::default(),
            settlements_take: Mutex::default(),
        });
        let store = FaultyStore::new(Arc::clone(&in_step) as Arc<dyn OutboxStore>);
        let config = RelayConfig {
            name: "relay".into(),
            gate: Gate::new(),
            ..RelayConfig::default()
        };
        Self {
            memory,
            in_step,
            store,
            broker,
            config,
        }
    }

    /// Saves and commits a message with this id and key; its payload is its id.
    pub(crate) async fn save(&self, id: &str, key: Option<&str>) -> Position {
        self.save_to("orders", id, key).await
    }

    pub(crate) async fn save_to(&self, topic: &str, id: &str, key: Option<&str>) -> Position {
        let message = Message::new(topic, id.to_owned()).and_then(|message| message.with_id(id));
        let message = message
            .and_then(|message| message.with_key(key))
            .expect("a valid message");
        let mut tx = self.in_step.step().begin();
        let saved = self
            .memory
            .save(&mut tx, Save::from(&message))
            .await
            .expect("it is saved");
        tx.commit();
        self.in_step.committed.notify_waiters();
        saved.position().expect("it is new")
    }

    /// Saves `count` messages `prefix-0`, `prefix-1`, ... of one key, or without one.
    pub(crate) async fn save_many(&self, prefix: &str, count: usize, key: Option<&str>) {
        for index in 0..count {
            self.save(&format!("{prefix}-{index}"), key).await;
        }
    }

    /// Every claim that the store answers takes this long.
    pub(crate) fn slow_claims(&self, takes: Duration) {
        let mut claims_take = self.in_step.claims_take.lock();
        **claims_take.as_mut().expect("no test panics in here") = takes;
    }

    /// So long takes the answer of a claim, after the store did what was asked.
    pub(crate) fn slow_answers(&self, takes: Duration) {
        let mut answers_take = self.in_step.answers_take.lock();
        **answers_take.as_mut().expect("no test panics in here") = takes;
    }

    /// So does every settlement that it records.
    pub(crate) fn slow_settlements(&self, takes: Duration) {
        let mut settlements_take = self.in_step.settlements_take.lock();
        **settlements_take.as_mut().expect("no test panics in here") = takes;
    }

    pub(crate) fn corrupt(&self, position: Position) {
        assert!(
            self.memory.corrupt(position, Damage::Headers),
            "nothing pending at {position}"
        );
    }

    pub(crate) fn relay(&self) -> Relay {
        self.relay_of(self.config.clone())
    }

    pub(crate) fn relay_of(&self, config: RelayConfig) -> Relay {
        Relay::with_config(self.store.clone(), self.broker.clone(), config).expect("valid settings")
    }

    pub(crate) async fn flush(&self) -> Report {
        self.relay().flush().await.expect("a round")
    }

    pub(crate) async fn drain(&self) -> Report {
        self.relay().drain().await.expect("a drain")
    }

    /// A relay at work in its own task.
    pub(crate) fn start(&self) -> Running {
        self.start_with(self.config.clone())
    }

    pub(crate) fn start_with(&self, config: RelayConfig) -> Running {
        Running::start(self.relay_of(config))
    }

    /// A relay whose way to the store is its own: the faults of this world do not reach it.
    pub(crate) fn start_beside(&self, config: RelayConfig) -> Running {
        let store = Arc::clone(&self.in_step);
        let relay = Relay::with_config(store, self.broker.clone(), config);
        Running::start(relay.expect("valid settings"))
    }

    /// A relay that reaches destinations in its own way, which the faults of this world do not reach either.
    pub(crate) fn start_elsewhere(
        &self,
        broker: &ScriptedPublisher,
        config: RelayConfig,
    ) -> Running {
        let store = Arc::clone(&self.in_step);
        let relay = Relay::with_config(store, broker.clone(), config);
        Running::start(relay.expect("valid settings"))
    }

    /// The store itself, with the clock of now.
    pub(crate) fn memory(&self) -> MemoryStore {
        self.in_step.step().clone()
    }

    pub(crate) async fn status(&self) -> Status {
        self.in_step.step().status().await.expect("a status")
    }

    pub(crate) async fn dead(&self) -> Vec<DeadLetter> {
        let page = DeadPage {
            filter: DeadFilter::default(),
            after: None,
            upto: None,
            limit: 1_000,
        };
        let letters = self
            .in_step
            .step()
            .dead_letters(&page, DeadPayload::Omit)
            .await;
        letters.expect("the dead letters")
    }
}

/// A relay at work.
pub(crate) struct Running {
    work: JoinHandle<Result<Report, RelayError>>,
    stop: oneshot::Sender<()>,
}

impl Running {
    fn start(relay: Relay) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let work = tokio::spawn(relay.run(async move {
            let _ = stopped.await;
        }));
        Self { work, stop }
    }

    /// Stops it gracefully.
    pub(crate) async fn stop(self) -> Report {
        let _ = self.stop.send(());
        self.work
            .await
            .expect("the relay does not panic")
            .expect("a report")
    }

    /// Waits until it ends by itself.
    pub(crate) async fn ended(self) -> Result<Report, RelayError> {
        self.work.await.expect("the relay does not panic")
    }

    /// Ends it as a crash does: nothing is settled, nothing is given back.
    pub(crate) async fn crash(self) {
        self.work.abort();
        let _ = self.work.await;
    }
}

/// Lets this much time pass.
pub(crate) async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}

pub(crate) fn topic(name: &str) -> Topic {
    Topic::new(name).expect("a valid topic")
}

pub(crate) const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}
