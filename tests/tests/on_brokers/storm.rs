//! D1, O11: three relays on one Postgres, a broker that refuses one message of fifty and is restarted twice, one relay that is killed.
//! Everything arrives, in order, without a new save and without a new start of the relays that are left.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use outbox::{
    Relay, RelayConfig, Save,
    backoff::Backoff,
    postgres_sqlx::{PostgresConfig, PostgresStore},
    store::OutboxOperator,
};

use crate::{
    brokers::{HttpEndpoint, KafkaTopic, NatsStream, Place, RabbitMqQueue, RedisList, RedisStream},
    hearing::{Heard, Hearing},
    refusing::Refusing,
    relays::{Running, hasty, judge, messages, until},
    report,
    schema::{self, TestSchema},
    soak,
};

const RELAYS: u64 = 3;
const ONE_OF: u32 = 50;

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_and_o11_holds_on_rabbitmq() {
    storm::<RabbitMqQueue>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_and_o11_holds_on_nats() {
    storm::<NatsStream>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_and_o11_holds_on_redis_lists() {
    storm::<RedisList>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_and_o11_holds_on_redis_streams() {
    storm::<RedisStream>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_and_o11_holds_on_kafka() {
    storm::<KafkaTopic>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_and_o11_holds_on_http() {
    storm::<HttpEndpoint>().await;
}

async fn storm<P: Place>() {
    let (count, keys) = if soak() { (20_000, 500) } else { (2_000, 100) };
    let mut broker = P::start().await;
    let shop = Shop::open().await;
    let messages = messages(count, keys);
    shop.save(&messages).await;

    let heard = Heard::default();
    let refusals = Arc::new(AtomicUsize::new(0));
    let mut relays = Vec::new();
    for number in 0..RELAYS {
        let hearing = Hearing {
            broker: broker.publisher(),
            heard: heard.clone(),
        };
        let refusing = Refusing::new(Arc::new(hearing), ONE_OF, number, &refusals);
        let store = shop.store_of(&format!("relay-{number}")).await;
        let relay = Relay::with_config(store, refusing, config(number));
        relays.push(Running::start(relay.unwrap()));
    }
    let confirmed = async |part: usize| {
        until("more is confirmed", async || {
            heard.sums().confirmed >= count * part / 5
        })
        .await;
    };
    confirmed(1).await;
    relays.remove(0).kill().await;
    confirmed(2).await;
    tokio::task::block_in_place(|| {
        broker.kill();
        broker.start_again();
    });
    confirmed(3).await;
    tokio::task::block_in_place(|| {
        broker.stop();
        broker.start_again();
    });
    until("nothing is pending", async || shop.pending().await == 0).await;

    let mut dead = 0;
    for relay in relays {
        dead += relay.stop().await.dead;
    }
    assert_eq!(dead, 0, "neither refusals nor outages spent the attempts");
    let refusals = refusals.load(Ordering::Relaxed);
    assert!(refusals > 0, "some messages were refused");
    let again = judge(&messages, &broker.received().await);
    report(&format!(
        "{}: {count} messages of {keys} keys arrived in order, {refusals} refusals, two restarts and a killed relay on the way, {again} came twice",
        P::NAME
    ));
}

fn config(number: u64) -> RelayConfig {
    RelayConfig {
        backoff: Backoff::exponential(Duration::from_millis(20), Duration::from_secs(1)).unwrap(),
        max_attempts: 20,
        ..hasty(&format!("relay-{number}"))
    }
}

/// An outbox in a schema of its own.
struct Shop {
    schema: TestSchema,
    store: PostgresStore,
}

impl Shop {
    async fn open() -> Self {
        let schema = TestSchema::at(schema::server());
        PostgresStore::migrate_with(&schema.pool, &schema.name)
            .await
            .unwrap();
        let config = PostgresConfig {
            schema: schema.name.clone(),
            ..PostgresConfig::default()
        };
        let store = PostgresStore::open_with(schema.pool.clone(), config).await;
        Self {
            store: store.unwrap(),
            schema,
        }
    }

    /// The same outbox through a pool of its own.
    async fn store_of(&self, name: &str) -> PostgresStore {
        let pool = self.schema.pool_of(name, 4);
        let store = PostgresStore::open_with(pool, self.store.config().clone()).await;
        store.unwrap()
    }

    async fn save(&self, messages: &[outbox::Message]) {
        for messages in messages.chunks(1_000) {
            let saves: Vec<_> = messages.iter().map(Save::from).collect();
            let mut tx = self.schema.pool.begin().await.unwrap();
            self.store.save_all(&mut tx, &saves).await.unwrap();
            tx.commit().await.unwrap();
        }
    }

    async fn pending(&self) -> u64 {
        self.store.status().await.unwrap().pending()
    }
}
