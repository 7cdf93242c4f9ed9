//! Replay: published messages that are kept go out again, in bounded steps.

use outbox_message::MessageId;

/// The header that a replayed message has beside its own, with the value 1: consumers leave out what reaches outside when they see it.
pub const REPLAY_HEADER: &str = "bq-replay-bypass";

/// Which published messages; an empty filter matches all that are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PublishedFilter {
    /// Only this message id.
    pub id: Option<MessageId>,
    /// Only this topic.
    pub topic: Option<String>,
    /// Only this key.
    pub key: Option<String>,
    /// Only those published at this time or later, in milliseconds since 1970-01-01 UTC by the store's clock.
    pub since_ms: Option<i64>,
    /// Only those published before this time, likewise.
    pub before_ms: Option<i64>,
}

/// A place in the order of publishing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PublishedPlace {
    /// When, since 1970-01-01 UTC in the unit of the store's own clock.
    pub at: i64,
    /// Which of those of that time.
    pub number: i64,
}

/// One bounded step of a replay. It is repeated, with the [`last`](Replayed::last) and the [`upto`](Replayed::upto) of the step before, until that
/// has no `last`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    /// Which messages.
    pub filter: PublishedFilter,
    /// Only those after this place.
    pub after: Option<PublishedPlace>,
    /// Only those up to this place; `None` for what is published so far, so that a loop never meets what it saved itself.
    pub upto: Option<PublishedPlace>,
    /// At most this many messages. A step also ends when it has looked at some thousand that do not match.
    pub limit: usize,
    /// Whether it is done or only counted.
    pub mode: ReplayMode,
}

/// Whether a replay is done or only counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReplayMode {
    /// The messages are saved again.
    Save,
    /// What would be saved is counted; nothing is changed.
    Count,
}

/// What a step of a replay did, or would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replayed {
    /// How many messages were saved again.
    pub count: usize,
    /// How many match and cannot be: their headers have no room for one more, or cannot be read.
    pub left_out: usize,
    /// The last place that was looked at; the next step begins after it. `None`: there was nothing left.
    pub last: Option<PublishedPlace>,
    /// Where the walk ends: for the next step.
    pub upto: PublishedPlace,
}
