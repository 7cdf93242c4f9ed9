//! Cases whose point is their size, on rows that are written by SQL: a large redrive beside relays, very many retries due at once.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use outbox_message::{Lanes, OrderingKey, PartitionKey, Position, Topic};
use outbox_store::{ClaimRequest, DeadFilter, DeadPage, OutboxOperator, OutboxStore, Outcome};
use outbox_store_sqlite::SqliteStore;

use crate::scratch::{Scratch, deliveries, message, request, settlements};

/// How many dead letters match the filter of case 22.
const DEAD: usize = 50_000;

/// How many of them a step redrives.
const STEP: usize = 1_000;

/// Claims and publishes until `done` says that nothing more comes and nothing is left. Returns the ids in the order of their hand-over.
async fn relay(store: SqliteStore, done: Arc<AtomicBool>) -> Vec<String> {
    let ask = ClaimRequest {
        max_lanes: 2,
        ..request(STEP)
    };
    let mut out = Vec::new();
    loop {
        let last = done.load(Ordering::SeqCst);
        let claim = store.claim(&ask).await.unwrap();
        if claim.entries.is_empty() && claim.moved == 0 {
            if last {
                return out;
            }
            tokio::task::yield_now().await;
            continue;
        }
        for delivery in deliveries(&claim) {
            assert_eq!(
                (delivery.attempts, delivery.tries, delivery.starts),
                (0, 0, 0)
            );
            out.push(delivery.message.id.to_string());
        }
        let settled = store
            .settle(&settlements(&claim, |_| Outcome::Published))
            .await;
        for lane in settled.unwrap() {
            assert!(!lane.lost && lane.missed.is_empty());
        }
    }
}

/// Redrives what the filter chooses, in steps, up to `upto`. Returns what each step did.
async fn redrive(store: &SqliteStore, filter: &DeadFilter, upto: Option<Position>) -> Vec<usize> {
    let mut page = DeadPage {
        filter: filter.clone(),
        after: None,
        upto,
        limit: STEP,
    };
    let mut steps = Vec::new();
    loop {
        let stepped = store.redrive(&page).await.unwrap();
        let Some(reached) = stepped.last else {
            return steps;
        };
        steps.push(stepped.count);
        page.after = Some(reached);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn case_22_fifty_thousand_dead_letters_are_redriven_in_steps_beside_a_relay() {
    let scratch = Scratch::new().await;
    scratch
        .sql(
            "BEGIN IMMEDIATE;
             WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 51000)
             INSERT INTO outbox_dead (position, lane, id, topic, key, attempts, tries, error, saved_at, died_at, reason, after, payload)
             SELECT i, i % 8, 'id-' || i, iif(i % 51 = 0, 'other', 'orders'), 'key-' || (i % 5000), 6, 6, 'refused', 1, 2, 'exhausted', 'skip', x'00'
             FROM n;
             UPDATE outbox_position SET last = 51000;
             COMMIT;",
        )
        .await;
    let filter = DeadFilter {
        topic: Some("orders".into()),
        ..DeadFilter::default()
    };
    let (count, upto) = scratch.store.count_dead(&filter).await.unwrap();
    assert_eq!((count, upto), (50_000, Some(Position(50_999))));
    let dead = "SELECT count(*) FROM outbox_dead";
    let pending = "SELECT count(*) FROM outbox_message";
    assert_eq!(
        (scratch.count(dead).await, scratch.count(pending).await),
        (51_000, 0)
    );

    // New messages come and go meanwhile.
    scratch.save(&[message(Some("key-1"), "new")]).await;
    let done = Arc::new(AtomicBool::new(false));
    let relay = tokio::spawn(relay(scratch.another().await, Arc::clone(&done)));
    let steps = redrive(&scratch.store, &filter, upto).await;
    assert_eq!(steps, [STEP; DEAD / STEP]);
    assert_eq!(redrive(&scratch.store, &filter, upto).await, [0_usize; 0]);
    assert_eq!(scratch.store.count_dead(&filter).await.unwrap(), (0, None));
    done.store(true, Ordering::SeqCst);

    let out = relay.await.unwrap();
    let ids: HashSet<&str> = out.iter().map(String::as_str).collect();
    assert_eq!(
        (out.len(), ids.len()),
        (DEAD + 1, DEAD + 1),
        "each went out once"
    );
    assert_eq!(
        (scratch.count(dead).await, scratch.count(pending).await),
        (1_000, 0)
    );
}

/// The lane of a key, as the tables have it.
fn lane(key: &str) -> u16 {
    let key = OrderingKey {
        topic: Topic::new("orders").unwrap(),
        key: PartitionKey::new(key).unwrap(),
    };
    key.lane(Lanes::new(8).unwrap()).0
}

#[tokio::test]
async fn case_38_thousands_of_due_keys_do_not_overfill_a_claim() {
    const KEYS: i64 = 2_000;
    const EACH: usize = 10;
    let scratch = Scratch::new().await;
    let keys: Vec<(i64, u16, String)> = (1..=KEYS)
        .map(|n| (n, lane(&format!("key-{n}")), format!("key-{n}")))
        .collect();
    let keys = serde_json::to_string(&keys).unwrap();
    // Position n + 2,000 r is message r of key n.
    for statement in [
        "WITH RECURSIVE r (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM r WHERE i < 9)
         INSERT INTO outbox_waiting (position, lane, id, topic, key, attempts, tries, saved_at, payload)
         SELECT (k.value ->> 0) + 2000 * r.i, k.value ->> 1, 'id-' || r.i, 'orders', k.value ->> 2, 0, 0, 1, x'00'
         FROM r CROSS JOIN json_each(?1) AS k",
        "INSERT INTO outbox_blocked_key (lane, topic, key, until, reason, position)
         SELECT k.value ->> 1, 'orders', k.value ->> 2, 1, 'retry', k.value ->> 0
         FROM json_each(?1) AS k",
    ] {
        let insert = sqlx::query(statement).bind(&keys);
        insert.execute(&scratch.pool).await.unwrap();
    }
    scratch.sql("UPDATE outbox_position SET last = 20000").await;

    let mut out: HashMap<String, Vec<i64>> = HashMap::new();
    let mut largest = 0;
    loop {
        let claim = scratch.claim(500).await;
        if claim.entries.is_empty() && claim.moved == 0 {
            break;
        }
        largest = largest.max(claim.entries.len());
        assert!(claim.entries.len() <= 500, "{}", claim.entries.len());
        for delivery in deliveries(&claim) {
            let key = delivery.message.key.as_ref().unwrap().as_str();
            out.entry(key.to_owned())
                .or_default()
                .push(delivery.position.0);
        }
        scratch.settle(&claim, &Outcome::Published).await;
    }
    assert_eq!((out.len(), largest), (2_000, 500));
    for (key, positions) in out {
        assert_eq!(positions.len(), EACH, "{key}");
        assert!(positions.is_sorted(), "{key}: {positions:?}");
    }
    let left =
        "SELECT (SELECT count(*) FROM outbox_waiting) + (SELECT count(*) FROM outbox_blocked_key)";
    assert_eq!(scratch.count(left).await, 0);
}
