//! RabbitMQ with a durable queue.

use std::sync::Arc;

use lapin::{
    Channel, Connection, ConnectionProperties,
    options::{BasicGetOptions, QueueDeclareOptions},
    types::FieldTable,
};
use outbox::{publisher::Publisher, rabbitmq::RabbitMqPublisher};
use outbox_test_servers::{RabbitMq, RabbitMqOptions};

use super::{Place, TOPIC};

pub(crate) struct RabbitMqQueue(pub(crate) RabbitMq);

impl RabbitMqQueue {
    /// A channel of a consumer. It ends with its connection.
    pub(crate) async fn channel(&self) -> (Connection, Channel) {
        let url = self.0.url();
        let connection = Connection::connect(&url, ConnectionProperties::default());
        let connection = connection.await.unwrap();
        let channel = connection.create_channel().await.unwrap();
        (connection, channel)
    }

    pub(crate) async fn declare(&self, queue: &str) {
        let (_connection, channel) = self.channel().await;
        let options = QueueDeclareOptions {
            durable: true,
            ..QueueDeclareOptions::default()
        };
        channel
            .queue_declare(queue.into(), options, FieldTable::default())
            .await
            .unwrap();
    }

    /// Takes what is in a queue.
    pub(crate) async fn take(&self, queue: &str) -> Vec<String> {
        let (_connection, channel) = self.channel().await;
        let mut taken = Vec::new();
        let next = || channel.basic_get(queue.into(), BasicGetOptions { no_ack: true });
        while let Some(message) = next().await.unwrap() {
            taken.push(String::from_utf8(message.delivery.data).unwrap());
        }
        taken
    }
}

impl Place for RabbitMqQueue {
    const NAME: &'static str = "RabbitMQ";

    async fn start() -> Self {
        let broker = Self(RabbitMq::start(RabbitMqOptions::default()).unwrap());
        broker.declare(TOPIC).await;
        broker
    }

    fn publisher(&self) -> Arc<dyn Publisher> {
        Arc::new(RabbitMqPublisher::new(&self.0.url()).unwrap())
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
    }

    fn stop(&mut self) {
        self.0.stop().unwrap();
    }

    fn start_again(&mut self) {
        self.0.start_again().unwrap();
    }

    async fn received(&mut self) -> Vec<String> {
        self.take(TOPIC).await
    }
}
