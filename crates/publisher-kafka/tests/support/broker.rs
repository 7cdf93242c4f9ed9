//! A server of the Kafka protocol that one test has for itself, with a gate before it and a proxy before that.

use outbox_publisher_kafka::KafkaPublisher;
use outbox_test_servers::{Kafka, KafkaOptions, Objects, Proxy};

use crate::{
    gate::{Gate, PASSWORD, USER},
    reader::{self, Stored},
};

/// The topic, which has one partition, so that its records have an order among them.
pub(crate) const TOPIC: &str = "orders.created";

pub(crate) struct Broker {
    pub(crate) server: Kafka,
    /// Where the server tells its clients to connect.
    pub(crate) proxy: Proxy,
    _gate: Gate,
    stored: Vec<Stored>,
}

impl Broker {
    /// A server with the topic.
    pub(crate) fn start() -> Self {
        Self::empty().with_topic()
    }

    /// A server with the topic that still has everything when it is started again, and is slower for it.
    pub(crate) fn lasting() -> Self {
        Self::with(Some(Objects::start().unwrap())).with_topic()
    }

    /// A server without any topic.
    pub(crate) fn empty() -> Self {
        Self::with(None)
    }

    fn with(objects: Option<Objects>) -> Self {
        let proxy = Proxy::to_nobody().unwrap();
        let advertised = Some(proxy.port());
        let server = Kafka::start(KafkaOptions {
            advertised,
            objects,
        })
        .unwrap();
        let gate = Gate::to(server.port());
        proxy.lead_to(gate.port());
        Self {
            server,
            proxy,
            _gate: gate,
            stored: Vec::new(),
        }
    }

    fn with_topic(mut self) -> Self {
        self.create();
        self
    }

    /// Makes the topic.
    pub(crate) fn create(&mut self) {
        self.server.create_topic(TOPIC, 1).unwrap();
        self.stored.clear();
    }

    /// Everything in the topic, in its order.
    pub(crate) fn stored(&mut self) -> &[Stored] {
        reader::follow(self.server.port(), TOPIC, 0, &mut self.stored);
        &self.stored
    }

    /// A publisher through the proxy, with the right password.
    pub(crate) fn publisher(&self, parameters: &str) -> KafkaPublisher {
        self.publisher_as(PASSWORD, parameters)
    }

    /// A publisher through the proxy with this password.
    pub(crate) fn publisher_as(&self, password: &str, parameters: &str) -> KafkaPublisher {
        let password = password
            .replace(':', "%3A")
            .replace('/', "%2F")
            .replace('@', "%40");
        let port = self.proxy.port();
        let url = format!("kafka://{USER}:{password}@127.0.0.1:{port}/?{parameters}");
        KafkaPublisher::new(&url).unwrap()
    }
}
