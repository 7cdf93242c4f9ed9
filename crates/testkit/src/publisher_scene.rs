//! What the cases of the publisher suite are told with: a client that publishes as a relay does, and what arrived.

use std::{
    collections::HashSet,
    error::Error,
    fmt::Write as _,
    future::{Future, poll_fn},
    ops::RangeInclusive,
    pin::pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use outbox_message::{Delivery, Lane, LaneToken, Message, Position, Topic};
use outbox_publisher::{PublishError, PublishErrorKind, Published, Publisher, Run};
use tokio::{
    task::JoinHandle,
    time::{sleep, timeout},
};

use crate::{Door, PublisherHarness, Received};

/// After this a relay drops the call, as by default.
const PUBLISH_TIMEOUT: Duration = Duration::from_secs(10);

/// After this the case has failed: it waits for what never comes.
const PATIENCE: Duration = Duration::from_mins(3);

/// How often a condition is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// A destination with a publisher to it.
pub(crate) struct Scene<H> {
    pub(crate) harness: H,
    pub(crate) client: Client,
}

impl<H: PublisherHarness> Scene<H> {
    /// A destination on a server that others may use.
    pub(crate) async fn new() -> Self {
        Self::of(H::start().await)
    }

    /// A destination on a server of its own.
    pub(crate) async fn alone() -> Self {
        Self::of(H::start_alone().await)
    }

    fn of(harness: H) -> Self {
        let client = Client::new(&harness, Door::Plain);
        Self { harness, client }
    }

    /// Another publisher to the same destination.
    pub(crate) fn client(&self, door: Door) -> Client {
        Client::new(&self.harness, door)
    }

    /// What arrived so far.
    pub(crate) async fn arrived(&mut self) -> Arrived {
        Arrived(self.harness.received().await)
    }

    /// Returns as soon as this arrived.
    pub(crate) async fn until_arrived(
        &mut self,
        what: &str,
        is_there: impl Fn(&Arrived) -> bool,
    ) -> Arrived {
        let waited = timeout(PATIENCE, async {
            loop {
                let arrived = self.arrived().await;
                if is_there(&arrived) {
                    return arrived;
                }
                sleep(LOOK).await;
            }
        });
        let Ok(arrived) = waited.await else {
            panic!("{what}: it never arrived");
        };
        arrived
    }
}

/// A publisher as a relay uses it. Whatever it says is looked at: how far it got, and that no text shows a secret.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) publisher: Arc<dyn Publisher>,
    topic: Topic,
    secrets: Arc<[String]>,
}

impl Client {
    fn new<H: PublisherHarness>(harness: &H, door: Door) -> Self {
        Self {
            publisher: harness.publisher(door),
            topic: harness.topic(),
            secrets: harness.secrets().into(),
        }
    }

    /// A message of the destination's topic.
    pub(crate) fn message(&self, key: Option<&str>, payload: impl Into<Vec<u8>>) -> Message {
        let message = Message::new(&self.topic, payload.into()).expect("the topic is one");
        match key {
            Some(key) => message.with_key(key).expect("the key keeps the limits"),
            None => message,
        }
    }

    /// Messages of a key, numbered in their payloads.
    pub(crate) fn numbered(&self, key: &str, numbers: RangeInclusive<u64>) -> Vec<Message> {
        let message = |n| self.message(Some(key), format!("{key}:{n}"));
        numbers.map(message).collect()
    }

    /// The message with this number only.
    pub(crate) fn one(&self, key: &str, number: u64) -> Vec<Message> {
        self.numbered(key, number..=number)
    }

    /// Publishes a run, however long it takes.
    pub(crate) async fn call(&self, messages: &[Message]) -> Published {
        let lane = Lane(1);
        let token = LaneToken {
            lane,
            epoch: 1,
            holder: "conformance".into(),
        };
        let deliveries: Vec<_> = (1..)
            .zip(messages)
            .map(|(position, message)| Delivery {
                lane,
                position: Position(position),
                attempts: 0,
                tries: 0,
                starts: 0,
                message: message.clone(),
            })
            .collect();
        let destination = self.publisher.destination(&self.topic);
        let run = Run {
            destination: &destination,
            token: &token,
            messages: &deliveries,
        };
        let published = self.publisher.publish(run).await;
        assert!(
            published.confirmed <= messages.len(),
            "it confirms more than it was given"
        );
        assert_eq!(
            published.failure.is_none(),
            published.confirmed == messages.len(),
            "there is a failure if and only if something is not confirmed"
        );
        if let Some(failure) = &published.failure {
            self.look_at(failure);
        }
        published
    }

    /// Publishes a run as a relay does, which drops the call at its publish timeout. `None` then.
    pub(crate) async fn attempt(&self, messages: &[Message]) -> Option<Published> {
        timeout(PUBLISH_TIMEOUT, self.call(messages)).await.ok()
    }

    /// Publishes a run to which an answer comes before the publish timeout.
    pub(crate) async fn publish(&self, messages: &[Message]) -> Published {
        let Some(published) = self.attempt(messages).await else {
            panic!("it says nothing before the publish timeout of a relay");
        };
        published
    }

    /// Publishes a run that nothing hinders.
    pub(crate) async fn publish_all(&self, messages: &[Message]) {
        let published = self.publish(messages).await;
        assert!(
            published.failure.is_none(),
            "nothing hinders it, and yet: {published:?}"
        );
    }

    /// Publishes a run that fails, and says how.
    pub(crate) async fn fail(&self, messages: &[Message]) -> PublishError {
        let published = self.publish(messages).await;
        assert_eq!(published.confirmed, 0, "it confirms what must fail");
        published.failure.expect("it has not confirmed all")
    }

