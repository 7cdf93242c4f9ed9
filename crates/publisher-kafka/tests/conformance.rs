//! The publisher passes the conformance suite of all publishers, on a real server through a proxy.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

#[path = "support/broker.rs"]
#[allow(dead_code, reason = "each program of tests uses its part")]
mod broker;
#[path = "support/gate.rs"]
mod gate;
#[path = "support/reader.rs"]
#[allow(dead_code, reason = "each program of tests uses its part")]
mod reader;

use std::sync::Arc;

use broker::{Broker, TOPIC};
use outbox_message::{Message, Topic};
use outbox_publisher::{PublishErrorKind, Publisher};
use outbox_testkit::{
    Door, Fault, HeaderSupport, PublisherCapabilities, PublisherHarness, Received,
};
use reader::Stored;

const WRONG_PASSWORD: &str = "wrong-pass-word";

struct KafkaHarness {
    broker: Broker,
}

impl PublisherHarness for KafkaHarness {
    /// The server takes records of any size, without TLS. It confirms records for a topic that it has removed,
    /// unlike Kafka, so destinations that are missing are tests of their own.
    const CAPABILITIES: PublisherCapabilities = PublisherCapabilities::BARE
        .with_keys()
        .with_content_types()
        .with_headers(HeaderSupport::Pairs)
        .with_any_header_text()
        .with_credentials()
        .with_refusals(&[PublishErrorKind::TooLarge]);

    async fn start() -> Self {
        Self {
            broker: Broker::start(),
        }
    }

    async fn start_alone() -> Self {
        Self {
            broker: Broker::lasting(),
        }
    }

    fn topic(&self) -> Topic {
        Topic::new(TOPIC).unwrap()
    }

    fn publisher(&self, door: Door) -> Arc<dyn Publisher> {
        let password = match door {
            Door::WrongCredentials => WRONG_PASSWORD,
            _ => gate::PASSWORD,
        };
        // A connection has five requests under way and no more. What is published in this time shares one.
        Arc::new(self.broker.publisher_as(password, "linger_ms=10"))
    }

    async fn received(&mut self) -> Vec<Received> {
        self.broker.stored().iter().map(received).collect()
    }

    fn refused(&self, kind: PublishErrorKind) -> Message {
        assert_eq!(kind, PublishErrorKind::TooLarge);
        // The server has no limit of its own; the client has one, which no message that a store keeps comes near.
        Message::new(self.topic(), vec![b'x'; 100_000_001]).unwrap()
    }

    async fn strike(&mut self, fault: Fault) {
        let Broker { server, proxy, .. } = &mut self.broker;
        match fault {
            Fault::Killed => server.kill().unwrap(),
            Fault::Frozen => server.freeze().unwrap(),
            Fault::Refused => {
                proxy.refuse(true);
                proxy.cut();
            }
            Fault::Stalled => proxy.stall(true),
            Fault::Unanswered => proxy.hold_answers(true),
            Fault::Cut => proxy.cut(),
            Fault::CutAfter(bytes) => proxy.cut_after(bytes),
            other => panic!("there is no fault {other:?} here"),
        }
    }

    async fn heal(&mut self) {
        let Broker { server, proxy, .. } = &mut self.broker;
        server.start_again().unwrap();
        server.thaw().unwrap();
        proxy.refuse(false);
        proxy.stall(false);
        proxy.hold_answers(false);
    }

    fn missing_name(&self) -> String {
        TOPIC.to_owned()
    }

    fn secrets(&self) -> Vec<String> {
        vec![gate::PASSWORD.to_owned(), WRONG_PASSWORD.to_owned()]
    }
}

fn received(stored: &Stored) -> Received {
    let parts = ["bq-message-id", "content-type"];
    let is_own = |(name, _): &&(String, String)| !parts.contains(&&**name);
    Received {
        id: stored.header("bq-message-id").map(str::to_owned),
        key: stored.key.clone(),
        payload: stored.payload.clone(),
        headers: stored.headers.iter().filter(is_own).cloned().collect(),
        content_type: stored.header("content-type").map(str::to_owned),
    }
}

outbox_testkit::publisher_conformance!(KafkaHarness);
