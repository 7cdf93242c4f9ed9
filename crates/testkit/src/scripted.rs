//! A publisher that does what a test told it, message by message, and keeps a record of every hand-over.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use outbox_message::{Delivery, MessageId, Position, Topic};
use outbox_publisher::{PublishError, PublishErrorKind, Published, Publisher, Run};
use tokio::sync::Notify;

/// What the scripted broker does with one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// It confirms it.
    Confirm,
    /// It confirms it after this long, by tokio's clock (which a test pauses).
    Late(Duration),
    /// It does not take it.
    Fail(PublishErrorKind),
    /// It does not take it, and says when to try again.
    FailFor(PublishErrorKind, Duration),
    /// It takes it, and the answer is lost on the way: reported like [`Reply::Fail`].
    Lose(PublishErrorKind),
    /// It never answers.
    Hang,
    /// The publisher panics.
    Panic,
    /// The run ends here without a reason, as no publisher may.
    Silence,
}

/// One message handed to the scripted broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handed {
    /// Its id.
    pub id: MessageId,
    /// Its topic.
    pub topic: Topic,
    /// Its position in its store.
    pub position: Position,
    /// The attempts it came with.
    pub attempts: u32,
    /// The starts it came with.
    pub starts: u32,
    /// What became of it; `None` while it is in flight, and for ever if the publish was abandoned.
    pub reply: Option<Reply>,
    /// The publish ended without an answer: it was dropped, or it panicked.
    pub abandoned: bool,
}

/// A publisher whose broker follows a script.
///
/// What counts for a message, first to last: its destination is [`down`](Self::down); a script for its id ([`on`](Self::on));
/// the seeded [`chance`](Self::chance); the reply for [`all`](Self::all), at first [`Reply::Confirm`]. Before any of them
/// counts, a message that the test [holds](Self::hold) waits until it is let go. A clone shares script and record.
///
/// ```
/// use outbox_publisher::PublishErrorKind;
/// use outbox_testkit::{Reply, ScriptedPublisher};
///
/// let publisher = ScriptedPublisher::new();
/// publisher.on("order-1", [Reply::Fail(PublishErrorKind::Rejected), Reply::Confirm]);
/// publisher.hold("order-2");
/// // ... hand a clone to a relay, let it run ...
/// publisher.let_go("order-2");
/// assert!(publisher.confirmed().is_empty());
/// ```
#[derive(Debug, Clone, Default)]
pub struct ScriptedPublisher {
    routes: HashMap<String, String>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug)]
struct State {
    scripts: HashMap<String, VecDeque<Reply>>,
    down: HashMap<String, PublishErrorKind>,
    chance: Option<Chance>,
    all: Reply,
    gate: Gate,
    handed: Vec<Handed>,
    in_flight: usize,
    most_in_flight: usize,
    confirmed: Vec<MessageId>,
    received: Vec<MessageId>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            scripts: HashMap::new(),
            down: HashMap::new(),
            chance: None,
            all: Reply::Confirm,
            gate: Gate::default(),
            handed: Vec::new(),
            in_flight: 0,
            most_in_flight: 0,
            confirmed: Vec::new(),
            received: Vec::new(),
        }
    }
}

/// Which messages wait before the broker looks at them.
#[derive(Debug, Default)]
struct Gate {
    all: bool,
    held: HashSet<String>,
    passed: HashSet<String>,
}

impl Gate {
    fn holds(&self, id: &str) -> bool {
        !self.passed.contains(id) && (self.all || self.held.contains(id))
    }
}

#[derive(Debug)]
struct Chance {
    state: u64,
    percent: u8,
    reply: Reply,
}

impl Chance {
    /// One step of xorshift64*, enough to scatter failures the same way for the same seed.
    fn strikes(&mut self) -> Option<Reply> {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        let scrambled = self.state.wrapping_mul(0x2545_F491_4F6C_DD1D);
        ((scrambled >> 33) % 100 < u64::from(self.percent)).then_some(self.reply)
    }
}

impl ScriptedPublisher {
    /// A publisher that confirms everything, with the one destination `broker`.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same publisher with messages of `topic` going to `destination`; to be said before it is cloned.
    #[must_use]
    pub fn route(mut self, topic: impl Into<String>, destination: impl Into<String>) -> Self {
        self.routes.insert(topic.into(), destination.into());
        self
    }

    /// Answers the next hand-overs of the message `id` with `replies`, one each; the usual answer follows after them.
    pub fn on(&self, id: &str, replies: impl IntoIterator<Item = Reply>) {
        let mut state = self.shared.lock();
        let script = state.scripts.entry(id.to_owned()).or_default();
        script.extend(replies);
    }

    /// Answers every message that has no script of its own with `reply`.
    pub fn all(&self, reply: Reply) {
        self.shared.lock().all = reply;
    }

    /// Answers `percent` of the hand-overs that have no script of their own with `reply`; the same seed strikes the same hand-overs.
    pub fn chance(&self, seed: u64, percent: u8, reply: Reply) {
        self.shared.lock().chance = Some(Chance {
            state: seed | 1,
            percent,
            reply,
        });
    }

    /// Takes a destination down: everything that goes there fails, whatever its script, with an error of this kind.
    pub fn down(&self, destination: &str, kind: PublishErrorKind) {
        self.shared.lock().down.insert(destination.to_owned(), kind);
    }

    /// Brings a destination up again.
    pub fn up(&self, destination: &str) {
        self.shared.lock().down.remove(destination);
    }

    /// Holds every message before the broker looks at it.
    pub fn hold_all(&self) {
        let mut state = self.shared.lock();
        state.gate = Gate {
            all: true,
            ..Gate::default()
        };
    }

