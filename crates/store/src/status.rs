//! What `status` shows of a store: counts, blocked keys, circuits, holders of lanes.

use std::time::Duration;

use outbox_message::Lane;

use crate::StoppedTopic;

/// The state of a store at one moment. Texts are as stored, readable or not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// Messages in the ready line, held ones included.
    pub line: u64,
    /// Messages set aside because their key waits.
    pub waiting: u64,
    /// Messages scheduled for later, and unkeyed messages that wait for a retry.
    pub scheduled: u64,
    /// Dead letters.
    pub dead: u64,
    /// How long the oldest of the [`ready`](Self::ready) messages has waited to go out: since it was saved, or, while it is still
    /// scheduled, since it fell due. `None` if none is ready. What waits for a retry, is held, or is for later has no part in it.
    pub oldest_ready: Option<Duration>,
    /// How many keys are blocked. Those that are only busy, or whose topic is stopped, are not.
    pub blocked: u64,
    /// The ten keys that are blocked longest, by the position they wait for.
    pub blocked_keys: Vec<BlockedKey>,
    /// Circuits that are open, of every relay that still speaks of them: see [`Circuit`].
    pub circuits: Vec<Circuit>,
    /// The topics that are stopped, in order.
    pub stopped: Vec<StoppedTopic>,
    /// Pending and dead by topic, in the order of topics.
    pub topics: Vec<TopicBacklog>,
    /// The lanes that are leased, or whose lease ran out on a holder, or that are served carefully.
    pub lanes: Vec<LaneHolder>,
    /// How long until the earliest scheduled message or retry that is not due yet.
    pub next_due: Option<Duration>,
    /// Pending messages that can run as soon as a relay takes them, or that a relay holds now: those in the line whose key neither waits nor is
    /// held, those of keys whose retry is due, and scheduled ones that fell due. None of a topic that is stopped.
    pub ready: u64,
    /// Pending messages of paused topics; they count in none of `ready`, `held` and `later`.
    pub paused: u64,
    /// Pending messages behind a dead letter that holds its key.
    pub held: u64,
    /// Pending messages scheduled for a time still to come and never tried. What is neither `paused`, `held` nor `later` goes out without anybody's help.
    pub later: u64,
    /// What keeps the database from cleaning up deleted rows, if anything has done so for long. `None` too of a store that has no such thing.
    pub horizon: Option<Horizon>,
}

impl Status {
    /// All messages that are saved and neither published nor dead.
    pub fn pending(&self) -> u64 {
        self.line + self.waiting + self.scheduled
    }
}

/// A key whose head waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedKey {
    /// The topic.
    pub topic: String,
    /// The key.
    pub key: String,
    /// Why it waits.
    pub reason: BlockReason,
    /// The position it waits for.
    pub position: i64,
    /// How long until the next try; zero when it is due; `None` when only an operator ends it.
    pub next_try: Option<Duration>,
    /// How many messages are set aside behind it, its head included; more may still be in the line.
    pub waiting: u64,
    /// The last error of the message it waits for.
    pub error: Option<String>,
}

/// Why a key waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlockReason {
    /// Its head waits for a retry.
    Retry,
    /// A dead letter holds it.
    Dead,
}

impl BlockReason {
    /// The word that stores keep.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Dead => "dead",
        }
    }
}

/// An open circuit of one relay.
///
/// A relay records its circuit anew with each probe. One whose next probe is overdue by more than [`Circuit::FORGOTTEN_AFTER`] is that of a
/// relay that is gone, or that has nothing left to try: a status does not show it, and upkeep removes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Circuit {
    /// The destination.
    pub destination: String,
    /// The relay.
    pub relay: String,
    /// How long it has been open.
    pub open_for: Duration,
    /// How long until the next probe.
    pub next_probe: Duration,
    /// The last error.
    pub error: String,
}

impl Circuit {
    /// How long after its next probe was due a circuit is still shown and kept: far longer than a probe takes with the usual publish timeout.
    pub const FORGOTTEN_AFTER: Duration = Duration::from_mins(5);
}

/// What is pending and dead of one topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicBacklog {
    /// The topic.
    pub topic: String,
    /// Pending messages.
    pub pending: u64,
    /// Dead letters.
    pub dead: u64,
}

/// A lane that is leased, lapsed, or served carefully.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneHolder {
    /// The lane.
    pub lane: Lane,
    /// The relay that holds it, or held it when its lease ran out.
    pub relay: Option<String>,
    /// How long the lease still lasts; zero when it ran out.
    pub lease: Duration,
    /// How many messages must still complete one after another before the lane is served as usual (F6).
    pub careful: u64,
}

/// What holds the horizon of a server that keeps old versions of rows (Postgres): no row deleted since is cleaned up, so that tables and the cost of
/// reading them grow. Shown as far as the asking role may see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Horizon {
    /// What kind of thing holds it.
    pub holder: HorizonHolder,
    /// Its name: of a session the process id, of the others what they were called.
    pub name: String,
    /// The application's name, of a session that gave one.
    pub application: Option<String>,
    /// The role of the session or of the prepared transaction.
    pub role: Option<String>,
    /// What the session does, such as "idle in transaction"; whether the slot is active. `None` if it is not known or the asking role may not see it.
    pub state: Option<String>,
    /// How long its transaction has been open. `None` for a slot, and if the asking role may not see it.
    pub open_for: Option<Duration>,
    /// How many transactions have begun since those that it holds back.
    pub transactions: u64,
}

/// A kind of thing that can hold the horizon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HorizonHolder {
    /// A session with an open transaction.
    Session,
    /// A transaction prepared for a two-phase commit that nobody has ended.
    PreparedTransaction,
    /// A replication slot.
    ReplicationSlot,
}

impl HorizonHolder {
    /// The words for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::PreparedTransaction => "prepared transaction",
            Self::ReplicationSlot => "replication slot",
        }
    }

    /// Reads the words back.
    pub fn parse(words: &str) -> Option<Self> {
        [
            Self::Session,
            Self::PreparedTransaction,
            Self::ReplicationSlot,
        ]
        .into_iter()
        .find(|holder| holder.as_str() == words)
    }
}
