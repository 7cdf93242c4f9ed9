//! Relays, writers and operators at once, unforced, for as long as it takes to meet: no deadlock and nothing lost (case 42).

use std::{
    collections::{BTreeSet, HashMap},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use outbox_message::LaneToken;
use outbox_store::{AfterDeath, LaneSettlement, OutboxOperator, OutboxStore, Outcome};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use tokio::{join, spawn};

use crate::{
    relay::{Relay, Taken, all_dead, dead, retry},
    scene::{Scene, TOPIC, ordering_key},
};

const KEYS: u64 = 48;

/// What all tasks share.
#[derive(Default)]
struct Shared {
    saved: AtomicU64,
    is_over: AtomicBool,
    /// What was published, in the order in which it was.
    out: Mutex<Vec<String>>,
}

/// How long it goes on: rounds, or a minute.
fn goes_on(round: usize, began: Instant) -> bool {
    match std::env::var_os("OUTBOX_SOAK") {
        Some(_) => began.elapsed() < Duration::from_mins(1),
        None => round < 120,
    }
}

/// Decides what becomes of a claim: mostly published; now and then a message fails, and what follows of its key is given back.
fn outcomes(taken: &Taken, random: &mut StdRng) -> HashMap<String, Outcome> {
    let mut failed: BTreeSet<String> = BTreeSet::new();
    let mut outcomes = HashMap::new();
    for payload in taken.payloads() {
        let (key, _) = payload.split_once('/').unwrap();
        let outcome = if failed.contains(key) {
            Outcome::Release
        } else {
            match random.random_range(0..100) {
                0..5 => retry(0),
                5..10 => Outcome::Retry {
                    after: Some(Duration::from_millis(20)),
                    counted: true,
                    error: "refused".to_owned(),
                },
                10..12 => dead(AfterDeath::Hold),
                _ => Outcome::Published,
            }
        };
        if outcome != Outcome::Published {
            failed.insert(key.to_owned());
        }
        outcomes.insert(payload, outcome);
    }
    outcomes
}

fn shuffled<T>(mut items: Vec<T>, random: &mut StdRng) -> Vec<T> {
    for at in (1..items.len()).rev() {
        items.swap(at, random.random_range(0..=at));
    }
    items
}

/// Claims, then renews and settles the same lanes at once, in parts and in any order, and old ones again.
async fn relay(relay: Relay, shared: Arc<Shared>, seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    let (mut old_tokens, mut old): (Vec<LaneToken>, Vec<LaneSettlement>) = (Vec::new(), Vec::new());
    while !shared.is_over.load(Ordering::SeqCst) {
        let taken = relay.claim_up_to(40).await;
        if taken.is_empty() {
            tokio::task::yield_now().await;
            continue;
        }
        let outcomes = outcomes(&taken, &mut random);
        let published = taken.payloads().into_iter();
        let published = published.filter(|payload| outcomes[payload] == Outcome::Published);
        shared.out.lock().unwrap().extend(published);
        let said: Vec<(&str, Outcome)> = outcomes
            .iter()
            .map(|(payload, outcome)| (payload.as_str(), outcome.clone()))
            .collect();
        let (first, second) = said.split_at(said.len() / 2);
        let part = shuffled(taken.part(first), &mut random);
        let rest = shuffled(taken.part(second), &mut random);
        let tokens = shuffled(taken.tokens(), &mut random);
        join!(
            relay.settling(part.clone()),
            relay.extending(tokens.clone()),
            relay.settling(rest),
            relay.extending(old_tokens),
            relay.settling(old),
        );
        let give_back = taken.whole(&[], &Outcome::Release);
        let give_back = shuffled(give_back, &mut random);
        join!(relay.settling(give_back), relay.extending(tokens.clone()));
        (old_tokens, old) = (tokens, part);
    }
}

/// Stops the topic, lets messages through, ends the stop and frees what it set aside, whatever others do.
async fn stop_and_go(relay: Relay, shared: Arc<Shared>, seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    while !shared.is_over.load(Ordering::SeqCst) {
        match random.random_range(0..10) {
            0..2 => relay.stopping(&[TOPIC]).await,
            2 => relay.pausing().await,
            3..5 => {
                relay.probing().await;
            }
            5..7 => relay.ending(&[TOPIC]).await,
            7 => {
                relay.resuming().await;
            }
            _ => {
                relay.store.free_topics().await.unwrap();
            }
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn case42_renewals_settlements_claims_and_operators_of_overlapping_lanes_do_not_deadlock() {
    all_at_once(0).await;
}

/// The topic is stopped and goes on all the time: nothing is left behind, and each key keeps its order.
#[tokio::test(flavor = "multi_thread")]
async fn case42_stops_that_come_and_go_leave_nothing_behind() {
    all_at_once(3).await;
}

async fn all_at_once(stops: usize) {
    let s = Scene::new().await;
    let shared = Arc::<Shared>::default();
    let relays: Vec<Relay> = (0..4).map(|n| s.relay(&format!("relay-{n}"))).collect();
    let operator = s.relay("operator");
    let tasks: Vec<_> = (relays.iter().cloned())
        .zip(0..)
        .map(|(one, seed)| spawn(relay(one, Arc::clone(&shared), seed)))
        .collect();
    let stopping: Vec<Relay> = (0..stops).map(|n| s.relay(&format!("stops-{n}"))).collect();
    let stopped: Vec<_> = (stopping.iter().cloned())
        .zip(100..)
        .map(|(one, seed)| spawn(stop_and_go(one, Arc::clone(&shared), seed)))
        .collect();
    let began = Instant::now();
    let mut random = StdRng::seed_from_u64(42);
    let mut round = 0;
    while goes_on(round, began) {
        round += 1;
        let number = shared.saved.fetch_add(20, Ordering::SeqCst);
        let messages: Vec<(String, String)> = (number..number + 20)
            .map(|n| {
                let key = format!("key-{}", random.random_range(0..KEYS));
                let payload = format!("{key}/{n}");
                (key, payload)
            })
            .collect();
        let messages: Vec<_> = messages
            .iter()
            .map(|(key, payload)| (Some(key.as_str()), payload.clone()))
            .collect();
        s.save_all(&messages).await;
        operator.store.redrive(&all_dead()).await.unwrap();
        let key = ordering_key(&format!("key-{}", random.random_range(0..KEYS)));
        operator.store.retry_now(&key).await.unwrap();
        if round % 10 == 0 {
            s.check().await;
        }
    }
    shared.is_over.store(true, Ordering::SeqCst);
    for task in tasks.into_iter().chain(stopped) {
        task.await.unwrap();
    }
    // What is left has failed, or is dead, or was set aside.
    let last = s.relay("last");
    last.resuming().await;
    loop {
        last.freeing().await;
        let redriven = operator.store.redrive(&all_dead()).await.unwrap();
        let out = last.drain().await;
        shared.out.lock().unwrap().extend(out);
        if redriven.count == 0 && operator.store.status().await.unwrap().pending() == 0 {
            break;
        }
    }
    s.check_empty().await;
    let conflicts: usize = relays
        .iter()
        .chain(&stopping)
        .chain([&operator, &last])
        .map(Relay::conflicts)
        .sum();
    assert_eq!(conflicts, 0, "the server ended transactions for others");
    assert_in_order(
        &shared.out.lock().unwrap(),
        shared.saved.load(Ordering::SeqCst),
    );
}

/// Everything came, and the first of each in the order of its key (O11).
fn assert_in_order(out: &[String], saved: u64) {
    let mut seen = BTreeSet::new();
    let mut last: HashMap<&str, u64> = HashMap::new();
    for payload in out {
        let (key, number) = payload.split_once('/').unwrap();
        let number: u64 = number.parse().unwrap();
        if seen.insert(number) {
            let before = last.insert(key, number);
            assert!(before < Some(number), "{key}: {number} after {before:?}");
        }
    }
    assert_eq!(u64::try_from(seen.len()).unwrap(), saved);
}
