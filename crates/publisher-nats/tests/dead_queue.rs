//! Dead letters are read and redriven, in a stream on a real server through a proxy.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

#[path = "support/stream.rs"]
#[allow(dead_code, reason = "each program of tests uses its part")]
mod stream;

use std::sync::Arc;

use base64::{Engine, prelude::BASE64_STANDARD};
use outbox_message::{Delivery, Lane, LaneToken, Message, Position, Topic};
use outbox_publisher::{Choice, DeadQueues, Letter, Publisher, Redrive, RedriveError, Run, Step};
use outbox_publisher_nats::NatsPublisher;
use outbox_testkit::DeadQueueHarness;
use serde_json::json;
use stream::{PASSWORD, TestStream};

/// A stream for what is published again, and another for dead letters, since a stream takes an id once.
struct Harness(TestStream);

impl Harness {
    fn topic(&self, part: &str) -> Topic {
        Topic::new(format!("{}.{part}", self.0.name)).unwrap()
    }

    fn publisher(&self) -> NatsPublisher {
        NatsPublisher::new(&self.0.url("nats", PASSWORD)).unwrap()
    }
}

impl DeadQueueHarness for Harness {
    const SHARED: bool = true;

    async fn start() -> Self {
        let stream = TestStream::new().await;
        let name = format!("{}dlq", stream.name);
        let config = json!({"name": name, "subjects": [format!("{name}.>")], "storage": "file"});
        let made = stream.api(&format!("STREAM.CREATE.{name}"), &config).await;
        assert!(made.get("error").is_none(), "{made}");
        Self(stream)
    }

    fn dead(&self) -> Topic {
        Topic::new(format!("{}dlq.orders", self.0.name)).unwrap()
    }

    fn source(&self) -> Topic {
        self.topic("orders")
    }

    fn missing(&self) -> Topic {
        Topic::new(format!("nowhere.{}", self.0.name)).unwrap()
    }

    fn queues(&self) -> Arc<dyn DeadQueues> {
        Arc::new(self.publisher())
    }

    async fn put(&mut self, messages: &[Message]) {
        let publisher = self.publisher();
        for message in messages {
            publish(&publisher, message).await;
        }
    }

    async fn look(&mut self, topic: &Topic) -> Vec<String> {
        let (stream, _) = topic.as_str().split_once('.').unwrap();
        let info = self
            .0
            .api(&format!("STREAM.INFO.{stream}"), &json!({}))
            .await;
        let last = info["state"]["last_seq"].as_u64().unwrap();
        let get = format!("STREAM.MSG.GET.{stream}");
        let mut payloads = Vec::new();
        for sequence in 1..=last {
            let got = self.0.api(&get, &json!({"seq": sequence})).await;
            if got["message"]["subject"] == topic.as_str() {
                let data = got["message"]["data"].as_str().unwrap();
                let data = BASE64_STANDARD.decode(data).unwrap();
                payloads.push(String::from_utf8(data).unwrap());
            }
        }
        payloads
    }

    async fn cut(&mut self) {
        self.0.proxy.cut();
    }
}

outbox_testkit::dead_queue_conformance!(Harness);

async fn publish(publisher: &NatsPublisher, message: &Message) {
    let lane = Lane(0);
    let token = LaneToken {
        lane,
        epoch: 1,
        holder: "h".into(),
    };
    let delivery = Delivery {
        lane,
        position: Position(1),
        attempts: 0,
        tries: 0,
        starts: 0,
        message: message.clone(),
    };
    let run = Run {
        destination: "",
        token: &token,
        messages: std::slice::from_ref(&delivery),
    };
    let ended = publisher.publish(run).await;
    assert_eq!(ended.confirmed, 1, "{:?}", ended.failure);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_remembers_the_id_is_no_confirmation_and_nothing_is_lost() {
    let mut harness = Harness::start().await;
    let (dead, source) = (harness.dead(), harness.source());
    let first = Message::new(source.as_str(), "x").unwrap();
    let letter = Letter {
        id: Some(first.id.clone()),
        ..Letter::default()
    };
    // It was consumed, and died: the stream still knows its id, and would drop it.
    let publisher = harness.publisher();
    publish(&publisher, &first).await;
    let mut dead_letter = letter.message(dead.clone(), "x".into());
    dead_letter.id = "d-1".parse().unwrap();
    publish(&publisher, &dead_letter).await;

    let mut redrive = Redrive::open(&publisher, &dead).await.unwrap();
    let again = letter.message(source.clone(), "x".into());
    let step = redrive.step(|_| Choice::Publish(again.into())).await;
    let Err(RedriveError::Publish(error)) = step else {
        panic!("it counts as published: {step:?}");
    };
    assert!(error.text.contains("duplicate window"), "{error}");
    assert_eq!(harness.look(&dead).await, ["x"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_of_other_subjects_are_passed_over() {
    let mut harness = Harness::start().await;
    let dead = harness.dead();
    let other = Topic::new(format!("{dead}.other")).unwrap();
    let message = |topic: &Topic, text: &str| Message::new(topic, text.to_owned()).unwrap();
    let messages = [
        message(&other, "1"),
        message(&dead, "2"),
        message(&other, "3"),
        message(&dead, "4"),
        message(&other, "5"),
    ];
    harness.put(&messages).await;
    let source = harness.source();
    let mut redrive = Redrive::open(&harness.publisher(), &dead).await.unwrap();
    let mut redriven = 0;
    loop {
        let step = redrive.step(|letter| {
            Choice::Publish(
                Letter::default()
                    .message(source.clone(), letter.payload.clone())
                    .into(),
            )
        });
        match step.await.unwrap() {
            Step::End => break,
            _ => redriven += 1,
        }
    }
    assert_eq!(redriven, 2);
    assert_eq!(harness.look(&source).await, ["2", "4"]);
    assert_eq!(harness.look(&other).await, ["1", "3", "5"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_url_that_names_one_subject_for_all_topics_reads_nothing_of_it() {
    let harness = Harness::start().await;
    let (dead, url) = (harness.dead(), harness.0.url("nats", PASSWORD));
    let sign = if url.contains('?') { '&' } else { '?' };
    let publisher = NatsPublisher::new(&format!("{url}{sign}subject={dead}")).unwrap();
    let refused = publisher.dead_queue(&dead).await.unwrap_err();
    assert!(refused.text.contains("subject={topic}"), "{refused}");
}
