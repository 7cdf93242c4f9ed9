//! The RabbitMQ publisher passes the conformance suite of all publishers, in a queue of its own for each test.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

#[path = "support/broker.rs"]
#[allow(dead_code, reason = "each program of tests uses its part")]
mod broker;

use std::sync::Arc;

use broker::{Consumer, MAX_PAYLOAD, PASSWORD, port_of, unique, with_port};
use lapin::types::ShortString;
use outbox_message::{Message, Topic};
use outbox_publisher::{PublishErrorKind, Publisher};
use outbox_publisher_rabbitmq::RabbitMqPublisher;
use outbox_test_servers::{Proxy, RabbitMq};
use outbox_testkit::{
    Door, Fault, HeaderSupport, PublisherCapabilities, PublisherHarness, Received,
};

const WRONG_PASSWORD: &str = "not-the-rabbits-secret";

/// How a server is reached.
struct Address {
    url: String,
    tls_url: String,
    ca: String,
}

impl Address {
    fn of(server: &RabbitMq) -> Self {
        Self {
            url: server.url(),
            tls_url: server.tls_url().unwrap(),
            ca: server.ca_file().unwrap().to_str().unwrap().to_owned(),
        }
    }
}

/// A queue, and proxies in front of its server.
struct RabbitMqHarness {
    address: Address,
    own_server: Option<RabbitMq>,
    plain: Proxy,
    tls: Proxy,
    queue: String,
    consumer: Consumer,
    received: Vec<Received>,
}

impl RabbitMqHarness {
    async fn on(address: Address, own_server: Option<RabbitMq>) -> Self {
        let queue = unique("conformance");
        let mut consumer = Consumer::new(&address.url);
        consumer.declare(&queue).await;
        Self {
            plain: Proxy::start(port_of(&address.url)).unwrap(),
            tls: Proxy::start(port_of(&address.tls_url)).unwrap(),
            address,
            own_server,
            queue,
            consumer,
            received: Vec::new(),
        }
    }

    fn proxies(&self) -> [&Proxy; 2] {
        [&self.plain, &self.tls]
    }

    fn server(&mut self) -> &mut RabbitMq {
        self.own_server
            .as_mut()
            .expect("the test has its own server")
    }
}

impl PublisherHarness for RabbitMqHarness {
    const CAPABILITIES: PublisherCapabilities = PublisherCapabilities::BARE
        .with_content_types()
        .with_headers(HeaderSupport::Values)
        .with_any_header_text()
        .with_max_payload(MAX_PAYLOAD)
        .with_refusals(&[PublishErrorKind::TooLarge, PublishErrorKind::Malformed])
        .with_credentials()
        .with_tls()
        .with_missing();

    async fn start() -> Self {
        let address = Address::of(&broker::shared());
        Self::on(address, None).await
    }

    async fn start_alone() -> Self {
        let server = broker::start();
        Self::on(Address::of(&server), Some(server)).await
    }

    fn topic(&self) -> Topic {
        Topic::new(&self.queue).unwrap()
    }

    fn publisher(&self, door: Door) -> Arc<dyn Publisher> {
        let Address { url, tls_url, ca } = &self.address;
        let url = match door {
            Door::Plain => with_port(url, self.plain.port()),
            Door::WrongCredentials => with_port(
                &format!("amqp://outbox:{WRONG_PASSWORD}@127.0.0.1:1"),
                self.plain.port(),
            ),
            Door::Tls => format!("{}?ca={ca}", with_port(tls_url, self.tls.port())),
            Door::UntrustedTls => with_port(tls_url, self.tls.port()),
            other => panic!("no door for {other:?}"),
        };
        Arc::new(RabbitMqPublisher::new(&url).unwrap())
    }

    async fn received(&mut self) -> Vec<Received> {
        for delivery in self.consumer.take(&self.queue).await {
            let text = |text: &Option<ShortString>| text.as_ref().map(ToString::to_string);
            self.received.push(Received {
                id: text(delivery.properties.message_id()),
                headers: broker::headers(&delivery),
                content_type: text(delivery.properties.content_type()),
                payload: delivery.data,
                ..Received::default()
            });
        }
        self.received.clone()
    }

    fn refused(&self, kind: PublishErrorKind) -> Message {
        match kind {
            PublishErrorKind::TooLarge => {
                Message::new(self.topic(), vec![b'x'; MAX_PAYLOAD + 1]).unwrap()
            }
            PublishErrorKind::Malformed => {
                let message = Message::new(self.topic(), "a refused payload").unwrap();
                message.with_header("CC", "elsewhere").unwrap()
            }
            other => panic!("nothing is refused as {other:?}"),
        }
    }

    async fn strike(&mut self, fault: Fault) {
        match fault {
            Fault::Killed => self.server().kill().unwrap(),
            Fault::Frozen => self.server().freeze().unwrap(),
            Fault::Missing => self.consumer.delete(&self.queue).await,
            fault => {
                for proxy in self.proxies() {
                    match fault {
                        Fault::Refused => {
                            proxy.refuse(true);
                            proxy.cut();
                        }
                        Fault::Stalled => proxy.stall(true),
                        Fault::Unanswered => proxy.hold_answers(true),
                        Fault::Cut => proxy.cut(),
                        Fault::CutAfter(bytes) => proxy.cut_after(bytes),
                        other => panic!("no way to {other:?}"),
                    }
                }
            }
        }
    }

    async fn heal(&mut self) {
        if let Some(server) = &mut self.own_server {
            server.start_again().unwrap();
            server.thaw().unwrap();
        }
        for proxy in self.proxies() {
            proxy.refuse(false);
            proxy.stall(false);
            proxy.hold_answers(false);
        }
        self.consumer.declare(&self.queue).await;
    }

    fn missing_name(&self) -> String {
        self.queue.clone()
    }

    fn secrets(&self) -> Vec<String> {
        vec![PASSWORD.to_owned(), WRONG_PASSWORD.to_owned()]
    }
}

outbox_testkit::publisher_conformance!(RabbitMqHarness);
