//! Laravel's queues in Redis: the names of their keys, and the score of a delayed message. Leaves out the scripts that move messages
//! between them.

use std::time::Duration;

/// The prefix of keys, unless Laravel is told another.
pub const PREFIX: &str = "queues:";

/// The keys of a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Keys {
    /// A list: what can be taken.
    pub ready: String,
    /// A sorted set by [`due_at`]: what can be taken later.
    pub delayed: String,
    /// A sorted set by the time at which it is taken to be lost: what a consumer has taken.
    pub reserved: String,
    /// A list with an element for each message that is ready, for consumers that block.
    pub notify: String,
}

/// The keys of `queue`.
pub fn keys(prefix: &str, queue: &str) -> Keys {
    let ready = format!("{prefix}{queue}");
    Keys {
        delayed: format!("{ready}:delayed"),
        reserved: format!("{ready}:reserved"),
        notify: format!("{ready}:notify"),
        ready,
    }
}

/// The score of a message that is delayed: the second of `now`, which is since 1970, and whole seconds of `delay`, rounded up.
pub fn due_at(now: Duration, delay: Duration) -> u64 {
    let started = u64::from(delay.subsec_nanos() > 0);
    let delay = delay.as_secs().saturating_add(started);
    now.as_secs().saturating_add(delay)
}
