//! Relays and operators: their calls, stopped where a test says, and what they took.

use std::{
    future::Future,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use outbox_message::{LaneToken, Position};
use outbox_store::{
    AfterDeath, Claim, ClaimRequest, DeadFilter, DeadPage, DeathReason, Entry, LaneFilter,
    LaneSettled, LaneSettlement, OutboxStore, Outcome, Settlement, Target,
};
use outbox_store_postgres::{Connection, Relaying, WakeUp};
use outbox_store_postgres_sqlx::PgDatabase;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use tokio::{select, spawn, task::JoinHandle};

use crate::{
    paused::{Gate, Paused, Point},
    scene::{Scene, holder, lane, secs},
};

/// Longer than any test.
const LEASE: Duration = Duration::from_hours(1);

/// A relay or an operator with sessions of its own. Cloning it copies a handle.
#[derive(Debug, Clone)]
pub(crate) struct Relay {
    pub(crate) store: Arc<Relaying<Paused>>,
    /// What its sessions are called, after the test's own name.
    pub(crate) role: String,
}

impl Relay {
    pub(crate) fn new(
        scene: &Scene,
        name: &str,
        server: PgConnectOptions,
        mode: Connection,
    ) -> Self {
        let role = format!("-{name}");
        let application = format!("{}{role}", scene.application);
        let pool = PgPoolOptions::new()
            .max_connections(4)
            .connect_lazy_with(server.application_name(&application));
        let database = PgDatabase::new(pool, mode, WakeUp::Poll);
        let paused = Paused::new(database, &scene.name);
        let store = Arc::new(Relaying::new(paused, scene.config.clone()));
        Self { store, role }
    }

    pub(crate) fn ask(&self) -> ClaimRequest {
        ClaimRequest {
            relay: holder(&self.role),
            limit: 100,
            max_bytes: 16 << 20,
            max_lanes: 8,
            lease: LEASE,
            lanes: LaneFilter::All,
            read_on: Vec::new(),
        }
    }

    pub(crate) async fn claim(&self) -> Taken {
        self.claiming(self.ask()).await
    }

    pub(crate) async fn claim_up_to(&self, limit: usize) -> Taken {
        let ask = ClaimRequest {
            limit,
            ..self.ask()
        };
        self.claiming(ask).await
    }

    /// Claims from the lane of a key only.
    pub(crate) async fn claim_lane_of(&self, key: &str) -> Taken {
        self.claiming(self.only(key)).await
    }

    pub(crate) fn only(&self, key: &str) -> ClaimRequest {
        ClaimRequest {
            lanes: LaneFilter::Only(vec![lane(key)]),
            ..self.ask()
        }
    }

    /// A call that can go into a task of its own; so are all that follow.
    pub(crate) fn claiming(
        &self,
        ask: ClaimRequest,
    ) -> impl Future<Output = Taken> + Send + 'static {
        let store = Arc::clone(&self.store);
        async move { Taken(store.claim(&ask).await.unwrap()) }
    }

    pub(crate) fn settling(
        &self,
        lanes: Vec<LaneSettlement>,
    ) -> impl Future<Output = Vec<LaneSettled>> + Send + 'static {
        let store = Arc::clone(&self.store);
        async move { store.settle(&lanes).await.unwrap() }
    }

    pub(crate) fn extending(
        &self,
        tokens: Vec<LaneToken>,
    ) -> impl Future<Output = Vec<LaneToken>> + Send + 'static {
        let store = Arc::clone(&self.store);
        async move { store.extend(&tokens, LEASE).await.unwrap() }
    }

    /// Marks that a message is about to be handed over.
    pub(crate) fn starting(
        &self,
        token: LaneToken,
        position: Position,
    ) -> impl Future<Output = bool> + Send + 'static {
        let store = Arc::clone(&self.store);
        async move { store.starting(&token, position).await.unwrap() }
    }

    pub(crate) async fn settle(&self, lanes: Vec<LaneSettlement>) -> Vec<LaneSettled> {
        self.settling(lanes).await
    }

    /// Settles all of a claim as published, and gives its lanes back.
    pub(crate) async fn publish(&self, taken: &Taken) {
        self.settle_whole(taken, &[], &Outcome::Published).await;
    }

    /// Settles all of a claim, some by payload, and gives its lanes back. Nothing of it is lost or missed.
    pub(crate) async fn settle_whole(
        &self,
        taken: &Taken,
        some: &[(&str, Outcome)],
        rest: &Outcome,
    ) {
        for settled in self.settle(taken.whole(some, rest)).await {
            assert_eq!(settled, LaneSettled::default());
        }
    }

    /// Claims and publishes until nothing is ready; answers what went out, in order.
    pub(crate) async fn drain(&self) -> Vec<String> {
        let mut out = Vec::new();
        loop {
            let taken = self.claim().await;
            if taken.0.entries.is_empty() && taken.0.moved == 0 && !taken.0.leased_elsewhere {
                return out;
            }
            out.extend(taken.payloads());
            if !taken.0.lanes.is_empty() {
                self.publish(&taken).await;
            }
        }
    }

    /// Begins a call in a task of its own and waits until it stops at this point.
    pub(crate) async fn hold<T: Send + 'static>(
        &self,
        at: Point,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Held<T> {
        let held = self.try_hold(at, work).await.ok();
        held.unwrap_or_else(|| panic!("the call ended without coming to {at:?}"))
    }

    /// The same; a call that ends without coming to this point answers.
    pub(crate) async fn try_hold<T: Send + 'static>(
        &self,
        at: Point,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<Held<T>, T> {
        let control = &self.store.database().control;
        let gate = control.stop_at(at);
        let mut task = spawn(work);
        select! {
            biased;
            () = gate.reached.notified() => Ok(Held { gate, task }),
            done = &mut task => {
                control.forget(&gate);
                Err(done.unwrap())
            }
        }
    }

    /// Begins a call in a task of its own and waits until it waits for a lock that another session has.
    pub(crate) async fn wait<T: Send + 'static>(
        &self,
        scene: &Scene,
        work: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        let task = spawn(work);
        scene.until_it_waits(&self.role, &task).await;
        task
    }

    /// How many transactions the server ended for the sake of another.
    pub(crate) fn conflicts(&self) -> usize {
        self.store
            .database()
            .control
            .conflicts
            .load(Ordering::SeqCst)
    }
}

