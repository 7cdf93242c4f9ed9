//! A service with its database, a store of what came in, and relays between them. Time stands still until a test moves it.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use outbox_backoff::Backoff;
use outbox_engine::{Gate, Relay, RelayConfig, Report};
use outbox_inbox::{Delivered, Dispatcher, Handler, HandlerError, Incoming, Intake, Processor};
use outbox_message::{Message, MessageId};
use outbox_publisher::Publisher;
use outbox_store::{
    Consumer, DeadFilter, DeadLetter, DeadPage, DeadPayload, Handled, InboxWriter, OutboxOperator,
    OutboxStore, SaveError, StoreError, Transactions,
};
use outbox_store_memory::{MemoryStore, MemoryTx};
use serde::Deserialize;
use tokio::sync::Notify;

pub(crate) const PAID: &str = "urn:babel:orders:paid";

/// Longer than anything waits.
pub(crate) const FOREVER: Duration = Duration::from_hours(24);

/// How a database is slow, and how its commits end.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Faults {
    pub(crate) begin: Duration,
    pub(crate) once: Duration,
    pub(crate) commit: Duration,
    pub(crate) ending: Ending,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Ending {
    #[default]
    Committed,
    /// It committed, and said that it failed.
    Denied,
    /// It was rolled back, and said no more than that it failed.
    RolledBack,
    /// It committed, and the answer never comes.
    Silent,
}

/// The database of a service, which can go away.
#[derive(Debug, Clone)]
pub(crate) struct Database {
    pub(crate) store: MemoryStore,
    away: Arc<AtomicBool>,
    faults: Arc<Mutex<Faults>>,
}

impl Database {
    pub(crate) fn new() -> Self {
        Self {
            store: MemoryStore::manual(),
            away: Arc::default(),
            faults: Arc::default(),
        }
    }

    pub(crate) fn set_faults(&self, faults: Faults) {
        *self.faults.lock().unwrap() = faults;
    }

    fn faults(&self) -> Faults {
        *self.faults.lock().unwrap()
    }

    pub(crate) fn set_away(&self, away: bool) {
        self.away.store(away, Ordering::SeqCst);
    }

    /// What handlers wrote into it and committed, sorted.
    pub(crate) async fn effects(&self) -> Vec<String> {
        let mut tx = self.store.begin();
        let pending = outbox_testkit::saved(&self.store, &mut tx).await.unwrap();
        let text = |message: Message| String::from_utf8(message.payload.to_vec()).unwrap();
        pending.into_iter().map(text).collect()
    }

    fn check(&self) -> Result<(), StoreError> {
        if !self.away.load(Ordering::SeqCst) {
            return Ok(());
        }
        Err(broken("it is away"))
    }
}

fn broken(how: &str) -> StoreError {
    StoreError::Database {
        what: "answer",
        source: how.into(),
    }
}

async fn pass(time: Duration) {
    if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
}

#[async_trait]
impl Transactions for Database {
    type Tx = MemoryTx;
    type Open = MemoryTx;

    async fn begin(&self) -> Result<MemoryTx, StoreError> {
        pass(self.faults().begin).await;
        self.check()?;
        Transactions::begin(&self.store).await
    }

    fn tx<'a>(&self, open: &'a mut MemoryTx) -> &'a mut MemoryTx {
        open
    }

    async fn commit(&self, open: MemoryTx) -> Result<(), StoreError> {
        let faults = self.faults();
        pass(faults.commit).await;
        self.check()?;
        if faults.ending == Ending::RolledBack {
            return Err(broken("a constraint was checked at the end"));
        }
        Transactions::commit(&self.store, open).await?;
        match faults.ending {
            Ending::Denied => Err(broken("the connection broke")),
            Ending::Silent => std::future::pending().await,
            Ending::Committed | Ending::RolledBack => Ok(()),
        }
    }

    async fn rollback(&self, open: MemoryTx) {
        Transactions::rollback(&self.store, open).await;
    }
}

#[async_trait]
impl InboxWriter<MemoryTx> for Database {
    async fn once(
        &self,
        tx: &mut MemoryTx,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Result<Handled, SaveError> {
        pass(self.faults().once).await;
        self.store.once(tx, consumer, id).await
    }

    async fn forget(
        &self,
        tx: &mut MemoryTx,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Result<bool, SaveError> {
        self.store.forget(tx, consumer, id).await
    }
}

/// The data of every message here: who it is about, and what its handler is to do.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Paid {
    pub(crate) order: String,
}

/// What a handler does after it wrote its effect.
type Then = dyn Fn(u32) -> Result<(), HandlerError> + Send + Sync;

/// A service whose handler writes one message a delivery, and then ends as a test says.
#[derive(Clone)]
pub(crate) struct Service {
    pub(crate) database: Database,
    pub(crate) incoming: MemoryStore,
    pub(crate) intake: Intake<MemoryStore>,
    calls: Arc<Mutex<Vec<String>>>,
    then: Arc<Then>,
    hold: Arc<AtomicBool>,
    called: Arc<Notify>,
    let_go: Arc<Notify>,
}

impl Service {
    pub(crate) fn new() -> Self {
        Self::ending(|_| Ok(()))
    }

