//! A publisher that confirms everything and keeps it, for users' own tests. Failures are the business of
//! [`ScriptedPublisher`](crate::ScriptedPublisher).

use std::{
    borrow::Cow,
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use outbox_message::{Message, Topic};
use outbox_publisher::{Published, Publisher, Run};

/// Keeps every message it was handed, in order. A clone shares what was kept, so that a test hands one to the relay and asks the other.
///
/// ```
/// use outbox_message::{Delivery, Lane, LaneToken, Message, Position};
/// use outbox_publisher::{Publisher, Run};
/// use outbox_testkit::Recorder;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let recorder = Recorder::new();
/// # let lane = Lane(0);
/// # let token = LaneToken { lane, epoch: 1, holder: "h".into() };
/// # let message = Message::new("orders", "hello").unwrap().with_key("order-1").unwrap();
/// # let delivery = Delivery { lane, position: Position(1), attempts: 0, tries: 0, starts: 0, message };
/// # recorder.clone().publish(Run { destination: "recorder", token: &token, messages: &[delivery] }).await;
/// recorder.assert_payloads(["hello"]);
/// recorder.assert_payloads_of("orders", "order-1", ["hello"]);
/// # });
/// ```
#[derive(Debug, Clone, Default)]
pub struct Recorder {
    messages: Arc<Mutex<Vec<Message>>>,
}

impl Recorder {
    /// A publisher that has got nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Everything it got, in the order of getting it.
    pub fn messages(&self) -> Vec<Message> {
        self.lock().clone()
    }

    /// Everything it got, which it forgets.
    pub fn take(&self) -> Vec<Message> {
        std::mem::take(&mut *self.lock())
    }

    /// What it got without the duplicates: of each message id the first.
    pub fn first_deliveries(&self) -> Vec<Message> {
        let mut seen = HashSet::new();
        let mut messages = self.messages();
        messages.retain(|message| seen.insert(message.id.clone()));
        messages
    }

    /// Asserts the payloads of everything it got, in order.
    ///
    /// # Panics
    ///
    /// If they differ.
    #[track_caller]
    pub fn assert_payloads<'a>(&self, expected: impl IntoIterator<Item = &'a str>) {
        assert_same(&self.messages(), expected);
    }

    /// Asserts the payloads of everything it got of one ordering key, in order.
    ///
    /// # Panics
    ///
    /// If they differ.
    #[track_caller]
    pub fn assert_payloads_of<'a>(
        &self,
        topic: &str,
        key: &str,
        expected: impl IntoIterator<Item = &'a str>,
    ) {
        let mut messages = self.messages();
        messages.retain(|message| {
            message.topic.as_str() == topic
                && message.key.as_ref().is_some_and(|k| k.as_str() == key)
        });
        assert_same(&messages, expected);
    }

    /// Asserts that it got nothing.
    ///
    /// # Panics
    ///
    /// If it got something.
    #[track_caller]
    pub fn assert_empty(&self) {
        assert_same(&self.messages(), []);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Message>> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[track_caller]
fn assert_same<'a>(messages: &[Message], expected: impl IntoIterator<Item = &'a str>) {
    let got: Vec<_> = messages
        .iter()
        .map(|message| String::from_utf8_lossy(&message.payload).into_owned())
        .collect();
    let expected: Vec<_> = expected.into_iter().collect();
    assert_eq!(
        got, expected,
        "the recorder got other payloads than expected"
    );
}

#[async_trait]
impl Publisher for Recorder {
    fn destination<'a>(&'a self, _topic: &'a Topic) -> Cow<'a, str> {
        "recorder".into()
    }

    async fn publish(&self, run: Run<'_>) -> Published {
        self.lock()
            .extend(run.messages.iter().map(|delivery| delivery.message.clone()));
        Published::all(run)
    }
}
