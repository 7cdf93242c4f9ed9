//! The publisher passes the conformance suite of all publishers in each of its layouts, on a real server through a proxy.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

#[path = "support/server.rs"]
#[allow(dead_code, reason = "each program of tests uses its part")]
mod server;

use std::{marker::PhantomData, sync::Arc};

use outbox_message::{Message, Topic};
use outbox_publisher::{PublishErrorKind, Publisher};
use outbox_publisher_redis::RedisPublisher;
use outbox_test_servers::{Proxy, Redis};
use outbox_testkit::{
    Door, Fault, HeaderSupport, PublisherCapabilities, PublisherHarness, Received,
};
use serde_json::Value;
use server::{MAX_BYTES, PASSWORD};

const WRONG_PASSWORD: &str = "wrong-pass-word";

/// What the layouts have in common: whole runs, payloads up to the server's limit, a password and TLS. That something else
/// stands at the key is what comes closest to a destination that is missing.
const COMMON: PublisherCapabilities = PublisherCapabilities::BARE
    .with_whole_runs()
    .with_credentials()
    .with_tls()
    .with_missing();

/// A layout as a URL says it, and as a consumer reads it.
trait Layout: Send + Sync + 'static {
    const CAPABILITIES: PublisherCapabilities;
    const PARAMETERS: &'static str;

    /// The key of what the topic goes to.
    fn key(topic: &str) -> String {
        topic.to_owned()
    }

    /// The command that reads everything that stands there.
    fn look(key: &str) -> redis::Cmd {
        redis::cmd("LRANGE").arg(key).arg(0).arg(-1).to_owned()
    }

    /// What its answer says.
    fn read(answer: redis::Value) -> Vec<Received> {
        let elements: Vec<Vec<u8>> = redis::from_redis_value(answer).unwrap();
        elements.into_iter().map(unframed).collect()
    }

    /// A payload that cannot be published in this layout.
    fn malformed(topic: &Topic) -> Message {
        Message::new(topic, vec![0xFF]).unwrap()
    }
}

/// An element of a list as BabelQueue's consumers take it.
fn unframed(element: Vec<u8>) -> Received {
    let bare = |payload| Received {
        payload,
        ..Received::default()
    };
    let Ok(Value::Object(frame)) = serde_json::from_slice(&element) else {
        return bare(element);
    };
    let (Some(Value::Object(headers)), Some(Value::String(body))) =
        (frame.get("headers"), frame.get("body"))
    else {
        return bare(element);
    };
    assert_eq!(frame.get("__bq_frame"), Some(&Value::from(1)));
    let mut received = bare(body.clone().into_bytes());
    for (name, value) in headers {
        let value = value.as_str().unwrap().to_owned();
        match &**name {
            "bq-message-id" => received.id = Some(value),
            "content-type" => received.content_type = Some(value),
            _ => received.headers.push((name.clone(), value)),
        }
    }
    received
}

struct List;

impl Layout for List {
    const CAPABILITIES: PublisherCapabilities = COMMON
        .without_ids()
        .with_headers(HeaderSupport::Names)
        .with_any_header_text()
        .with_max_payload(MAX_BYTES)
        .with_refusals(&[PublishErrorKind::TooLarge, PublishErrorKind::Malformed]);
    const PARAMETERS: &'static str = "layout=list";

    fn malformed(topic: &Topic) -> Message {
        let message = Message::new(topic, vec![0xFF]).unwrap();
        message.with_header("n", "v").unwrap()
    }
}

struct FramedList;

impl Layout for FramedList {
    const CAPABILITIES: PublisherCapabilities = COMMON
        .with_content_types()
        .with_headers(HeaderSupport::Names)
        .with_any_header_text()
        .without_any_payload()
        .with_max_payload(MAX_BYTES - 1024)
        .with_refusals(&[PublishErrorKind::TooLarge, PublishErrorKind::Malformed]);
    const PARAMETERS: &'static str = "layout=list&queue=framed:{topic}&frame=always";

    fn key(topic: &str) -> String {
        format!("framed:{topic}")
    }
}

/// Jobs are not checked, since the messages of the suite are none.
struct Laravel;

impl Layout for Laravel {
    const CAPABILITIES: PublisherCapabilities = COMMON
        .without_ids()
        .with_max_payload(MAX_BYTES)
        .with_refusals(&[PublishErrorKind::TooLarge]);
    const PARAMETERS: &'static str = "layout=laravel&jobs=unchecked";

    fn key(topic: &str) -> String {
        format!("queues:{topic}")
    }

    fn read(answer: redis::Value) -> Vec<Received> {
        let elements: Vec<Vec<u8>> = redis::from_redis_value(answer).unwrap();
        let received = |payload| Received {
            payload,
            ..Received::default()
        };
        elements.into_iter().map(received).collect()
    }
}

struct Stream;

impl Layout for Stream {
    const CAPABILITIES: PublisherCapabilities = COMMON
        .with_keys()
        .with_content_types()
        .with_headers(HeaderSupport::Pairs)
        .with_any_header_text()
        .with_max_payload(MAX_BYTES)
        .with_refusals(&[PublishErrorKind::TooLarge]);
    const PARAMETERS: &'static str = "layout=stream&max_len=1000000";

    fn look(key: &str) -> redis::Cmd {
        redis::cmd("XRANGE").arg(key).arg("-").arg("+").to_owned()
    }

