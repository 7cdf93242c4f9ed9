//! What is measured of each broker.

use std::sync::Arc;

use outbox::{Message, publisher::Publisher};

mod http;
mod kafka;
mod nats;
mod rabbitmq;
mod redis;

pub(crate) use http::Http;
pub(crate) use kafka::Kafka;
pub(crate) use nats::Nats;
pub(crate) use rabbitmq::RabbitMq;
pub(crate) use redis::{RedisList, RedisStream};

/// A broker, on a server that `cargo xtask bench` gives or that ends with this program.
pub(crate) trait Kind: Sized {
    const NAME: &'static str;
    /// How many messages everything that is measured has under way at most, the bare loop as well as a relay, which has 64 by
    /// default. What waits for confirmations is as fast as they are many, so only equals are compared.
    const UNDER_WAY: usize = 512;
    /// How many messages of one key are published, which takes its time.
    const OF_ONE_KEY: usize = 2_000;
    /// Of how many rounds the median is taken: the more, the further they are apart.
    const ROUNDS: usize = 3;

    async fn open() -> Self;

    /// The name of a topic to which nothing was published yet, made ready.
    async fn topic(&self) -> String;

    /// A publisher for a connection of its own, with the guarantees of its defaults.
    fn publisher(&self) -> Arc<dyn Publisher>;

    /// Publishes the same with the broker's client alone, and waits for the confirmation of each message. The order is that of the
    /// connection, whatever the keys: it is what the client can do.
    async fn bare(&self, messages: &[Message]);
}

/// A name that nothing else here has.
fn unique() -> String {
    format!("bench-{:016x}", rand::random::<u64>())
}
