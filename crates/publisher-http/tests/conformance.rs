//! The publisher passes the conformance suite of all publishers in each of its modes, against a receiver behind a proxy.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

#[path = "support/certificates.rs"]
mod certificates;
#[path = "support/receiver.rs"]
#[allow(dead_code, reason = "each program of tests uses its part")]
mod receiver;

use std::{marker::PhantomData, sync::Arc};

use base64::{Engine, prelude::BASE64_STANDARD};
use certificates::Identity;
use outbox_message::{Message, Topic};
use outbox_publisher::{PublishErrorKind, Publisher, percent_decode};
use outbox_publisher_http::HttpPublisher;
use outbox_test_servers::Proxy;
use outbox_testkit::{
    Door, Fault, HeaderSupport, PublisherCapabilities, PublisherHarness, Received,
};
use receiver::{PASSWORD, Receiver, Rules, Seen, USER};
use serde_json::Value;

const WRONG_PASSWORD: &str = "wrong-pass-word";

/// The longest body that the receiver takes.
const LONGEST: usize = 8 * 1024 * 1024;

/// A mode of the publisher, and how a consumer reads what it sends.
trait Mode: Sized + Send + Sync + 'static {
    /// What stands behind the `#` of the URL.
    const OPTIONS: &str;
    /// How long a payload may be so that its body is not too long.
    const MAX_PAYLOAD: usize = LONGEST;
    fn received(seen: &Seen) -> Received;
}

struct Webhook;

struct Binary;

struct Structured;

struct HttpHarness<M> {
    receiver: Receiver,
    proxy: Proxy,
    identity: Identity,
    mode: PhantomData<M>,
}

impl<M: Mode> PublisherHarness for HttpHarness<M> {
    const CAPABILITIES: PublisherCapabilities = PublisherCapabilities::BARE
        .with_keys()
        .with_content_types()
        .with_headers(HeaderSupport::Values)
        .with_folded_names()
        .with_max_payload(M::MAX_PAYLOAD)
        .with_refusals(&[
            PublishErrorKind::TooLarge,
            PublishErrorKind::Malformed,
            PublishErrorKind::Rejected,
        ])
        .with_credentials()
        .with_tls()
        .with_missing();

    async fn start() -> Self {
        let identity = Identity::of(&["127.0.0.1"]);
        let rules = Rules {
            credentials: true,
            longest: Some(LONGEST),
            is_abrupt: false,
            tls: Some(identity.acceptor.clone()),
        };
        let receiver = Receiver::start(rules).await;
        Self {
            proxy: Proxy::start(receiver.port()).unwrap(),
            receiver,
            identity,
            mode: PhantomData,
        }
    }

    async fn start_alone() -> Self {
        Self::start().await
    }

    fn topic(&self) -> Topic {
        Topic::new("orders.created").unwrap()
    }

    fn publisher(&self, door: Door) -> Arc<dyn Publisher> {
        let ca = format!("&ca={}", self.identity.ca().display());
        let (scheme, password, more) = match door {
            Door::WrongCredentials => ("http", WRONG_PASSWORD, ""),
            Door::Tls => ("https", PASSWORD, &*ca),
            Door::UntrustedTls => ("https", PASSWORD, ""),
            _ => ("http", PASSWORD, ""),
        };
        let password = password
            .replace(':', "%3A")
            .replace('/', "%2F")
            .replace('@', "%40");
        let place = format!("127.0.0.1:{}/hooks/{{topic}}", self.proxy.port());
        let options = format!("allow_private=true&{}{more}", M::OPTIONS);
        let url = format!("{scheme}://{USER}:{password}@{place}?key={{key}}#{options}");
        Arc::new(HttpPublisher::new(&url).unwrap())
    }

    async fn received(&mut self) -> Vec<Received> {
        self.receiver.accepted().iter().map(M::received).collect()
    }

    fn refused(&self, kind: PublishErrorKind) -> Message {
        let message = |payload: Vec<u8>| Message::new(self.topic(), payload).unwrap();
        let small = message(b"a payload".to_vec());
        match kind {
            PublishErrorKind::TooLarge => message(vec![b'x'; LONGEST + 1]),
            PublishErrorKind::Malformed => small.with_header("n", "a\nb").unwrap(),
            _ => small.with_header("x-refuse", "422").unwrap(),
        }
    }

