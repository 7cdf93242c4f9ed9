//! What `status` shows of a store: counts, blocked keys, circuits, holders of lanes.

use std::time::Duration;

use outbox_message::Lane;

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
    /// How many keys are blocked (those of reason busy are not).
    pub blocked: u64,
    /// The ten keys that are blocked longest, by the position they wait for.
    pub blocked_keys: Vec<BlockedKey>,
    /// Circuits that are open, of every relay that still speaks of them: see [`Circuit`].
    pub circuits: Vec<Circuit>,
    /// Pending and dead by topic, in the order of topics.
    pub topics: Vec<TopicBacklog>,
    /// The lanes that are leased, or whose lease ran out on a holder, or that are served carefully.
    pub lanes: Vec<LaneHolder>,
    /// How long until the earliest scheduled message or retry that is not due yet.
    pub next_due: Option<Duration>,
    /// Pending messages that can run as soon as a relay takes them, or that a relay holds now: those in the line whose key neither waits nor is
    /// held, those of keys whose retry is due, and scheduled ones that fell due.
    pub ready: u64,
    /// Pending messages behind a dead letter that holds its key.
    pub held: u64,
    /// Pending messages scheduled for a time still to come and never tried. What is neither `held` nor `later` goes out without anybody's help.
    pub later: u64,
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