    /// Holds the message `id` before the broker looks at it.
    pub fn hold(&self, id: &str) {
        let mut state = self.shared.lock();
        state.gate.passed.remove(id);
        state.gate.held.insert(id.to_owned());
    }

    /// Lets the message `id` go, now or when it comes.
    pub fn let_go(&self, id: &str) {
        self.shared.lock().gate.passed.insert(id.to_owned());
        self.shared.changed.notify_waiters();
    }

    /// Lets everything go.
    pub fn open(&self) {
        self.shared.lock().gate = Gate::default();
        self.shared.changed.notify_waiters();
    }

    /// Every hand-over so far, in the order in which they began.
    pub fn handed(&self) -> Vec<Handed> {
        self.shared.lock().handed.clone()
    }

    /// How often the message `id` was handed over.
    pub fn times(&self, id: &str) -> usize {
        let state = self.shared.lock();
        state.handed.iter().filter(|h| h.id.as_str() == id).count()
    }

    /// The ids that were confirmed, in the order of confirming.
    pub fn confirmed(&self) -> Vec<String> {
        self.shared.lock().confirmed.iter().map(text).collect()
    }

    /// The ids the broker has, in the order of receiving: confirmed ones, and those whose answer was lost.
    pub fn received(&self) -> Vec<String> {
        self.shared.lock().received.iter().map(text).collect()
    }

    /// The most messages that were ever in flight at once.
    pub fn most_in_flight(&self) -> usize {
        self.shared.lock().most_in_flight
    }

    /// Completes when this many hand-overs, counted from the first one of all, have begun.
    pub async fn begun(&self, count: usize) {
        self.shared
            .until(|state| (state.handed.len() >= count).then_some(()))
            .await;
    }

    /// Completes when this many messages were confirmed.
    pub async fn confirmations(&self, count: usize) {
        self.shared
            .until(|state| (state.confirmed.len() >= count).then_some(()))
            .await;
    }
}

fn text(id: &MessageId) -> String {
    id.to_string()
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn until<T>(&self, mut ready: impl FnMut(&mut State) -> Option<T>) -> T {
        loop {
            // Registered before the look, so that a change between look and wait is not missed.
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if let Some(found) = ready(&mut self.lock()) {
                return found;
            }
            changed.await;
        }
    }

    fn begin(&self, delivery: &Delivery) -> Flight<'_> {
        let mut state = self.lock();
        let index = state.handed.len();
        state.handed.push(Handed {
            id: delivery.message.id.clone(),
            topic: delivery.message.topic.clone(),
            position: delivery.position,
            attempts: delivery.attempts,
            starts: delivery.starts,
            reply: None,
            abandoned: false,
        });
        state.in_flight += 1;
        state.most_in_flight = state.most_in_flight.max(state.in_flight);
        drop(state);
        self.changed.notify_waiters();
        Flight {
            shared: self,
            index,
        }
    }
}

/// A hand-over that is under way; dropped without an answer, it was abandoned.
struct Flight<'a> {
    shared: &'a Shared,
    index: usize,
}

impl Flight<'_> {
    fn end(self, reply: Reply) {
        let mut state = self.shared.lock();
        state.handed[self.index].reply = Some(reply);
        let id = state.handed[self.index].id.clone();
        match reply {
            Reply::Confirm | Reply::Late(_) => {
                state.received.push(id.clone());
                state.confirmed.push(id);
            }
            Reply::Lose(_) => state.received.push(id),
            Reply::Fail(_) | Reply::FailFor(..) | Reply::Hang | Reply::Panic | Reply::Silence => {}
        }
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.in_flight -= 1;
        let handed = &mut state.handed[self.index];
        handed.abandoned = handed.reply.is_none();
        drop(state);
        self.shared.changed.notify_waiters();
    }
}

impl State {
    fn reply(&mut self, id: &str, destination: &str) -> Reply {
        if let Some(kind) = self.down.get(destination) {
            return Reply::Fail(*kind);
        }
        if let Some(reply) = self.scripts.get_mut(id).and_then(VecDeque::pop_front) {
            return reply;
        }
        self.chance
            .as_mut()
            .and_then(Chance::strikes)
            .unwrap_or(self.all)
    }
}

#[async_trait]
impl Publisher for ScriptedPublisher {
    fn destination<'a>(&'a self, topic: &'a Topic) -> Cow<'a, str> {
        let route = self.routes.get(topic.as_str());
        route.map_or("broker", String::as_str).into()
    }

    fn has_one_destination(&self) -> bool {
        self.routes.is_empty()
    }

    async fn publish(&self, run: Run<'_>) -> Published {
        for (confirmed, delivery) in run.messages.iter().enumerate() {
            let flight = self.shared.begin(delivery);
            let id = delivery.message.id.as_str();
            let reply = self
                .shared
                .until(|state| (!state.gate.holds(id)).then(|| state.reply(id, run.destination)))
                .await;
            let failure = match reply {
                Reply::Confirm => None,
                Reply::Late(after) => {
                    tokio::time::sleep(after).await;
                    None
                }
                Reply::Hang => std::future::pending().await,
                Reply::Panic => panic!("scripted panic while publishing {id}"),
                Reply::Fail(kind) | Reply::Lose(kind) => {
                    Some(Some(PublishError::new(kind, "scripted failure")))
                }
                Reply::FailFor(kind, delay) => Some(Some(
                    PublishError::new(kind, "scripted failure").with_retry_after(delay),
                )),
                Reply::Silence => Some(None),
            };
            flight.end(reply);
            if let Some(failure) = failure {
                return Published { confirmed, failure };
            }
        }
        Published::all(run)
    }
}
