//! P1: what claims and settlements cost, counted in statements as the driver runs them. Alone in its process, because it listens to all of the driver's events.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

#[path = "sqlite/scratch.rs"]
#[expect(dead_code, reason = "this binary uses a part of it")]
mod scratch;

use std::sync::{
    OnceLock,
    atomic::{AtomicUsize, Ordering},
};

use outbox_message::{Message, MessageId, Topic};
use outbox_store::{
    AfterDeath, Claim, Consumer, DeathReason, Handled, OutboxOperator, OutboxStore, Outcome, Save,
};
use outbox_store_sqlite::{SqliteConfig, SqliteStore};
use scratch::{Scratch, message, retry, settlements};
use tokio::sync::{Mutex, MutexGuard};
use tracing::{Event, Subscriber};
use tracing_subscriber::{
    Layer, layer::Context, layer::SubscriberExt, registry::LookupSpan, util::SubscriberInitExt,
};

static STATEMENTS: AtomicUsize = AtomicUsize::new(0);

/// Counts the driver's events: one for each statement, none for BEGIN and COMMIT.
struct Counter;

impl<S: Subscriber + for<'s> LookupSpan<'s>> Layer<S> for Counter {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == "sqlx::query" {
            STATEMENTS.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// One test at a time counts.
async fn counting() -> MutexGuard<'static, ()> {
    static ALONE: OnceLock<Mutex<()>> = OnceLock::new();
    let alone = ALONE.get_or_init(|| {
        tracing_subscriber::registry().with(Counter).init();
        Mutex::new(())
    });
    alone.lock().await
}

/// Statements run by `work`. The driver reports a statement before its next one begins, so the last one is waited for by another.
async fn cost<T>(scratch: &Scratch, work: impl Future<Output = T>) -> (T, usize) {
    let before = settled_count(scratch).await;
    let done = work.await;
    let after = settled_count(scratch).await;
    (done, after - before - 1)
}

/// The count once every connection is idle. Adds one statement of its own.
async fn settled_count(scratch: &Scratch) -> usize {
    assert_eq!(
        scratch.pool.size(),
        1,
        "one connection runs everything in turn"
    );
    scratch.count("SELECT 1").await;
    // The driver's thread takes the next command only after it reported the statement before.
    sqlx::Connection::ping(&mut *scratch.pool.acquire().await.unwrap())
        .await
        .unwrap();
    STATEMENTS.load(Ordering::SeqCst)
}

fn many(count: usize) -> Vec<Message> {
    (0..count)
        .map(|n| message(Some(&format!("key-{}", n % 50)), "x"))
        .collect()
}

async fn claim_all(scratch: &Scratch) -> (Claim, usize) {
    cost(scratch, scratch.claim(100)).await
}

#[tokio::test]
async fn p1_a_published_batch_costs_five_statements_and_its_look() {
    let _alone = counting().await;
    let scratch = Scratch::with_connections(1).await;
    scratch.save(&many(1_000)).await;
    for _ in 0..3 {
        let (claim, claimed) = claim_all(&scratch).await;
        assert_eq!(claim.lanes.len(), 2);
        assert!(claim.entries.len() > 50);
        let (settled, settling) = cost(&scratch, scratch.settle(&claim, &Outcome::Published)).await;
        assert_eq!(settled.len(), 2);
        assert_eq!((claimed, settling), (1 + 3, 2));
    }
}

#[tokio::test]
async fn p1_a_published_batch_costs_the_same_whatever_its_size_and_a_renewal_one_statement() {
    let _alone = counting().await;
    for keys in [0, 1, 50] {
        for size in [1, 10, 100, 500] {
            let scratch = Scratch::with_connections(1).await;
            let key = |n| (keys > 0).then(|| format!("key-{}", n % keys));
            let messages = (0..size).map(|n| message(key(n).as_deref(), "x"));
            scratch.save(&messages.collect::<Vec<_>>()).await;
            let mut left = size;
            while left > 0 {
                // With room for one more: a claim that is full of one key looks for others.
                let (claim, claimed) = cost(&scratch, scratch.claim(size + 1)).await;
                assert!(!claim.entries.is_empty());
                left -= claim.entries.len();
                let tokens = claim.lanes.iter().map(|lease| lease.token.clone());
                let tokens: Vec<_> = tokens.collect();
                let lease = scratch::request(size).lease;
                let (lost, renewing) = cost(&scratch, scratch.store.extend(&tokens, lease)).await;
                assert_eq!(lost.unwrap(), []);
                let (_, settling) =
                    cost(&scratch, scratch.settle(&claim, &Outcome::Published)).await;
                let costs = (claimed, renewing, settling);
                assert_eq!(costs, (1 + 3, 1, 2), "{keys} keys, {size}");
            }
        }
    }
}

#[tokio::test]
async fn p1_keeping_a_published_batch_costs_one_statement_more() {
    let _alone = counting().await;
    let mut scratch = Scratch::with_connections(1).await;
    let config = SqliteConfig {
        retain: Some(std::time::Duration::from_mins(1)),
        ..SqliteConfig::default()
    };
    let pool = scratch.pool.clone();
    scratch.store = SqliteStore::open_with(pool, config).await.unwrap();
    scratch.save(&many(1_000)).await;
    let (claim, claimed) = claim_all(&scratch).await;
    let (_, settling) = cost(&scratch, scratch.settle(&claim, &Outcome::Published)).await;
    assert_eq!((claimed, settling), (1 + 3, 2 + 1));
}

#[tokio::test]
async fn p1_an_idle_store_costs_one_look() {
    let _alone = counting().await;
    let scratch = Scratch::with_connections(1).await;
    let (claim, claimed) = claim_all(&scratch).await;
    assert!(claim.lanes.is_empty());
    assert_eq!(claimed, 1);
}

#[tokio::test]
async fn p1_failures_cost_the_same_whatever_their_number() {
    let _alone = counting().await;
    let mut costs = Vec::new();
    for size in [200, 1_600] {
        let scratch = Scratch::with_connections(1).await;
        scratch.save(&many(size)).await;
        let request = scratch::request(size * 2);
        let (claim, claimed) = cost(&scratch, scratch.store.claim(&request)).await;
        let claim = claim.unwrap();
        // Each kind of outcome for a quarter of the keys; what follows a failed head is given back.
        let outcomes = settlements(&claim, |position| match (position.0 % 50 % 4, position.0) {
            (0, _) => Outcome::Published,
            (1, ..=50) => retry(60),
            (2, ..=50) => Outcome::Dead {
                reason: DeathReason::Permanent,
                error: "no".into(),
                after: AfterDeath::Hold,
                notice: None,
            },
            _ => Outcome::Release,
        });
        let (settled, settling) = cost(&scratch, scratch.store.settle(&outcomes)).await;
        settled.unwrap();
        scratch
            .sql("UPDATE outbox_blocked_key SET until = 1 WHERE reason = 'retry'")
            .await;
        // The same lanes again: rows are set aside, and what waited is read.
        scratch
            .sql("UPDATE outbox_lane SET turn = 1000 - turn")
            .await;
        let (again, reclaimed) = cost(&scratch, scratch.store.claim(&request)).await;
        assert!(again.unwrap().moved > 0);
        costs.push((claimed, settling, reclaimed));
    }
    assert_eq!(costs[0], costs[1]);
    assert_eq!(costs[0], (4, 9, 8));
}

#[tokio::test]
async fn p1_setting_stopped_topics_aside_costs_the_same_whatever_their_number() {
    let _alone = counting().await;
    let topic = Topic::new("orders").unwrap();
    let mut costs = Vec::new();
    for size in [200, 1_600] {
        let scratch = Scratch::with_connections(1).await;
        let mut messages = many(size);
        messages.extend((0..size).map(|_| message(None, "x")));
        scratch.save(&messages).await;
        let (freed, idle) = cost(&scratch, scratch.store.free_topics()).await;
        assert_eq!(freed.unwrap(), 0);
        scratch.store.pause(&topic, None).await.unwrap();
        let request = scratch::request(size * 2);
        let (claim, aside) = cost(&scratch, scratch.store.claim(&request)).await;
        let claim = claim.unwrap();
        assert!(claim.moved > size / 8 && claim.entries.is_empty());
        let moved = |claim: Result<Claim, _>| claim.unwrap().moved;
        while moved(scratch.store.claim(&request).await) > 0 {}
        let (nothing, again) = cost(&scratch, scratch.store.claim(&request)).await;
        assert_eq!(moved(nothing), 0);
        assert!(scratch.store.resume(&topic).await.unwrap());
        let (freed, freeing) = cost(&scratch, scratch.store.free_topics()).await;
        assert!(freed.unwrap() > 50);
        costs.push((idle, aside, again, freeing));
    }
    // Beside lease, line and giving back: the keys' blocks, their messages and those without a key, each moved by two.
    assert_eq!(costs[0], (1, 9, 1, 5));
    assert_eq!(costs[1], (1, 9, 1, 4));
}

#[tokio::test]
async fn w7_saving_many_costs_as_many_statements_as_saving_one() {
    let _alone = counting().await;
    let scratch = Scratch::with_connections(1).await;
    let mut costs = Vec::new();
    let once = Some(std::time::Duration::from_mins(1));
    for (size, once) in [
        (1, None),
        (2, None),
        (3_000, None),
        (1, once),
        (3_000, once),
    ] {
        let messages = many(size);
        let saves = messages.iter().map(|message| Save {
            once,
            ..Save::from(message)
        });
        let saves: Vec<Save<'_>> = saves.collect();
        let save = async {
            let mut tx = scratch.pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
            if let [one] = &saves[..] {
                scratch.store.save(&mut tx, *one).await.unwrap();
            } else {
                scratch.store.save_all(&mut tx, &saves).await.unwrap();
            }
            tx.commit().await.unwrap();
        };
        costs.push(cost(&scratch, save).await.1);
    }
    // The test for an open transaction, the positions, the messages, and the ids if they are to be remembered.
    assert_eq!(costs, [3, 3, 3, 4, 4]);
}

#[tokio::test]
async fn i5_a_handling_costs_one_statement_whatever_was_handled_before() {
    let _alone = counting().await;
    let scratch = Scratch::with_connections(1).await;
    let consumer = Consumer::new("billing").unwrap();
    for before in [false, true] {
        if before {
            scratch
                .sql(
                    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
                     INSERT INTO outbox_inbox (consumer, message_id) SELECT 'billing', 'before-' || i FROM n",
                )
                .await;
        }
        let id = MessageId::generate();
        let handling = async {
            let mut tx = scratch.pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
            for told in [Handled::First, Handled::Duplicate] {
                let handled = scratch.store.once(&mut tx, &consumer, &id).await;
                assert_eq!(handled.unwrap(), told);
            }
            assert!(scratch.store.forget(&mut tx, &consumer, &id).await.unwrap());
            tx.commit().await.unwrap();
        };
        // Each beside the test for an open transaction.
        assert_eq!(cost(&scratch, handling).await.1, 3 * 2);
    }
}
