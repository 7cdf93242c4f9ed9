//! What the tests need of a broker: one of its own for each test, which they stop and start, and what arrived there.

use std::sync::Arc;

use outbox::publisher::Publisher;

mod http;
mod kafka;
mod nats;
mod rabbitmq;
mod redis;

pub(crate) use http::HttpEndpoint;
pub(crate) use kafka::{KafkaTopic, reader};
pub(crate) use nats::NatsStream;
pub(crate) use rabbitmq::RabbitMqQueue;
pub(crate) use redis::{RedisList, RedisStream};

/// What messages are published to.
pub(crate) const TOPIC: &str = "orders";

/// A broker with a place for [`TOPIC`]. Its calls may block their thread.
pub(crate) trait Place: Sized + Send {
    const NAME: &'static str;

    /// By how much fewer probes are waited for while it is down, if each takes long.
    const FEWER_PROBES: usize = 1;

    async fn start() -> Self;

    /// A publisher with a connection of its own.
    fn publisher(&self) -> Arc<dyn Publisher>;

    /// Ends the server as a crash does.
    fn kill(&mut self);

    /// Ends the server as an operator does.
    fn stop(&mut self);

    /// Starts it with the same data at the same port.
    fn start_again(&mut self);

    /// The payloads of everything that arrived, in the broker's order. Asked once.
    async fn received(&mut self) -> Vec<String>;
}
