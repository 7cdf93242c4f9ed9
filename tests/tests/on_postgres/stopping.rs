//! Stopped topics under fire: relays of which one is killed again and again, destinations that go down and come up, an operator that pauses and resumes
//! topics, and writers that do not exclude each other. What happened is judged by the history checker; nothing is lost, no attempt is spent, and no trace
//! of a stop is left.

mod server;
mod two_routes;

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use outbox::{
    Relay, RelayConfig, Save,
    message::Topic,
    publisher::PublishErrorKind::{Throttled, Unavailable},
    store::{Due, OutboxOperator, OutboxStore},
};
use outbox_ordering::history::{Line, What};
use outbox_testkit::ScriptedPublisher;

use self::server::AtServer;
use crate::{
    dice::{Dice, report, seeds, soak},
    doors::{Diesel, Relays, Sqlx},
    record::{Record, Watched, Witness},
    shop::{Running, Shop, message_to, until},
};

/// Each with its destination.
const TOPICS: [(&str, &str); 4] = [
    ("bills", "bank"),
    ("orders", "shop floor"),
    ("mail", "shop floor"),
    ("refunds", "bank"),
];
const KEYS: usize = 12;
const WRITERS: u64 = 3;

/// What a stop leaves in the tables as long as it is not over or not freed.
const TRACES: &str = "SELECT (SELECT count(*) FROM outbox.topic_state)
    + (SELECT count(*) FROM outbox.blocked_key WHERE reason = 'topic')
    + (SELECT count(*) FROM outbox.scheduled WHERE due_at >= '200000-01-01 00:00:00+00')";

#[tokio::test(flavor = "multi_thread")]
async fn s14_s15_no_storm_of_stops_and_pauses_loses_or_overtakes_anything_or_leaves_a_trace() {
    let mut met = [0; 3];
    for number in seeds(2, 10) {
        let storm = storm(number).await;
        met = [0, 1, 2].map(|n| met[n] + storm[n]);
    }
    assert!(
        met.iter().all(|met| *met > 0),
        "this shows nothing: {met:?}"
    );
    if soak() {
        let [down, paused, aside] = met;
        report(&format!(
            "seen by the operator: {down} topics down, {paused} paused, {aside} messages and keys set aside"
        ));
    }
}

/// Answers what the operator saw: topics that are down, paused topics, and what is set aside.
async fn storm(seed: u64) -> [i64; 3] {
    let shop = Arc::new(Shop::open().await);
    let record = Record::new();
    let broker = TOPICS
        .iter()
        .fold(ScriptedPublisher::new(), |broker, (topic, destination)| {
            broker.route(*topic, *destination)
        });
    let world = Arc::new(World {
        seed,
        shop,
        record,
        broker,
        over: AtomicBool::new(false),
        committed: Mutex::default(),
    });
    let relays = [world.start(1).await, world.start(2).await];
    let mut others = vec![
        tokio::spawn(weather(Arc::clone(&world))),
        tokio::spawn(kill(Arc::clone(&world))),
    ];
    let operator = tokio::spawn(operate(Arc::clone(&world)));
    let mut writers = Vec::new();
    for n in 0..WRITERS {
        writers.push(tokio::spawn(write(Arc::clone(&world), n)));
    }
    for writer in writers {
        writer.await.unwrap();
    }
    world.over.store(true, Ordering::SeqCst);
    for other in others.drain(..) {
        other.await.unwrap();
    }
    let met = operator.await.unwrap();
    world.clear_up().await;
    for relay in relays {
        let done = relay.stop().await;
        assert_eq!((done.dead, done.store_errors), (0, 0), "seed {seed}");
    }
    world.judge().await;
    met
}

#[derive(Debug)]
struct World {
    seed: u64,
    shop: Arc<Shop>,
    record: Record,
    broker: ScriptedPublisher,
    /// The writers are done.
    over: AtomicBool,
    committed: Mutex<BTreeSet<String>>,
}

impl World {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    /// Starts a relay; every other one through the other driver.
    async fn start(&self, n: usize) -> Running {
        let store: Arc<dyn OutboxStore> = if n.is_multiple_of(2) {
            let store = Sqlx::open(&self.shop.schema).await;
            Arc::new(Watched::new(store, &self.record))
        } else {
            let store = Diesel::open(&self.shop.schema).await;
            Arc::new(Watched::new(store, &self.record))
        };
        let config = RelayConfig {
            name: format!("relay-{n}").into(),
            batch: [4, 100, 12][n],
            lease: Duration::from_secs(2),
            renewal: Duration::from_millis(500),
            publish_timeout: Duration::from_millis(800),
            transient_delay: Duration::from_millis(10 + 10 * n as u64),
            poll_min: Duration::from_millis(5),
            poll_max: Duration::from_millis(50),
            ..RelayConfig::default()
        };
        let broker = Witness::new(self.broker.clone(), &self.record);
        Running::start(Relay::with_config(AtServer(store), broker, config).unwrap())
    }

    /// Everything is up and nothing is paused any more: all goes out, and every trace of a stop goes.
    async fn clear_up(&self) {
        for (topic, destination) in TOPICS {
            self.broker.up(destination);
            self.shop.store.resume(&topic_of(topic)).await.unwrap();
        }
        until("nothing is pending", async || {
            // As the one does who resumes a topic; relays look once a minute.
            while !soak() && self.shop.store.free_topics().await.unwrap() > 0 {}
            tokio::time::sleep(Duration::from_millis(20)).await;
            self.shop.status().await.pending() == 0
        })
        .await;
        until("no trace is left", async || {
            while !soak() && self.shop.store.free_topics().await.unwrap() > 0 {}
            tokio::time::sleep(Duration::from_millis(20)).await;
            self.shop.schema.count(TRACES).await == 0
        })
        .await;
    }