    fn read(answer: redis::Value) -> Vec<Received> {
        type Entry = (String, Vec<(String, Vec<u8>)>);
        let entries: Vec<Entry> = redis::from_redis_value(answer).unwrap();
        let text = |value| String::from_utf8(value).unwrap();
        let received = |(_, fields): Entry| {
            let mut received = Received::default();
            for (name, value) in fields {
                match &*name {
                    "id" => received.id = Some(text(value)),
                    "key" => received.key = Some(text(value)),
                    "content_type" => received.content_type = Some(text(value)),
                    "headers" => received.headers = serde_json::from_slice(&value).unwrap(),
                    "payload" => received.payload = value,
                    other => assert_eq!(other, "topic"),
                }
            }
            received
        };
        entries.into_iter().map(received).collect()
    }
}

/// The way to a server, which may be shared.
struct Harness<L> {
    own: Option<Redis>,
    shared: Option<Arc<Redis>>,
    plain: Proxy,
    tls: Proxy,
    topic: Topic,
    is_missing: bool,
    layout: PhantomData<L>,
}

impl<L: Layout> Harness<L> {
    fn new(own: Option<Redis>, shared: Option<Arc<Redis>>) -> Self {
        let server = own.as_ref().or(shared.as_deref()).unwrap();
        Self {
            plain: Proxy::start(server.port()).unwrap(),
            tls: Proxy::start(server::tls_port(server)).unwrap(),
            topic: Topic::new(server::unique("orders")).unwrap(),
            own,
            shared,
            is_missing: false,
            layout: PhantomData,
        }
    }

    fn server(&self) -> &Redis {
        self.own.as_ref().or(self.shared.as_deref()).unwrap()
    }

    fn key(&self) -> String {
        L::key(self.topic.as_str())
    }

    async fn say(&self, command: &[&str]) {
        let mut client = server::client(self.server()).await;
        let command = redis::cmd(command[0]).arg(&command[1..]).to_owned();
        command.exec_async(&mut client).await.unwrap();
    }

    fn both(&self, act: impl Fn(&Proxy)) {
        act(&self.plain);
        act(&self.tls);
    }
}

impl<L: Layout> PublisherHarness for Harness<L> {
    const CAPABILITIES: PublisherCapabilities = L::CAPABILITIES;

    async fn start() -> Self {
        Self::new(None, Some(server::shared()))
    }

    async fn start_alone() -> Self {
        Self::new(Some(Redis::start(server::options()).unwrap()), None)
    }

    fn topic(&self) -> Topic {
        self.topic.clone()
    }

    fn publisher(&self, door: Door) -> Arc<dyn Publisher> {
        let (plain, tls) = (self.plain.port(), self.tls.port());
        let ca = self.server().ca_file().unwrap().display();
        let base = match door {
            Door::WrongCredentials => format!("redis://:{WRONG_PASSWORD}@127.0.0.1:{plain}/?"),
            Door::Tls => format!("rediss://:{PASSWORD}@127.0.0.1:{tls}/?ca={ca}&"),
            Door::UntrustedTls => format!("rediss://:{PASSWORD}@127.0.0.1:{tls}/?"),
            _ => format!("redis://:{PASSWORD}@127.0.0.1:{plain}/?"),
        };
        let url = format!("{base}{}", L::PARAMETERS);
        Arc::new(RedisPublisher::new(&url).unwrap())
    }

    async fn received(&mut self) -> Vec<Received> {
        if self.is_missing {
            return Vec::new();
        }
        let mut client = server::client(self.server()).await;
        L::read(L::look(&self.key()).query_async(&mut client).await.unwrap())
    }

    fn refused(&self, kind: PublishErrorKind) -> Message {
        match kind {
            PublishErrorKind::TooLarge => {
                Message::new(&self.topic, vec![b'x'; MAX_BYTES + 1]).unwrap()
            }
            _ => L::malformed(&self.topic),
        }
    }

    async fn strike(&mut self, fault: Fault) {
        match fault {
            Fault::Killed => self.own.as_mut().unwrap().kill().unwrap(),
            Fault::Frozen => self.own.as_ref().unwrap().freeze().unwrap(),
            Fault::Refused => self.both(|proxy| {
                proxy.refuse(true);
                proxy.cut();
            }),
            Fault::Stalled => self.both(|proxy| proxy.stall(true)),
            Fault::Unanswered => self.both(|proxy| proxy.hold_answers(true)),
            Fault::Cut => self.both(Proxy::cut),
            Fault::CutAfter(bytes) => self.both(|proxy| proxy.cut_after(bytes)),
            Fault::Missing => {
                self.say(&["DEL", &self.key()]).await;
                self.say(&["SET", &self.key(), "something else"]).await;
                self.is_missing = true;
            }
            other => panic!("there is no fault {other:?} here"),
        }
    }

    async fn heal(&mut self) {
        if let Some(server) = &mut self.own {
            server.start_again().unwrap();
            server.thaw().unwrap();
        }
        self.both(|proxy| {
            proxy.refuse(false);
            proxy.stall(false);
            proxy.hold_answers(false);
        });
        if self.is_missing {
            self.say(&["DEL", &self.key()]).await;
            self.is_missing = false;
        }
    }

    fn missing_name(&self) -> String {
        self.key()
    }

    fn secrets(&self) -> Vec<String> {
        vec![PASSWORD.to_owned(), WRONG_PASSWORD.to_owned()]
    }
}

mod list {
    use super::{Harness, List};

    outbox_testkit::publisher_conformance!(Harness<List>);
}

mod framed_list {
    use super::{FramedList, Harness};

    outbox_testkit::publisher_conformance!(Harness<FramedList>);
}

mod laravel {
    use super::{Harness, Laravel};

    outbox_testkit::publisher_conformance!(Harness<Laravel>);
}

mod stream {
    use super::{Harness, Stream};

    outbox_testkit::publisher_conformance!(Harness<Stream>);
}
