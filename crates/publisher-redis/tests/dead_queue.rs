//! Dead letters are read and redriven in each layout, on a real server through a proxy.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

#[path = "support/run.rs"]
#[allow(dead_code, reason = "each program of tests uses its part")]
mod run;
#[path = "support/server.rs"]
#[allow(dead_code, reason = "each program of tests uses its part")]
mod server;

use std::{marker::PhantomData, sync::Arc};

use outbox_message::{Message, Topic};
use outbox_publisher::{Choice, DeadQueues, PublishError, Redrive, Step};
use outbox_publisher_redis::RedisPublisher;
use outbox_test_servers::{Proxy, Redis};
use outbox_testkit::DeadQueueHarness;
use server::PASSWORD;

trait Layout: Send + Sync + 'static {
    const PARAMETERS: &'static str;

    fn key(topic: &Topic) -> String {
        topic.to_string()
    }

    /// The payloads that the answer to this command has.
    fn look(key: &str) -> redis::Cmd {
        redis::cmd("LRANGE").arg(key).arg(0).arg(-1).to_owned()
    }

    fn read(answer: redis::Value) -> Vec<String> {
        redis::from_redis_value(answer).unwrap()
    }
}

struct List;

impl Layout for List {
    const PARAMETERS: &'static str = "layout=list";
}

struct Laravel;

impl Layout for Laravel {
    const PARAMETERS: &'static str = "layout=laravel";

    fn key(topic: &Topic) -> String {
        format!("queues:{topic}")
    }
}

struct Stream;

impl Layout for Stream {
    const PARAMETERS: &'static str = "layout=stream";

    fn look(key: &str) -> redis::Cmd {
        redis::cmd("XRANGE").arg(key).arg("-").arg("+").to_owned()
    }

    fn read(answer: redis::Value) -> Vec<String> {
        let entries: Vec<(String, Vec<(String, String)>)> =
            redis::from_redis_value(answer).unwrap();
        let payload = |(_, fields): (String, Vec<(String, String)>)| {
            let mut fields = fields.into_iter();
            fields.find(|(name, _)| name == "payload").unwrap().1
        };
        entries.into_iter().map(payload).collect()
    }
}

struct Harness<L> {
    server: Arc<Redis>,
    proxy: Proxy,
    name: String,
    layout: PhantomData<L>,
}

impl<L: Layout> Harness<L> {
    fn topic(&self, part: &str) -> Topic {
        Topic::new(format!("{}.{part}", self.name)).unwrap()
    }

    fn publisher(port: u16) -> RedisPublisher {
        let url = format!("redis://:{PASSWORD}@127.0.0.1:{port}/?{}", L::PARAMETERS);
        RedisPublisher::new(&url).unwrap()
    }
}

impl<L: Layout> DeadQueueHarness for Harness<L> {
    const SHARED: bool = true;

    async fn start() -> Self {
        let server = server::shared();
        let harness = Self {
            proxy: Proxy::start(server.port()).unwrap(),
            server,
            name: server::unique("orders"),
            layout: PhantomData,
        };
        let missing = L::key(&harness.missing());
        server::say(&harness.server, &format!("SET {missing} x")).await;
        harness
    }

    fn dead(&self) -> Topic {
        self.topic("dlq")
    }

    fn source(&self) -> Topic {
        self.topic("source")
    }

    fn missing(&self) -> Topic {
        self.topic("missing")
    }

    fn queues(&self) -> Arc<dyn DeadQueues> {
        Arc::new(Self::publisher(self.proxy.port()))
    }

    async fn put(&mut self, messages: &[Message]) {
        run::publish_all(&Self::publisher(self.server.port()), messages).await;
    }

    async fn look(&mut self, topic: &Topic) -> Vec<String> {
        let mut client = server::client(&self.server).await;
        let look = L::look(&L::key(topic));
        L::read(look.query_async(&mut client).await.unwrap())
    }

