//! The suite for dead-letter queues takes a queue in memory that keeps the port's obligations, and accuses those that break one.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

use std::{
    borrow::Cow,
    collections::HashMap,
    marker::PhantomData,
    panic,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use outbox_message::{Message, Topic};
use outbox_publisher::{
    DeadQueue, DeadQueues, Letter, PublishError, PublishErrorKind, Published, Publisher, Run,
};
use outbox_testkit::{DeadQueueHarness, dead_queue_cases as cases, run_publisher_case};

/// What a queue does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flaw {
    Honest,
    RemovesWhatItReads,
    ReadsOn,
    RemovesItsFirst,
    DropsHeaders,
}

#[derive(Debug, Clone)]
struct Memory {
    flaw: Flaw,
    queues: Arc<Mutex<HashMap<Topic, Vec<Message>>>>,
}

impl Memory {
    fn with<R>(&self, topic: &Topic, act: impl FnOnce(&mut Vec<Message>) -> R) -> R {
        act(self
            .queues
            .lock()
            .unwrap()
            .entry(topic.clone())
            .or_default())
    }
}

#[async_trait]
impl Publisher for Memory {
    fn destination<'a>(&'a self, topic: &'a Topic) -> Cow<'a, str> {
        topic.as_str().into()
    }

    async fn publish(&self, run: Run<'_>) -> Published {
        for delivery in run.messages {
            let message = &delivery.message;
            if message.topic.as_str() == "missing" {
                let error = PublishError::new(PublishErrorKind::Unavailable, "it is missing");
                return Published::failed(0, error);
            }
            self.with(&message.topic, |queue| queue.push(message.clone()));
        }
        Published::all(run)
    }
}

#[async_trait]
impl DeadQueues for Memory {
    async fn dead_queue(&self, topic: &Topic) -> Result<Box<dyn DeadQueue>, PublishError> {
        Ok(Box::new(Queue {
            memory: self.clone(),
            topic: topic.clone(),
            ids: self.with(topic, |queue| {
                queue.iter().map(|it| it.id.clone()).collect()
            }),
            read: 0,
        }))
    }

    fn redriver(&self) -> Box<dyn Publisher> {
        Box::new(self.clone())
    }
}

#[derive(Debug)]
struct Queue {
    memory: Memory,
    topic: Topic,
    ids: Vec<outbox_message::MessageId>,
    read: usize,
}

impl Queue {
    fn take(&self) -> bool {
        let flaw = self.memory.flaw;
        let id = self.ids[self.read - 1].clone();
        self.memory.with(&self.topic, |queue| {
            let place = match flaw {
                Flaw::RemovesItsFirst => Some(0),
                _ => queue.iter().position(|message| message.id == id),
            };
            place.map(|place| queue.remove(place)).is_some()
        })
    }
}

#[async_trait]
impl DeadQueue for Queue {
    async fn next(&mut self) -> Result<Option<Letter>, PublishError> {
        if self.memory.flaw == Flaw::ReadsOn {
            let known = &mut self.ids;
            self.memory.with(&self.topic, |queue| {
                let new = queue.iter().filter(|it| !known.contains(&it.id));
                let new: Vec<_> = new.map(|message| message.id.clone()).collect();
                known.extend(new);
            });
        }
        while let Some(id) = self.ids.get(self.read) {
            self.read += 1;
            let found = self.memory.with(&self.topic, |queue| {
                queue.iter().find(|message| message.id == *id).cloned()
            });
            let Some(message) = found else { continue };
            if self.memory.flaw == Flaw::RemovesWhatItReads {
                self.take();
            }
            let mut letter = Letter {
                id: Some(message.id),
                headers: message.headers,
                payload: message.payload,
                ..Letter::default()
            };
            if self.memory.flaw == Flaw::DropsHeaders {
                letter.headers = outbox_message::Headers::new();
            }
            return Ok(Some(letter));
        }
        Ok(None)
    }

    async fn remove(&mut self) -> Result<bool, PublishError> {
        Ok(self.memory.flaw == Flaw::RemovesWhatItReads || self.take())
    }
}

trait Flawed: Send + Sync + 'static {
    const FLAW: Flaw;
}

macro_rules! flawed {
    ($($name:ident),+) => {
        $(
            struct $name;

            impl Flawed for $name {
                const FLAW: Flaw = Flaw::$name;
            }
        )+
    };
}

flawed!(
    Honest,
    RemovesWhatItReads,
    ReadsOn,
    RemovesItsFirst,
    DropsHeaders
);

struct Harness<F> {
    memory: Memory,
    flaw: PhantomData<F>,
}

impl<F: Flawed> DeadQueueHarness for Harness<F> {
    const SHARED: bool = true;

    async fn start() -> Self {
        Self {
            memory: Memory {
                flaw: F::FLAW,
                queues: Arc::default(),
            },
            flaw: PhantomData,
        }
    }

    fn dead(&self) -> Topic {
        Topic::new("orders.dlq").unwrap()
    }

    fn source(&self) -> Topic {
        Topic::new("orders").unwrap()
    }

    fn missing(&self) -> Topic {
        Topic::new("missing").unwrap()
    }

    fn queues(&self) -> Arc<dyn DeadQueues> {
        Arc::new(self.memory.clone())
    }

    async fn put(&mut self, messages: &[Message]) {
        for message in messages {
            self.memory
                .with(&message.topic, |queue| queue.push(message.clone()));
        }
    }

    async fn look(&mut self, topic: &Topic) -> Vec<String> {
        let text = |message: &Message| String::from_utf8_lossy(&message.payload).into_owned();
        self.memory
            .with(topic, |queue| queue.iter().map(text).collect())
    }

    async fn cut(&mut self) {}
}

mod honest {
    outbox_testkit::dead_queue_conformance!(super::Harness<super::Honest>);
}

/// The case fails.
fn accuses(case: impl FnOnce() + panic::UnwindSafe) -> bool {
    panic::catch_unwind(case).is_err()
}

#[test]
fn q1_a_queue_that_removes_what_it_reads_is_accused() {
    assert!(accuses(|| run_publisher_case(
        cases::q1_reading_removes_nothing::<Harness<RemovesWhatItReads>>()
    )));
    assert!(accuses(|| run_publisher_case(
        cases::q3_what_is_left_stays_in_its_order::<Harness<RemovesWhatItReads>>()
    )));
}

#[test]
fn q2_a_queue_that_reads_on_is_accused() {
    assert!(accuses(|| run_publisher_case(
        cases::q2_what_comes_later_is_not_read::<Harness<ReadsOn>>()
    )));
}

#[test]
fn q4_a_queue_that_removes_another_is_accused() {
    assert!(accuses(|| run_publisher_case(
        cases::q3_what_is_left_stays_in_its_order::<Harness<RemovesItsFirst>>()
    )));
}

#[test]
fn a_queue_that_drops_headers_is_accused() {
    assert!(accuses(|| run_publisher_case(
        cases::a_letter_has_the_parts_of_its_message::<Harness<DropsHeaders>>()
    )));
}
