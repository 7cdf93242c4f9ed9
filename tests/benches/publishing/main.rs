//! How fast the relay publishes to each broker: beside a publisher that confirms at once, which shows what the store and the relay cost,
//! and beside a bare loop over the broker's client with pipelined confirms, which shows what the broker and its client can do. All in
//! one run, as only figures of one run can be compared. It prints a table for each broker.
//!
//! `cargo xtask bench publishing` runs it; with `OUTBOX_BENCH_SMALL=1` on few messages, which shows only that it works.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench prints what it measured, and ends where something goes wrong"
)]

mod brokers;
#[path = "../../tests/on_brokers/endpoint.rs"]
#[allow(dead_code, reason = "each program uses its part")]
mod endpoint;
mod feeding;
#[path = "../../tests/on_postgres/schema.rs"]
#[allow(dead_code, reason = "each program uses its part")]
mod schema;
mod shapes;
mod stores;
mod table;

use std::{env, sync::Arc, time::Duration};

use brokers::{Http, Kafka, Kind, Nats, RabbitMq, RedisList, RedisStream};
use outbox::publisher::Publisher;
use shapes::Shape;
use table::{Row, Table};

/// How many messages are published in one measurement, fewer if they are of one key, and whether the median of several is taken.
struct Scale {
    messages: usize,
    keys: usize,
    repeats: bool,
}

const FULL: Scale = Scale {
    messages: 20_000,
    keys: 10_000,
    repeats: true,
};

const SMALL: Scale = Scale {
    messages: 500,
    keys: 200,
    repeats: false,
};

/// That of the program `outbox`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let scale = if env::var_os("OUTBOX_BENCH_SMALL").is_some() {
        SMALL
    } else {
        FULL
    };
    let asked: Vec<_> = env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with("--"))
        .collect();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        measure::<RabbitMq>(&scale, &asked).await;
        measure::<Nats>(&scale, &asked).await;
        measure::<RedisList>(&scale, &asked).await;
        measure::<RedisStream>(&scale, &asked).await;
        measure::<Kafka>(&scale, &asked).await;
        measure::<Http>(&scale, &asked).await;
    });
}

/// Measures one broker, if it is one of those that were asked for or none was.
async fn measure<K: Kind>(scale: &Scale, asked: &[String]) {
    if !asked.is_empty() && !asked.iter().any(|word| K::NAME.contains(word.as_str())) {
        return;
    }
    let kind = K::open().await;
    let mut table = Table::new(K::NAME);
    for shape in [Shape::OneKey, Shape::Keys(scale.keys), Shape::Unkeyed] {
        // One message at a time takes its time.
        let count = match shape {
            Shape::OneKey => K::OF_ONE_KEY.min(scale.messages),
            Shape::Keys(_) | Shape::Unkeyed => scale.messages,
        };
        let mut rounds = Vec::new();
        let times = if scale.repeats { K::ROUNDS } else { 1 };
        for _ in 0..times {
            rounds.push(round(&kind, shape, count).await);
        }
        table.add(shape, count, Row::median(&rounds));
    }
    println!("{table}");
}

/// One measurement of each, one after the other.
async fn round<K: Kind>(kind: &K, shape: Shape, count: usize) -> Row<Duration> {
    let messages = async || shape.messages(&kind.topic().await, count);
    let bare = messages().await;
    let bare = stores::timed(kind.bare(&bare)).await;
    let alone = feeding::timed(connected(kind).await, &messages().await, K::UNDER_WAY).await;
    let memory = stores::memory(&messages().await).await;
    let memory = stores::drain(memory, connected(kind).await, count, K::UNDER_WAY).await;
    let memory_null = stores::memory(&messages().await).await;
    let memory_null = stores::drain(memory_null, stores::at_once(), count, K::UNDER_WAY).await;
    let postgres = stores::Postgres::filled(&messages().await).await;
    let publisher = connected(kind).await;
    let postgres = stores::drain(postgres.store.clone(), publisher, count, K::UNDER_WAY).await;
    let postgres_null = stores::Postgres::filled(&messages().await).await;
    let postgres_null = stores::drain(
        postgres_null.store.clone(),
        stores::at_once(),
        count,
        K::UNDER_WAY,
    )
    .await;
    Row {
        bare,
        alone,
        memory_null,
        memory,
        postgres_null,
        postgres,
    }
}

/// A publisher that has published, so that everything it needs stands, as what the bare loop needs does.
async fn connected<K: Kind>(kind: &K) -> Arc<dyn Publisher> {
    let publisher = kind.publisher();
    let first = Shape::Unkeyed.messages(&kind.topic().await, 1);
    feeding::timed(Arc::clone(&publisher), &first, 1).await;
    publisher
}
