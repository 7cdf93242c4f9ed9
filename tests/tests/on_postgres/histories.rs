//! Random histories with real concurrency: two writers, up to four relays that fail, crash and come back late, and an operator, all at once on one
//! database; what happened is judged by the history checker, and nothing is lost.
//!
//! The histories are drawn by a seed, their interleaving is the server's. The property test of the conformance suite is its counterpart: one step at a
//! time, each compared with the model.

mod people;
mod relay;
mod sabotage;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use outbox::store::{Claim, ClaimRequest, DeadFilter, DeadPage, OutboxOperator, OutboxStore};

use crate::{
    dice::{Dice, report, seeds, soak},
    doors::{Blocking, Diesel, Door, Function, Relays, Sqlx},
    record::{Record, Watched},
    shop::Shop,
};

#[tokio::test(flavor = "multi_thread")]
async fn any_history_of_relays_at_once_keeps_the_order_through_sqlx() {
    histories::<Sqlx, Sqlx>(8, 300).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn any_history_of_relays_at_once_keeps_the_order_through_diesel() {
    histories::<Diesel, Diesel>(8, 300).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn any_history_saved_through_diesel_and_relayed_through_sqlx_keeps_the_order() {
    histories::<Diesel, Sqlx>(2, 50).await;
    histories::<Blocking, Sqlx>(2, 50).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn any_history_saved_through_sqlx_and_relayed_through_diesel_keeps_the_order() {
    histories::<Sqlx, Diesel>(2, 50).await;
    histories::<Blocking, Diesel>(2, 50).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn any_history_saved_by_the_sql_function_keeps_the_order() {
    histories::<Function, Sqlx>(2, 50).await;
    histories::<Function, Diesel>(2, 50).await;
}

/// Histories of writers by the door `W` and relays with the driver `R`.
async fn histories<W: Door, R: Relays>(short: u64, long: u64) {
    let shop = Arc::new(Shop::open().await);
    let (writer, relays) = (W::writer(&shop.schema).await, R::open(&shop.schema).await);
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in seeds(short, long) {
        for (kind, count) in history::<W, R>(seed, &shop, &writer, &relays).await {
            *kinds.entry(kind).or_default() += count;
        }
    }
    if soak() {
        assert_eq!(kinds.len(), 8, "something never happened: {kinds:?}");
        report(&format!("no rule broken, nothing lost: {kinds:?}"));
    }
}

async fn history<W: Door, R: Relays>(
    seed: u64,
    shop: &Arc<Shop>,
    writer: &W::Writer,
    relays: &R::Store,
) -> BTreeMap<&'static str, usize> {
    let record = Record::new();
    let world = Arc::new(World {
        seed,
        shop: Arc::clone(shop),
        store: Watched::new(relays.clone(), &record),
        operator: relays.clone(),
        record,
        writing: AtomicUsize::new(2),
        fates: Mutex::default(),
    });
    let mut dice = Dice::new(seed, 0);
    let mut tasks = Vec::new();
    for n in 0..2 {
        let writing = people::write::<W, R::Store>(Arc::clone(&world), writer.clone(), n);
        tasks.push(tokio::spawn(writing));
    }
    for n in 0..2 + dice.below(3) {
        let relaying = relay::relay(Arc::clone(&world), Dice::new(seed, 10 + n as u64));
        tasks.push(tokio::spawn(relaying));
    }
    tasks.push(tokio::spawn(people::operate(Arc::clone(&world))));
    for task in tasks {
        let ended = task.await;
        ended.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
    world.finish().await;
    world.record.kinds()
}

/// One history in the making.
struct World<S> {
    seed: u64,
    shop: Arc<Shop>,
    store: Watched<S>,
    operator: S,
    record: Record,
    /// How many writers are not done.
    writing: AtomicUsize,
    fates: Mutex<Fates>,
}

/// What became of messages, by id.
#[derive(Debug, Default)]
struct Fates {
    committed: BTreeSet<String>,
    received: BTreeSet<String>,
    discarded: BTreeSet<String>,
    /// What relays noticed themselves.
    wrong: Vec<String>,
}

impl<S: OutboxStore + OutboxOperator> World<S> {
    fn is_over(&self) -> bool {
        self.writing.load(Ordering::SeqCst) == 0
    }

    /// A relay noticed this; the history goes on.
    fn expect(&self, holds: bool, otherwise: &str) {
        if !holds {
            self.fates.lock().unwrap().wrong.push(otherwise.to_owned());
        }
    }

    async fn claim(&self, request: &ClaimRequest) -> Claim {
        self.store.claim(request).await.unwrap()
    }

    /// Lets whatever waits fall due: hours pass for messages, and none for leases.
    async fn fall_due(&self) {
        // Whoever changes rows of a lane locks it first.
        self.shop
            .schema
            .run(
                "BEGIN;
                 SELECT FROM outbox.lane ORDER BY lane FOR UPDATE;
                 UPDATE outbox.scheduled SET due_at = due_at - interval '2 hours';
                 UPDATE outbox.blocked_key SET until = until - interval '2 hours' WHERE isfinite(until);
                 COMMIT",
            )
            .await;
    }

    /// Ends everything well: all is published or dead, then all dead letters are redriven and published, and nothing is left or lost.
    async fn finish(&self) {
        loop {
            self.fall_due().await;
            let request = ClaimRequest {
                limit: 100,
                max_lanes: 8,
                ..relay::asked("last")
            };
            let claim = self.claim(&request).await;
            assert!(
                !claim.leased_elsewhere,
                "seed {}: a lease is left",
                self.seed
            );
            let nothing = claim.lanes.is_empty() && claim.moved == 0;
            relay::publish_all(self, claim).await;
            if nothing && !people::redrive_one(self, 0).await {
                break;
            }
        }
        let status = self.operator.status().await.unwrap();
        let fates = self.fates.lock().unwrap();
        let ended: BTreeSet<_> = fates.received.union(&fates.discarded).cloned().collect();
        let lost = fates.committed.difference(&ended);
        let mut wrong = fates.wrong.clone();
        wrong.extend(lost.map(|id| format!("{id} is lost")));
        let invented = ended.difference(&fates.committed);
        wrong.extend(invented.map(|id| format!("{id} was never committed")));
        if status.pending() + status.dead > 0 {
            wrong.push(format!("this is left: {status:?}"));
        }
        self.record.judge(&format!("seed {}", self.seed), wrong);
    }
}

/// A page of dead letters: that one, or the first ones.
fn page(id: Option<&str>, limit: usize) -> DeadPage {
    DeadPage {
        filter: DeadFilter {
            id: id.map(|id| id.parse().unwrap()),
            ..DeadFilter::default()
        },
        after: None,
        upto: None,
        limit,
    }
}