    async fn strike(&mut self, fault: Fault) {
        let proxy = &self.proxy;
        match fault {
            Fault::Killed => self.receiver.kill().await,
            Fault::Frozen => self.receiver.freeze(true),
            Fault::Refused => {
                proxy.refuse(true);
                proxy.cut();
            }
            Fault::Stalled => proxy.stall(true),
            Fault::Unanswered => proxy.hold_answers(true),
            Fault::Cut => proxy.cut(),
            Fault::CutAfter(bytes) => proxy.cut_after(bytes),
            Fault::Missing => self.receiver.remove(true),
            other => panic!("there is no fault {other:?} here"),
        }
    }

    async fn heal(&mut self) {
        self.receiver.start_again().await;
        self.receiver.freeze(false);
        self.receiver.remove(false);
        self.proxy.refuse(false);
        self.proxy.stall(false);
        self.proxy.hold_answers(false);
    }

    fn missing_name(&self) -> String {
        "/hooks/orders.created".to_owned()
    }

    fn secrets(&self) -> Vec<String> {
        vec![PASSWORD.to_owned(), WRONG_PASSWORD.to_owned()]
    }
}

impl Mode for Webhook {
    const OPTIONS: &str = "mode=webhook";

    fn received(seen: &Seen) -> Received {
        let (_, key) = seen.target.rsplit_once("?key=").unwrap();
        Received {
            id: seen.header("webhook-id").map(str::to_owned),
            key: percent_decode(key).filter(|key| !key.is_empty()),
            payload: seen.body.clone(),
            headers: own(seen),
            content_type: seen.header("content-type").map(str::to_owned),
        }
    }
}

impl Mode for Binary {
    const OPTIONS: &str = "mode=cloudevents-binary&source=/shop";

    fn received(seen: &Seen) -> Received {
        let attribute = |name| seen.header(name).map(|text| percent_decode(text).unwrap());
        assert_eq!(attribute("ce-specversion").as_deref(), Some("1.0"));
        assert_eq!(attribute("ce-type").as_deref(), Some("orders.created"));
        assert_eq!(attribute("ce-source").as_deref(), Some("/shop"));
        Received {
            id: attribute("ce-id"),
            key: attribute("ce-partitionkey"),
            payload: seen.body.clone(),
            headers: own(seen),
            content_type: seen.header("content-type").map(str::to_owned),
        }
    }
}

impl Mode for Structured {
    const OPTIONS: &str = "mode=cloudevents-structured&source=/shop";
    const MAX_PAYLOAD: usize = LONGEST / 2;

    fn received(seen: &Seen) -> Received {
        let kind = seen.header("content-type").unwrap();
        assert_eq!(kind, "application/cloudevents+json; charset=utf-8");
        let event: Value = serde_json::from_slice(&seen.body).unwrap();
        let attribute = |name: &str| Some(event.get(name)?.as_str().unwrap().to_owned());
        assert_eq!(attribute("specversion").as_deref(), Some("1.0"));
        let content_type = attribute("datacontenttype");
        let is_json = content_type.as_deref().is_none_or(|it| it.contains("json"));
        let payload = match (&event["data"], attribute("data_base64")) {
            (_, Some(bytes)) => BASE64_STANDARD.decode(bytes).unwrap(),
            (Value::String(text), None) if !is_json => text.clone().into_bytes(),
            // Byte for byte as it stands there: parsing it would not show that.
            _ => {
                let text = seen.text();
                let (_, data) = text.split_once(",\"data\":").unwrap();
                data.as_bytes()[..data.len() - 1].to_vec()
            }
        };
        Received {
            id: attribute("id"),
            key: attribute("partitionkey"),
            payload,
            headers: own(seen),
            content_type,
        }
    }
}

/// The headers that are neither the connection's nor the publisher's.
fn own(seen: &Seen) -> Vec<(String, String)> {
    let others = [
        "accept",
        "authorization",
        "content-length",
        "content-type",
        "host",
        "user-agent",
    ];
    let is_own = |(name, _): &&(String, String)| {
        let is_ours = name.starts_with("webhook-") || name.starts_with("ce-");
        !others.contains(&&**name) && !is_ours
    };
    seen.headers.iter().filter(is_own).cloned().collect()
}

mod webhook {
    outbox_testkit::publisher_conformance!(super::HttpHarness<super::Webhook>);
}

mod cloudevents_binary {
    outbox_testkit::publisher_conformance!(super::HttpHarness<super::Binary>);
}

mod cloudevents_structured {
    outbox_testkit::publisher_conformance!(super::HttpHarness<super::Structured>);
}
