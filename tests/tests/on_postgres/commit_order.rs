//! Writers that do not exclude each other: with the order lock positions are commit order, without it nothing is lost (O10, O3).
//!
//! The order of commits is seen from inside: the last thing that a transaction does is to count what is committed of its keys. One that ends before
//! another begins its count is in it. So if the counts of a key, in the order of positions, are 1, 2, 3 and so on, each transaction had ended before
//! the next one counted, and their commits are in that order; two that overlapped have the same count.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use outbox::{
    Relay, RelayConfig, Save,
    backoff::Backoff,
    postgres_sqlx::{PostgresConfig, PostgresStore},
    store::{OutboxStore, SaveOrder},
};
use outbox_ordering::history::{Line, What};

use crate::{
    dice::{Dice, report, seeds, soak},
    doors::{Diesel, Relays, Sqlx},
    record::{Record, Watched, Witness},
    schema,
    shop::{Running, Shop, failures, message},
};

const WRITERS: u64 = 16;
const KEYS: usize = 4;

#[tokio::test(flavor = "multi_thread")]
async fn o10_with_the_order_lock_no_message_goes_out_of_commit_order() {
    for seed in seeds(2, 20) {
        let contest = contest(seed, SaveOrder::Commit).await;
        let (saved, overlaps) = (contest.saved.len(), contest.overlaps());
        assert_eq!(overlaps, 0, "seed {seed}: of {saved} messages");
        contest.assert_published_in_order_of_counts(seed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn o10_o3_without_the_order_lock_nothing_is_lost_and_a_key_has_one_holder() {
    let mut overlaps = 0;
    for seed in seeds(2, 20) {
        overlaps += contest(seed, SaveOrder::Position).await.overlaps();
    }
    assert!(overlaps > 0, "the writers never met, so this shows nothing");
}

/// What was saved and published.
struct Contest {
    /// By key and position: the id, and the count.
    saved: BTreeMap<(String, i64), (String, i64)>,
    received: Vec<String>,
}

impl Contest {
    /// How many messages have a count that is not their place in the order of positions.
    fn overlaps(&self) -> usize {
        let mut places: BTreeMap<&str, i64> = BTreeMap::new();
        let counts = self.saved.iter().filter(|((key, _), (_, count))| {
            let place = places.entry(key).or_default();
            *place += 1;
            place != count
        });
        counts.count()
    }

    fn assert_published_in_order_of_counts(&self, seed: u64) {
        let mut saved = BTreeMap::new();
        for ((key, _), (id, count)) in &self.saved {
            saved.insert(id, (key, count));
        }
        let mut last: BTreeMap<&String, i64> = BTreeMap::new();
        for id in &self.received {
            let (key, count) = saved[id];
            let place = last.entry(key).or_default();
            *place += 1;
            assert_eq!(place, count, "seed {seed}: {id} at its turn");
        }
    }
}

async fn contest(seed: u64, order: SaveOrder) -> Contest {
    let shop = Shop::open_at(schema::server(), PostgresConfig::default()).await;
    shop.schema
        .run("CREATE TABLE outbox.written (id text PRIMARY KEY, key text NOT NULL, count bigint NOT NULL);")
        .await;
    let record = Record::new();

    let mut relays = Vec::new();
    for n in 0..4 {
        let config = config(n);
        // Two of them through each driver.
        let store: Arc<dyn OutboxStore> = if n % 2 == 0 {
            Arc::new(Watched::new(Sqlx::open(&shop.schema).await, &record))
        } else {
            Arc::new(Watched::new(Diesel::open(&shop.schema).await, &record))
        };
        let broker = Witness::new(shop.broker.clone(), &record);
        relays.push(Running::start(
            Relay::with_config(store, broker, config).unwrap(),
        ));
    }
    let mut writers = Vec::new();
    for n in 0..WRITERS {
        let writer = Writer {
            dice: Dice::new(seed, n),
            name: n,
            store: shop.store_of(&format!("writer-{n}")).await,
            record: record.clone(),
            count: shop.schema.name.apply(
                "INSERT INTO outbox.written SELECT $1, $2, count(*) + 1 FROM outbox.written WHERE key = $2 RETURNING count",
            ),
            broker: shop.broker.clone(),
            order,
        };
        let transactions = if soak() { 120 } else { 12 };
        writers.push(tokio::spawn(writer.write(transactions)));
    }
    let (mut saved, mut handed) = (BTreeMap::new(), 0);
    for writer in writers {
        let (by_writer, failed) = writer.await.unwrap();
        handed += by_writer.len() + failed;
        saved.extend(by_writer);
    }
    shop.begun(handed).await;
    for relay in relays {
        let done = relay.stop().await;
        assert_eq!((done.store_errors, done.lost, done.left), (0, 0, 0));
    }

    let received = shop.broker.received();
    let arrived: BTreeSet<&String> = received.iter().collect();
    let wanted: BTreeSet<&String> = saved.values().map(|(id, _)| id).collect();
    assert_eq!(arrived, wanted, "seed {seed}");
    assert_eq!(received.len(), wanted.len(), "seed {seed}: duplicates");
    record.judge(&format!("seed {seed}"), Vec::new());
    let contest = Contest { saved, received };
    if soak() {
        let (saved, overlaps) = (contest.saved.len(), contest.overlaps());
        report(&format!(
            "seed {seed}, {order:?}: {saved} messages published once, {overlaps} met another of their key"
        ));
    }
    contest
}

fn config(n: usize) -> RelayConfig {
    RelayConfig {
        name: format!("relay-{n}").into(),
        batch: [1, 5, 20, 5][n],
        backoff: Backoff::fixed(Duration::from_millis(20)),
        max_attempts: u32::MAX,
        transient_delay: Duration::from_millis(10),
        poll_min: Duration::from_millis(5),
        poll_max: Duration::from_millis(50),
        ..RelayConfig::default()
    }
}

/// One of those who save messages of the same keys at the same time.
struct Writer {
    dice: Dice,
    name: u64,
    store: PostgresStore,
    record: Record,
    count: String,
    broker: outbox_testkit::ScriptedPublisher,
    order: SaveOrder,
}

type Written = BTreeMap<(String, i64), (String, i64)>;

impl Writer {
    /// Returns what it committed, and how often the broker fails it.
    async fn write(mut self, transactions: usize) -> (Written, usize) {
        let (mut written, mut failed) = (Written::new(), 0);
        for n in 0..transactions {
            let committed = self.transaction(n).await;
            for (place, (id, count, failures)) in committed {
                written.insert(place, (id, count));
                failed += failures;
            }
        }
        (written, failed)
    }

    async fn transaction(&mut self, n: usize) -> Vec<((String, i64), (String, i64, usize))> {
        let mut keys = BTreeSet::new();
        while keys.len() < 1 + n % 2 {
            keys.insert(format!("key-{}", self.dice.below(KEYS)));
        }
        let messages: Vec<_> = keys
            .iter()
            .map(|key| message(key, &format!("{key}/{}.{n}", self.name)))
            .collect();
        let failures: Vec<_> = messages
            .iter()
            .map(|message| {
                let failures = failures(&mut self.dice, 5, 3);
                let count = failures.len();
                self.broker.on(message.id.as_str(), failures);
                count
            })
            .collect();
        let asked: Vec<_> = messages
            .iter()
            .map(|message| Save {
                order: self.order,
                ..Save::from(message)
            })
            .collect();

        let mut tx = self.store.pool().begin().await.unwrap();
        let saved = self.store.save_all(&mut tx, &asked).await.unwrap();
        let mut written = Vec::new();
        for ((key, message), (saved, failures)) in
            keys.iter().zip(&messages).zip(saved.iter().zip(failures))
        {
            let position = saved.position().unwrap();
            self.record.saved(message, position, Line::AtOnce);
            for _ in 0..self.dice.below(20) {
                tokio::task::yield_now().await;
            }
            let id = message.id.to_string();
            let count = sqlx::query_scalar(sqlx::AssertSqlSafe(self.count.clone()))
                .bind(&id)
                .bind(key);
            let count: i64 = count.fetch_one(&mut *tx).await.unwrap();
            written.push(((key.clone(), position.0), (id, count, failures)));
        }
        if self.dice.percent(15) {
            tx.rollback().await.unwrap();
            return Vec::new();
        }
        let begun = self.record.now();
        tx.commit().await.unwrap();
        for (_, (id, ..)) in &written {
            let message = id.clone();
            self.record.since(begun, What::Committed { message });
        }
        written
    }
}