    async fn cut(&mut self) {
        self.proxy.cut();
    }
}

mod list {
    outbox_testkit::dead_queue_conformance!(super::Harness<super::List>);
}

mod laravel {
    outbox_testkit::dead_queue_conformance!(super::Harness<super::Laravel>);
}

mod stream {
    outbox_testkit::dead_queue_conformance!(super::Harness<super::Stream>);
}

async fn redrive_one(publisher: &RedisPublisher, dead: &Topic) -> Step {
    let mut redrive = Redrive::open(publisher, dead).await.unwrap();
    let source = Topic::new(format!("{dead}.source")).unwrap();
    let step = redrive
        .step(|letter| Choice::Publish(letter.message(source, letter.payload.clone()).into()));
    step.await.unwrap()
}

#[tokio::test]
async fn a_job_of_laravel_goes_with_its_notification() {
    let harness = Harness::<Laravel>::start().await;
    let publisher = Harness::<Laravel>::publisher(harness.server.port());
    let dead = harness.dead();
    let jobs = [1, 2].map(|n| run::message(dead.as_str(), format!(r#"{{"n":{n},"attempts":0}}"#)));
    run::publish_all(&publisher, &jobs).await;
    assert!(matches!(
        redrive_one(&publisher, &dead).await,
        Step::Redriven
    ));
    let notifications = server::list(&harness.server, &format!("queues:{dead}:notify")).await;
    assert_eq!(notifications.len(), 1);
    let source = format!("queues:{dead}.source:notify");
    assert_eq!(server::list(&harness.server, &source).await.len(), 1);
}

#[tokio::test]
async fn a_frame_keeps_its_headers() {
    let harness = Harness::<List>::start().await;
    let publisher = Harness::<List>::publisher(harness.server.port());
    let dead = harness.dead();
    let framed = r#"{"__bq_frame":1,"headers":{"traceparent":"00-1","tenant":"é"},"body":"{\"job\":\"urn:a\",\"meta\":{\"schema_version\":1}}"}"#;
    let mut client = server::client(&harness.server).await;
    let push = redis::cmd("RPUSH")
        .arg(dead.as_str())
        .arg(framed)
        .to_owned();
    push.exec_async(&mut client).await.unwrap();
    assert!(matches!(
        redrive_one(&publisher, &dead).await,
        Step::Redriven
    ));
    let source = server::list(&harness.server, &format!("{dead}.source")).await;
    assert_eq!(source, [framed]);
}

#[tokio::test]
async fn a_list_that_is_a_stream_and_a_name_with_a_key_are_refused() {
    let harness = Harness::<List>::start().await;
    let publisher = Harness::<List>::publisher(harness.server.port());
    let refused = publisher.dead_queue(&harness.missing()).await.unwrap_err();
    assert!(refused.text.contains("holds no list"), "{refused}");
    let refused = refused_by(&harness, "queue={topic}:{key}").await;
    assert!(
        refused.text.contains("queue= in the URL has {key}"),
        "{refused}"
    );
}

async fn refused_by(harness: &Harness<List>, parameters: &str) -> PublishError {
    let port = harness.server.port();
    let url = format!("redis://:{PASSWORD}@127.0.0.1:{port}/?{parameters}");
    let publisher = RedisPublisher::new(&url).unwrap();
    publisher.dead_queue(&harness.dead()).await.unwrap_err()
}

#[tokio::test]
async fn a_url_that_names_one_queue_for_all_topics_reads_nothing_of_it() {
    let harness = Harness::<List>::start().await;
    let dead = harness.dead();
    for (parameters, written) in [
        (format!("queue={dead}"), "queue={topic}"),
        (format!("layout=laravel&queue={dead}"), "queue={topic}"),
        (format!("layout=stream&stream={dead}"), "stream={topic}"),
    ] {
        let refused = refused_by(&harness, &parameters).await;
        assert!(refused.text.contains(written), "{refused}");
    }
}