/// A call that stopped.
pub(crate) struct Held<T> {
    gate: Arc<Gate>,
    task: JoinHandle<T>,
}

impl<T> Held<T> {
    /// Cuts it off, as when its process ends: its transaction is rolled back.
    pub(crate) async fn abandon(self) {
        self.task.abort();
        self.task.await.err().unwrap();
    }

    /// Lets it go on, and waits for its answer.
    pub(crate) async fn go(self) -> T {
        self.gate.open.notify_one();
        self.task.await.unwrap()
    }
}

/// What a claim took.
#[derive(Debug)]
pub(crate) struct Taken(pub(crate) Claim);

impl Taken {
    pub(crate) fn payloads(&self) -> Vec<String> {
        self.0.entries.iter().map(payload).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.entries.is_empty() && self.0.lanes.is_empty()
    }

    pub(crate) fn tokens(&self) -> Vec<LaneToken> {
        let lanes = self.0.lanes.iter();
        lanes.map(|lease| lease.token.clone()).collect()
    }

    pub(crate) fn position(&self, of: &str) -> Position {
        let mut entries = self.0.entries.iter();
        entries
            .find(|entry| payload(entry) == of)
            .unwrap()
            .position()
    }

    /// All of it: some by payload, the rest alike; the lanes are given back.
    pub(crate) fn whole(&self, some: &[(&str, Outcome)], rest: &Outcome) -> Vec<LaneSettlement> {
        self.settlements(true, |payload| {
            let said = some.iter().find(|(of, _)| *of == payload);
            Some(said.map_or(rest, |(_, outcome)| outcome).clone())
        })
    }

    /// Some of it by payload; the lanes stay leased.
    pub(crate) fn part(&self, some: &[(&str, Outcome)]) -> Vec<LaneSettlement> {
        let mut lanes = self.settlements(false, |payload| {
            let said = some.iter().find(|(of, _)| *of == payload);
            said.map(|(_, outcome)| outcome.clone())
        });
        lanes.retain(|lane| !lane.outcomes.is_empty());
        lanes
    }

    fn settlements(
        &self,
        release: bool,
        outcome: impl Fn(&str) -> Option<Outcome>,
    ) -> Vec<LaneSettlement> {
        let lanes = self.0.lanes.iter();
        lanes
            .map(|lease| {
                let mine = self.0.entries.iter();
                let mine = mine.filter(|entry| entry.lane() == lease.token.lane);
                let outcomes = mine.filter_map(|entry| {
                    Some(Settlement {
                        target: target(entry),
                        outcome: outcome(&payload(entry))?,
                    })
                });
                LaneSettlement {
                    token: lease.token.clone(),
                    outcomes: outcomes.collect(),
                    release,
                }
            })
            .collect()
    }
}

fn payload(entry: &Entry) -> String {
    match entry {
        Entry::Message(delivery) => String::from_utf8(delivery.message.payload.to_vec()).unwrap(),
        Entry::Unreadable(row) => panic!("a row cannot be read: {}", row.error),
    }
}

fn target(entry: &Entry) -> Target {
    match entry {
        Entry::Message(delivery) => Target::from(delivery),
        Entry::Unreadable(row) => Target::from(row),
    }
}

/// A counted failure, to be tried again after so many seconds.
pub(crate) fn retry(after: u64) -> Outcome {
    Outcome::Retry {
        after: Some(secs(after)),
        counted: true,
        error: "refused".to_owned(),
    }
}

pub(crate) fn dead(after: AfterDeath) -> Outcome {
    Outcome::Dead {
        reason: DeathReason::Permanent,
        error: "malformed".to_owned(),
        after,
        notice: None,
    }
}

pub(crate) fn all_dead() -> DeadPage {
    DeadPage {
        filter: DeadFilter::default(),
        after: None,
        upto: None,
        limit: 1_000,
    }
}