    /// Publishes a run again and again until all of it is confirmed, as a relay does through an outage: no failure counts (F3).
    pub(crate) async fn confirm(&self, messages: &[Message]) {
        let mut confirmed = 0;
        let mut last = None;
        let healed = timeout(PATIENCE, async {
            while confirmed < messages.len() {
                let Some(published) = self.attempt(&messages[confirmed..]).await else {
                    continue;
                };
                confirmed += published.confirmed;
                if let Some(failure) = published.failure {
                    assert_transient(&failure);
                    last = Some(failure);
                    sleep(LOOK).await;
                }
            }
        });
        let healed = healed.await.is_ok();
        assert!(healed, "the publisher does not heal by itself: {last:?}");
    }

    /// The same in a task of its own.
    pub(crate) fn spawn_confirm(&self, messages: Vec<Message>) -> JoinHandle<()> {
        let client = self.clone();
        tokio::spawn(async move { client.confirm(&messages).await })
    }

    /// A call in a task of its own, dropped at the publish timeout.
    pub(crate) fn spawn_attempt(&self, messages: Vec<Message>) -> JoinHandle<Option<Published>> {
        let client = self.clone();
        tokio::spawn(async move { client.attempt(&messages).await })
    }

    /// Asks whether messages of the topic could be published, with the patience of the publish timeout.
    pub(crate) async fn check(&self) -> Result<(), PublishError> {
        self.answer_to(self.publisher.check(&self.topic)).await
    }

    /// Asks whether the broker lets us in, with the same patience.
    pub(crate) async fn reach(&self) -> Result<(), PublishError> {
        self.answer_to(self.publisher.reach()).await
    }

    async fn answer_to(
        &self,
        check: impl Future<Output = Result<(), PublishError>>,
    ) -> Result<(), PublishError> {
        let Ok(checked) = timeout(PUBLISH_TIMEOUT, check).await else {
            panic!("the check says nothing before the publish timeout of a relay");
        };
        if let Err(failure) = &checked {
            self.look_at(failure);
        }
        checked
    }

    /// What the destination is called.
    pub(crate) fn destination(&self) -> String {
        self.publisher.destination(&self.topic).into_owned()
    }

    fn look_at(&self, failure: &PublishError) {
        let text = everything(failure);
        assert!(!failure.text.trim().is_empty(), "a failure without a text");
        self.assert_no_secret(&text);
    }

    /// Asserts that a text shows no secret.
    pub(crate) fn assert_no_secret(&self, text: &str) {
        for secret in &*self.secrets {
            // The text is not shown: it would tell the secret once more.
            assert!(!text.contains(secret), "a text shows a secret");
        }
    }
}

/// Asserts that an outage spends no attempt (F3), or that the failure says nothing about the message (F5).
#[track_caller]
pub(crate) fn assert_transient(failure: &PublishError) {
    assert!(
        matches!(
            failure.kind,
            PublishErrorKind::Unavailable
                | PublishErrorKind::Throttled
                | PublishErrorKind::Interrupted
        ),
        "an outage counts as a failure of a message: {failure:?}"
    );
}

/// All that a log can show of a failure.
pub(crate) fn everything(failure: &PublishError) -> String {
    let mut text = format!("{failure} {failure:?}");
    let mut source = failure.source();
    while let Some(error) = source {
        write!(text, " {error} {error:?}").expect("a string takes everything");
        source = error.source();
    }
    text
}

/// What arrived at the destination.
#[derive(Debug)]
pub(crate) struct Arrived(pub(crate) Vec<Received>);

impl Arrived {
    /// Payloads as text, in the broker's order.
    pub(crate) fn texts(&self) -> Vec<String> {
        let text = |received: &Received| String::from_utf8_lossy(&received.payload).into_owned();
        self.0.iter().map(text).collect()
    }

    /// Whether a message with this payload is there.
    pub(crate) fn has(&self, payload: impl AsRef<[u8]>) -> bool {
        let payload = payload.as_ref();
        self.0.iter().any(|received| received.payload == payload)
    }

    /// The numbers of this key's messages in the order in which each came first (O11).
    pub(crate) fn first(&self, key: &str) -> Vec<u64> {
        let mut seen = HashSet::new();
        let texts = self.texts();
        let numbers = texts.iter().filter_map(|text| {
            let mut parts = text.split(':');
            let of_key = parts.next() == Some(key);
            of_key.then(|| parts.next().and_then(|number| number.parse().ok()))?
        });
        numbers.filter(|number| seen.insert(*number)).collect()
    }

    /// Asserts that so many messages of the key are there and came in order: nothing that was confirmed is missing (B1, O11).
    #[track_caller]
    pub(crate) fn assert_first(&self, key: &str, count: u64) {
        let expected: Vec<_> = (1..=count).collect();
        assert_eq!(
            self.first(key),
            expected,
            "first deliveries of {key}, in order"
        );
    }
}

/// Drops a future when it waited so many times. `None` if it did not end before.
pub(crate) async fn cut<T>(work: impl Future<Output = T>, waits: usize) -> Option<T> {
    let mut work = pin!(work);
    let mut left = waits;
    let cut = poll_fn(move |context| {
        match work.as_mut().poll(context) {
            Poll::Ready(done) => return Poll::Ready(Some(done)),
            Poll::Pending if left == 0 => return Poll::Ready(None),
            Poll::Pending => left -= 1,
        }
        Poll::Pending
    });
    let Ok(ended) = timeout(PATIENCE, cut).await else {
        panic!("the call neither ends nor waits for anything that comes");
    };
    ended
}

/// Returns as soon as the condition holds.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let waited = timeout(PATIENCE, async {
        while !holds() {
            sleep(LOOK).await;
        }
    });
    assert!(waited.await.is_ok(), "{what}: it never came to that");
}
