//! The publisher passes the conformance suite of all publishers, on a real server through a proxy.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

#[path = "support/stream.rs"]
#[allow(dead_code, reason = "each program of tests uses its part")]
mod stream;

use std::sync::Arc;

use outbox_message::{Message, Topic};
use outbox_publisher::{PublishErrorKind, Publisher};
use outbox_publisher_nats::NatsPublisher;
use outbox_testkit::{
    Door, Fault, HeaderSupport, PublisherCapabilities, PublisherHarness, Received,
};
use percent_encoding::percent_decode_str;
use serde_json::json;
use stream::{PASSWORD, Stored, TestStream};

const WRONG_PASSWORD: &str = "wrong-pass-word";

/// What a server takes by default, headers included.
const MAX_PAYLOAD: usize = 1024 * 1024;

struct NatsHarness {
    stream: TestStream,
    is_missing: bool,
}

impl NatsHarness {
    fn of(stream: TestStream) -> Self {
        Self {
            stream,
            is_missing: false,
        }
    }
}

impl PublisherHarness for NatsHarness {
    const CAPABILITIES: PublisherCapabilities = PublisherCapabilities::BARE
        .with_keys()
        .with_content_types()
        .with_headers(HeaderSupport::Values)
        .with_max_payload(MAX_PAYLOAD - 1_024)
        .with_refusals(&[
            PublishErrorKind::TooLarge,
            PublishErrorKind::Malformed,
            PublishErrorKind::Rejected,
        ])
        .with_credentials()
        .with_tls()
        .with_missing();

    async fn start() -> Self {
        Self::of(TestStream::new().await)
    }

    async fn start_alone() -> Self {
        Self::of(TestStream::alone().await)
    }

    fn topic(&self) -> Topic {
        Topic::new("orders.created").unwrap()
    }

    fn publisher(&self, door: Door) -> Arc<dyn Publisher> {
        let stream = &self.stream;
        let (url, more) = match door {
            Door::WrongCredentials => (stream.url("nats", WRONG_PASSWORD), String::new()),
            Door::Tls => (stream.url("tls", PASSWORD), stream.ca()),
            Door::UntrustedTls => (stream.url("tls", PASSWORD), String::new()),
            _ => (stream.url("nats", PASSWORD), String::new()),
        };
        let name = &stream.name;
        let url = format!("{url}stream={name}&subject={name}.{{topic}}.{{key}}{more}");
        Arc::new(NatsPublisher::new(&url).unwrap())
    }

    async fn received(&mut self) -> Vec<Received> {
        self.stream.stored().await.iter().map(received).collect()
    }

    fn refused(&self, kind: PublishErrorKind) -> Message {
        let message = |payload: Vec<u8>| Message::new(self.topic(), payload).unwrap();
        match kind {
            PublishErrorKind::TooLarge => message(vec![b'x'; MAX_PAYLOAD]),
            PublishErrorKind::Malformed => message(b"x".to_vec()).with_header("n", "a\nb").unwrap(),
            _ => message(b"x".to_vec())
                .with_header("Nats-Expected-Last-Sequence", "1000000")
                .unwrap(),
        }
    }

    async fn strike(&mut self, fault: Fault) {
        let TestStream { own, proxy, .. } = &mut self.stream;
        match fault {
            Fault::Killed => own.as_mut().unwrap().kill().unwrap(),
            Fault::Frozen => own.as_ref().unwrap().freeze().unwrap(),
            Fault::Refused => {
                proxy.refuse(true);
                proxy.cut();
            }
            Fault::Stalled => proxy.stall(true),
            Fault::Unanswered => proxy.hold_answers(true),
            Fault::Cut => proxy.cut(),
            Fault::CutAfter(bytes) => proxy.cut_after(bytes),
            Fault::Missing => {
                self.stream.remove().await;
                self.is_missing = true;
            }
            other => panic!("there is no fault {other:?} here"),
        }
    }

    async fn heal(&mut self) {
        let TestStream { own, proxy, .. } = &mut self.stream;
        if let Some(server) = own {
            server.start_again().unwrap();
            server.thaw().unwrap();
        }
        proxy.refuse(false);
        proxy.stall(false);
        proxy.hold_answers(false);
        if self.is_missing {
            self.stream.create(json!({})).await;
            self.is_missing = false;
        }
    }

    fn missing_name(&self) -> String {
        self.stream.name.clone()
    }

    fn secrets(&self) -> Vec<String> {
        vec![PASSWORD.to_owned(), WRONG_PASSWORD.to_owned()]
    }
}

fn received(stored: &Stored) -> Received {
    let parts = [
        "Nats-Msg-Id",
        "Nats-Expected-Stream",
        "bq-message-id",
        "content-type",
    ];
    let is_own = |(name, _): &&(String, String)| !parts.contains(&&**name);
    let (_, key) = stored.subject.rsplit_once('.').unwrap();
    let key = percent_decode_str(key).decode_utf8().unwrap();
    Received {
        id: stored.header("Nats-Msg-Id").map(str::to_owned),
        key: Some(key.into_owned()).filter(|_| !stored.subject.ends_with("._")),
        payload: stored.payload.clone(),
        headers: stored.headers.iter().filter(is_own).cloned().collect(),
        content_type: stored.header("content-type").map(str::to_owned),
    }
}

outbox_testkit::publisher_conformance!(NatsHarness);
