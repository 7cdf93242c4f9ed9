//! A RabbitMQ that the tests of a program share, with TLS and a password, and a consumer that sees what is in a queue.

use std::{
    process,
    sync::{
        LazyLock, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use lapin::{
    Channel, Connection, ConnectionProperties,
    message::Delivery,
    options::{BasicGetOptions, QueueDeclareOptions, QueueDeleteOptions},
    types::{AMQPValue, FieldTable, LongString},
};
use outbox_test_servers::{RabbitMq, RabbitMqOptions};

/// The longest payload that the servers take. It is small, so that tests can go beyond it.
pub(crate) const MAX_PAYLOAD: usize = 4 * 1024 * 1024;

pub(crate) const PASSWORD: &str = "rabbit-s3cret/@:";

/// Started once for all tests of a program, and ended with it.
static SHARED: LazyLock<Mutex<RabbitMq>> = LazyLock::new(|| {
    let server = start();
    server.end_with_this_program().unwrap();
    Mutex::new(server)
});

pub(crate) fn shared() -> MutexGuard<'static, RabbitMq> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The URL of the shared server.
pub(crate) fn url() -> String {
    shared().url()
}

/// A server of one's own.
pub(crate) fn start() -> RabbitMq {
    RabbitMq::start(RabbitMqOptions {
        password: Some(PASSWORD.to_owned()),
        tls: true,
        settings: vec![("max_message_size".to_owned(), MAX_PAYLOAD.to_string())],
    })
    .unwrap()
}

/// A name that nobody else has.
pub(crate) fn unique(prefix: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{prefix}-{}-{number}", process::id())
}

/// The same URL with another port.
pub(crate) fn with_port(url: &str, port: u16) -> String {
    let at = url.rfind(':').unwrap();
    format!("{}:{port}", &url[..at])
}

/// The port of a URL without a path.
pub(crate) fn port_of(url: &str) -> u16 {
    url.rsplit(':').next().unwrap().parse().unwrap()
}

/// Looks at queues, on a connection of its own.
pub(crate) struct Consumer {
    url: String,
    open: Option<(Connection, Channel)>,
}

impl Consumer {
    pub(crate) fn new(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            open: None,
        }
    }

    pub(crate) async fn channel(&mut self) -> &Channel {
        let works = |(connection, channel): &(Connection, Channel)| {
            connection.status().connected() && channel.status().connected()
        };
        if !self.open.as_ref().is_some_and(works) {
            let connection = Connection::connect(&self.url, ConnectionProperties::default());
            let connection = connection.await.unwrap();
            let channel = connection.create_channel().await.unwrap();
            self.open = Some((connection, channel));
        }
        &self.open.as_ref().unwrap().1
    }

    pub(crate) async fn declare(&mut self, queue: &str) {
        self.declare_with(queue, FieldTable::default()).await;
    }

    pub(crate) async fn declare_with(&mut self, queue: &str, arguments: FieldTable) {
        let options = QueueDeclareOptions {
            durable: true,
            ..QueueDeclareOptions::default()
        };
        let channel = self.channel().await;
        channel
            .queue_declare(queue.into(), options, arguments)
            .await
            .unwrap();
    }

    pub(crate) async fn delete(&mut self, queue: &str) {
        let channel = self.channel().await;
        channel
            .queue_delete(queue.into(), QueueDeleteOptions::default())
            .await
            .unwrap();
    }

    /// Takes all that is in the queue, in its order.
    pub(crate) async fn take(&mut self, queue: &str) -> Vec<Delivery> {
        let channel = self.channel().await;
        let mut taken = Vec::new();
        loop {
            let got = channel.basic_get(queue.into(), BasicGetOptions { no_ack: true });
            match got.await.unwrap() {
                Some(message) => taken.push(message.delivery),
                None => return taken,
            }
        }
    }

    pub(crate) async fn take_payloads(&mut self, queue: &str) -> Vec<String> {
        let taken = self.take(queue).await;
        let payload = |delivery: Delivery| String::from_utf8(delivery.data).unwrap();
        taken.into_iter().map(payload).collect()
    }
}

/// The headers of a delivery as pairs; a list of texts is a name that is repeated.
pub(crate) fn headers(delivery: &Delivery) -> Vec<(String, String)> {
    let text = |text: &LongString| String::from_utf8(text.as_bytes().to_vec()).unwrap();
    let mut pairs = Vec::new();
    for (name, value) in delivery
        .properties
        .headers()
        .iter()
        .flat_map(FieldTable::inner)
    {
        let values = match value {
            AMQPValue::LongString(value) => vec![text(value)],
            AMQPValue::FieldArray(values) => values
                .as_slice()
                .iter()
                .map(|value| match value {
                    AMQPValue::LongString(value) => text(value),
                    other => panic!("{name} has a {other:?} in it"),
                })
                .collect(),
            other => panic!("{name} is {other:?}"),
        };
        pairs.extend(values.into_iter().map(|value| (name.to_string(), value)));
    }
    pairs
}
