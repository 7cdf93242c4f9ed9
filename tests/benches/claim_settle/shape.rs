//! What is in a store when it is measured.

/// The topic of every message.
pub(crate) const TOPIC: &str = "orders";

/// The key whose head waits for a retry.
pub(crate) const WAITING: &str = "waiting";

/// Which keys the messages have.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Keys {
    None,
    One,
    Many(u64),
}

/// What is in a store.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) line: u64,
    pub(crate) keys: Keys,
    /// So many messages are set aside behind a key that waits for its retry.
    pub(crate) waiting: u64,
}

impl Shape {
    /// A line of this depth.
    pub(crate) fn pending(line: u64, keys: Keys) -> Self {
        Self {
            line,
            keys,
            waiting: 0,
        }
    }

    /// Messages behind a key that waits, and a short line of others.
    pub(crate) fn waiting(waiting: u64, keys: Keys) -> Self {
        Self {
            line: 1_000,
            keys,
            waiting,
        }
    }
}

/// A count as databases have it.
pub(crate) fn sql(count: u64) -> i64 {
    i64::try_from(count).expect("no bench has so many messages")
}