    /// A service whose handler ends like this, told how many failures were counted before.
    pub(crate) fn ending(
        then: impl Fn(u32) -> Result<(), HandlerError> + Send + Sync + 'static,
    ) -> Self {
        let incoming = MemoryStore::manual();
        Self {
            database: Database::new(),
            intake: Intake::new(incoming.clone()).remember(Duration::ZERO),
            incoming,
            calls: Arc::default(),
            then: Arc::new(then),
            hold: Arc::default(),
            called: Arc::default(),
            let_go: Arc::default(),
        }
    }

    /// Another process of the same consumer, with a store of its own of what came in.
    pub(crate) fn elsewhere(&self) -> Self {
        let Self {
            incoming, intake, ..
        } = Self::new();
        Self {
            incoming,
            intake,
            ..self.clone()
        }
    }

    /// The same stores, and a handler that ends like this.
    pub(crate) fn but_ending(
        &self,
        then: impl Fn(u32) -> Result<(), HandlerError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            then: Arc::new(then),
            ..self.clone()
        }
    }

    /// Delivers a message about an order; its id is the order's.
    pub(crate) async fn deliver(&self, order: &str) {
        self.deliver_keyed(order, "").await;
    }

    pub(crate) async fn deliver_keyed(&self, order: &str, key: &str) {
        let body =
            format!(r#"{{"job":"{PAID}","data":{{"order":"{order}"}},"meta":{{"id":"{order}"}}}}"#);
        self.take(Incoming::new("orders", body).key(key)).await;
    }

    pub(crate) async fn take(&self, incoming: Incoming) {
        self.intake.take(incoming).await.unwrap();
    }

    /// Which orders the handler was called for, in order.
    pub(crate) fn calls(&self) -> Vec<String> {
        self.calls.lock().unwrap().clone()
    }

    /// Holds the handler after it wrote its effect.
    pub(crate) fn hold(&self) {
        self.hold.store(true, Ordering::SeqCst);
    }

    pub(crate) fn open(&self) {
        self.hold.store(false, Ordering::SeqCst);
        self.let_go.notify_waiters();
    }

    /// Completes when the handler was called once more.
    pub(crate) async fn called(&self) {
        self.called.notified().await;
    }

    async fn paid(&self, tx: &mut MemoryTx, paid: Delivered<Paid>) -> Result<(), HandlerError> {
        let effect = Message::new("effects", format!("{} is paid", paid.data.order))?;
        self.database.store.save(tx, &effect).await?;
        self.calls.lock().unwrap().push(paid.data.order);
        self.called.notify_one();
        let let_go = self.let_go.notified();
        if self.hold.load(Ordering::SeqCst) {
            let_go.await;
        }
        (self.then)(paid.attempts)
    }

    pub(crate) fn dispatcher(&self) -> Dispatcher<Self, MemoryTx> {
        Dispatcher::new(self.clone()).on(PAID, Self::paid)
    }

    pub(crate) fn processor(&self) -> Processor<Database, impl Handler<MemoryTx> + use<>> {
        Processor::new(
            self.database.clone(),
            "billing".parse().unwrap(),
            self.dispatcher(),
        )
    }

    /// Handles what is ready, with an attempt for each message and no more, so that any failure that is counted shows.
    pub(crate) async fn try_once(&self) -> Report {
        let config = RelayConfig {
            max_attempts: 1,
            ..config()
        };
        let relay = relay(self.incoming.clone(), self.processor(), config);
        relay.drain().await.unwrap()
    }

    /// Handles what is ready, as a process of its own would.
    pub(crate) async fn drain(&self) -> Report {
        relay(self.incoming.clone(), self.processor(), config())
            .drain()
            .await
            .unwrap()
    }

    pub(crate) async fn dead(&self) -> Vec<DeadLetter> {
        let page = DeadPage {
            filter: DeadFilter::default(),
            after: None,
            upto: None,
            limit: 100,
        };
        let dead = self.incoming.dead_letters(&page, DeadPayload::Include);
        dead.await.unwrap()
    }

    /// The only dead letter: its reason, its error and its attempts.
    pub(crate) async fn death(&self) -> (String, String, u32) {
        let mut dead = self.dead().await;
        assert_eq!(dead.len(), 1, "{dead:?}");
        let letter = dead.remove(0);
        (letter.reason, letter.error, letter.attempts)
    }
}

/// A failure is tried again after exactly ten seconds, three times at most.
pub(crate) fn config() -> RelayConfig {
    RelayConfig {
        max_attempts: 3,
        backoff: Backoff::fixed(Duration::from_secs(10)),
        gate: Gate::new(),
        ..RelayConfig::default()
    }
}

pub(crate) fn relay(
    store: impl OutboxStore,
    publisher: impl Publisher,
    config: RelayConfig,
) -> Relay {
    Relay::with_config(store, publisher, config).unwrap()
}
