//! Dead letters are read and redriven, on a real server through a proxy; those that the broker itself moved too.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

#[path = "support/broker.rs"]
#[allow(dead_code, reason = "each program of tests uses its part")]
mod broker;
#[path = "support/publishing.rs"]
#[allow(dead_code, reason = "each program of tests uses its part")]
mod publishing;

use std::sync::Arc;

use broker::{Consumer, port_of, unique, with_port};
use lapin::{
    options::{BasicGetOptions, BasicNackOptions, BasicRejectOptions, QueueDeclareOptions},
    types::{AMQPValue, FieldTable},
};
use outbox_message::{Message, Topic};
use outbox_publisher::{Choice, DeadQueues, Redrive, Step};
use outbox_publisher_rabbitmq::RabbitMqPublisher;
use outbox_test_servers::Proxy;
use outbox_testkit::DeadQueueHarness;
use publishing::{confirm, message, topic};

struct Harness {
    url: String,
    proxy: Proxy,
    name: String,
    consumer: Consumer,
}

impl Harness {
    fn topic(&self, part: &str) -> Topic {
        topic(&format!("{}.{part}", self.name))
    }

    /// All that is in a queue, which takes it back.
    async fn peek(&mut self, queue: &str) -> Vec<String> {
        let channel = self.consumer.channel().await;
        let (mut payloads, mut last) = (Vec::new(), None);
        loop {
            let got = channel.basic_get(queue.into(), BasicGetOptions::default());
            let Some(message) = got.await.unwrap() else {
                break;
            };
            last = Some(message.delivery_tag);
            payloads.push(String::from_utf8(message.delivery.data).unwrap());
        }
        if let Some(last) = last {
            let all = BasicNackOptions {
                multiple: true,
                requeue: true,
            };
            channel.basic_nack(last, all).await.unwrap();
        }
        payloads
    }
}

impl DeadQueueHarness for Harness {
    const SHARED: bool = false;

    async fn start() -> Self {
        let url = broker::url();
        let mut harness = Self {
            proxy: Proxy::start(port_of(&url)).unwrap(),
            name: unique("dead"),
            consumer: Consumer::new(&url),
            url,
        };
        for queue in [harness.dead(), harness.source()] {
            harness.consumer.declare(queue.as_str()).await;
        }
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
        let url = with_port(&self.url, self.proxy.port());
        Arc::new(RabbitMqPublisher::new(&url).unwrap())
    }

    async fn put(&mut self, messages: &[Message]) {
        let publisher = RabbitMqPublisher::new(&self.url).unwrap();
        for message in messages {
            confirm(&publisher, message).await;
        }
    }

    async fn look(&mut self, topic: &Topic) -> Vec<String> {
        self.peek(topic.as_str()).await
    }

    async fn count(&mut self, topic: &Topic) -> usize {
        let options = QueueDeclareOptions {
            passive: true,
            ..QueueDeclareOptions::default()
        };
        let channel = self.consumer.channel().await;
        let declared = channel.queue_declare(topic.as_str().into(), options, FieldTable::default());
        usize::try_from(declared.await.unwrap().message_count()).unwrap()
    }

    async fn cut(&mut self) {
        self.proxy.cut();
    }
}

outbox_testkit::dead_queue_conformance!(Harness);

#[tokio::test(flavor = "multi_thread")]
async fn what_the_broker_moved_says_where_it_died_and_keeps_its_headers() {
    let mut harness = Harness::start().await;
    let (dead, orders) = (harness.dead(), harness.topic("orders"));
    let mut arguments = FieldTable::default();
    let text = |text: &str| AMQPValue::LongString(text.into());
    arguments.insert("x-dead-letter-exchange".into(), text(""));
    arguments.insert("x-dead-letter-routing-key".into(), text(dead.as_str()));
    harness
        .consumer
        .declare_with(orders.as_str(), arguments)
        .await;
    let publisher = RabbitMqPublisher::new(&harness.url).unwrap();
    let message = message(orders.as_str(), "7,acme")
        .with_header("tenant", "acme")
        .unwrap();
    confirm(&publisher, &message).await;
    let channel = harness.consumer.channel().await;
    let got = channel.basic_get(orders.as_str().into(), BasicGetOptions::default());
    let tag = got.await.unwrap().unwrap().delivery_tag;
    let rejected = channel.basic_reject(tag, BasicRejectOptions { requeue: false });
    rejected.await.unwrap();
    while harness.count(&dead).await == 0 {}

    let mut redrive = Redrive::open(&publisher, &dead).await.unwrap();
    let step = redrive.step(|letter| {
        assert_eq!(letter.source.as_ref(), Some(&orders));
        assert_eq!(letter.unkept, None);
        let source = letter.source.clone().unwrap();
        Choice::Publish(letter.message(source, letter.payload.clone()).into())
    });
    assert!(matches!(step.await.unwrap(), Step::Redriven));
    redrive.close().await.unwrap();
    let taken = harness.consumer.take(orders.as_str()).await;
    assert_eq!(taken.len(), 1);
    assert_eq!(
        broker::headers(&taken[0]),
        [("tenant".to_owned(), "acme".to_owned())]
    );
    let id = taken[0].properties.message_id().as_ref().unwrap();
    assert_eq!(id.as_str(), message.id.as_str());
    assert!(harness.peek(dead.as_str()).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_that_is_missing_and_an_exchange_are_refused_by_name() {
    let harness = Harness::start().await;
    let publisher = RabbitMqPublisher::new(&harness.url).unwrap();
    let missing = harness.missing();
    let refused = publisher.dead_queue(&missing).await.unwrap_err();
    assert!(refused.text.contains(missing.as_str()), "{refused}");
    let exchange = RabbitMqPublisher::new(&format!("{}?exchange=events", harness.url)).unwrap();
    let refused = exchange.dead_queue(&missing).await.unwrap_err();
    assert!(refused.text.contains("leave exchange="), "{refused}");
    let dead = harness.dead();
    let one = RabbitMqPublisher::new(&format!("{}?queue={dead}", harness.url)).unwrap();
    let refused = one.dead_queue(&dead).await.unwrap_err();
    assert!(refused.text.contains("queue={topic}"), "{refused}");
}