    async fn judge(&self) {
        let seed = self.seed;
        let received: BTreeSet<String> = self.broker.received().into_iter().collect();
        let committed = self.committed.lock().unwrap().clone();
        let mut wrong = Vec::new();
        wrong.extend(
            committed
                .difference(&received)
                .map(|id| format!("{id} is lost")),
        );
        wrong.extend(
            received
                .difference(&committed)
                .map(|id| format!("{id} was never committed")),
        );
        let spent = self
            .broker
            .handed()
            .into_iter()
            .filter(|it| it.attempts > 0);
        wrong.extend(spent.map(|handed| format!("an attempt of {} was spent", handed.id)));
        let status = self.shop.status().await;
        if status.dead > 0 || !status.stopped.is_empty() {
            wrong.push(format!("this is left: {status:?}"));
        }
        let blocks = self
            .shop
            .schema
            .count("SELECT count(*) FROM outbox.blocked_key")
            .await;
        if blocks > 0 {
            wrong.push(format!("{blocks} keys are blocked"));
        }
        self.record.judge(&format!("seed {seed}"), wrong);
    }
}

fn topic_of(name: &str) -> Topic {
    Topic::new(name).unwrap()
}

async fn sleep(dice: &mut Dice, most: usize) {
    tokio::time::sleep(Duration::from_millis(dice.below(most) as u64)).await;
}

/// Saves messages in transactions that stay open for a while, of keys that others save too, some of which are rolled back.
async fn write(world: Arc<World>, name: u64) {
    let mut dice = Dice::new(world.seed, name);
    let store = world.shop.store_of(&format!("writer-{name}")).await;
    let mut saved = 0;
    for _ in 0..if soak() { 600 } else { 150 } {
        let mut tx = store.pool().begin().await.unwrap();
        let mut ids = Vec::new();
        for _ in 0..=dice.below(6) {
            saved += 1;
            let id = format!("{name}.{saved}");
            let key = (!dice.percent(20)).then(|| format!("key-{}", dice.below(KEYS)));
            let (topic, _) = TOPICS[dice.below(TOPICS.len())];
            let message = message_to(topic, key.as_deref(), &id);
            let due = dice
                .percent(15)
                .then(|| Duration::from_millis(dice.below(300) as u64));
            let save = Save {
                due: due.map(Due::After),
                ..Save::from(&message)
            };
            let position = store.save(&mut tx, save).await.unwrap().position().unwrap();
            let line = due.map_or(Line::AtOnce, |_| Line::Later);
            world.record.saved(&message, position, line);
            sleep(&mut dice, 4).await;
            ids.push(id);
        }
        if dice.percent(10) {
            tx.rollback().await.unwrap();
            continue;
        }
        world.committed.lock().unwrap().extend(ids.clone());
        let begun = world.record.now();
        tx.commit().await.unwrap();
        for message in ids {
            world.record.since(begun, What::Committed { message });
        }
        sleep(&mut dice, 30).await;
    }
}

/// Takes destinations down and brings them up.
async fn weather(world: Arc<World>) {
    let mut dice = Dice::new(world.seed, 20);
    while !world.is_over() {
        let (_, destination) = TOPICS[dice.below(TOPICS.len())];
        if dice.percent(50) {
            let kind = if dice.percent(50) {
                Unavailable
            } else {
                Throttled
            };
            world.broker.down(destination, kind);
        } else {
            world.broker.up(destination);
        }
        sleep(&mut dice, 300).await;
    }
}

/// Kills a relay and starts it anew.
async fn kill(world: Arc<World>) {
    let mut dice = Dice::new(world.seed, 21);
    while !world.is_over() {
        let relay = world.start(0).await;
        sleep(&mut dice, 1_500).await;
        if dice.percent(70) {
            relay.kill().await;
        } else {
            relay.stop().await;
        }
    }
}

/// Pauses and resumes topics, and looks.
async fn operate(world: Arc<World>) -> [i64; 3] {
    let mut dice = Dice::new(world.seed, 22);
    let store = &world.shop.store;
    let mut seen = [0; 3];
    while !world.is_over() {
        let (topic, _) = TOPICS[dice.below(TOPICS.len())];
        let topic = topic_of(topic);
        match dice.below(10) {
            0 => store.pause(&topic, None).await.unwrap(),
            1 => {
                let time = Duration::from_millis(dice.below(500) as u64);
                store.pause(&topic, Some(time)).await.unwrap();
            }
            2..=4 => {
                store.resume(&topic).await.unwrap();
                while store.free_topics().await.unwrap() > 0 {}
            }
            5 => {
                store.free_topics().await.unwrap();
            }
            _ => {
                let schema = &world.shop.schema;
                for (seen, of) in seen.iter_mut().zip([
                    "SELECT count(*) FROM outbox.topic_state WHERE until > now() AND cause = 'destination'",
                    "SELECT count(*) FROM outbox.topic_state WHERE until > now() AND cause = 'paused'",
                    TRACES,
                ]) {
                    *seen += schema.count(of).await;
                }
            }
        }
        sleep(&mut dice, 60).await;
    }
    seen
}
