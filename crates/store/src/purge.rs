//! Purging: what is kept of the past goes, in bounded steps.

use std::time::Duration;

/// One bounded step of a purge. It is repeated while [`Purged::more`]; whoever repeats it adds the time gone by to `older_than`, or never
/// comes to an end while relays publish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Purge {
    /// Only messages published at least this long ago.
    pub older_than: Duration,
    /// Also forget the ids of messages that were handled at least this long ago, whoever handled them; `None` forgets none of them. Refused with
    /// [`StoreError::DeadLetterNeedsInbox`](crate::StoreError::DeadLetterNeedsInbox) while the store has a dead letter that was saved longer ago.
    pub inbox_older_than: Option<Duration>,
    /// At most this many published messages, this many ids of saves, and this many of handled messages. What a store can drop as a whole does not count.
    pub limit: usize,
    /// Whether it is done or only counted.
    pub mode: PurgeMode,
}

/// Whether a purge is done or only counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PurgeMode {
    /// It is done.
    Delete,
    /// What it would do is counted, up to the limit; nothing is changed.
    Count,
}

/// What a step of a purge did, or would do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Purged {
    /// Published messages deleted, those of whole partitions not counted.
    pub published: u64,
    /// Ids of idempotent saves forgotten, because the time they were to be remembered is over.
    pub ids: u64,
    /// Ids of handled messages forgotten.
    pub inbox: u64,
    /// Partitions dropped with all the published messages in them.
    pub partitions: u64,
    /// Whether there may be more to do, or, counting, more than was counted.
    pub more: bool,
}
