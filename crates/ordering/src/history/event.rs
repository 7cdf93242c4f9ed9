//! The events of a history.

use super::When;
use crate::state::AfterDeath;

/// Something that happened. `K` is the type of ordering keys, `I` that of message ids, `T` that of
/// lease tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event<K, I, T> {
    /// When.
    pub when: When,
    /// What.
    pub what: What<K, I, T>,
}

impl<K, I, T> Event<K, I, T> {
    /// Something that happened at one instant.
    pub fn at(time: i64, what: What<K, I, T>) -> Self {
        Self {
            when: When::At(time),
            what,
        }
    }

    /// Something that took effect at one instant between the beginning of a call and its answer. A
    /// call whose answer was never seen is answered at [`i64::MAX`].
    pub fn during(begun: i64, answered: i64, what: What<K, I, T>) -> Self {
        Self {
            when: When::During { begun, answered },
            what,
        }
    }
}

/// When a saved message takes its place in the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Line {
    /// With the commit.
    AtOnce,
    /// When it is due: with [`What::Joined`], or at the latest with its first claim.
    Later,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum What<K, I, T> {
    /// A message was saved in a transaction; it counts from the commit. Ids are unique.
    Saved {
        /// Its id.
        message: I,
        /// Its ordering key.
        key: Option<K>,
        /// The position that the store gave it.
        position: i64,
        /// When it joins the line.
        line: Line,
    },
    /// The transaction that saved the message committed.
    Committed {
        /// Its id.
        message: I,
    },
    /// A relay promoted the scheduled message: the interval of the claim that did.
    Joined {
        /// Its id.
        message: I,
    },
    /// A claim leased a lane and handed out messages of it.
    Claimed {
        /// The token of the lease, never used for another.
        token: T,
        /// When the lease ends by the store's clock; at the earliest, if that is not known exactly.
        lease_end: i64,
        /// Position and id of each message.
        messages: Vec<(i64, I)>,
    },
    /// A lease was renewed.
    Renewed {
        /// Its token.
        token: T,
        /// When it ends now.
        lease_end: i64,
    },
    /// A lease was given back.
    Released {
        /// Its token.
        token: T,
    },
    /// A lease is known to be over, such as because a test moved the clock.
    Lapsed {
        /// Its token.
        token: T,
    },
    /// A relay handed a run to its publisher in one call: the instant at which it began.
    HandedOver {
        /// The lease under which it did.
        token: T,
        /// The messages, in the order of the run.
        messages: Vec<I>,
    },
    /// The broker received a message, once or once more.
    Received {
        /// Its id.
        message: I,
        /// The lease under which it was sent. If it is not known, the message counts as claimed the
        /// moment it joined the line, so that only what was in line by then precedes it.
        token: Option<T>,
    },
    /// A relay learned that the broker confirmed the message.
    Confirmed {
        /// The lease under which it was handed over.
        token: T,
        /// Its id.
        message: I,
    },
    /// A settlement recorded that the message failed and is to be tried again.
    Failed {
        /// The lease under which it was handed over.
        token: T,
        /// Its id.
        message: I,
    },
    /// A settlement recorded that the message was given up on.
    Died {
        /// Its id.
        message: I,
        /// The policy written with the dead letter.
        after: AfterDeath,
    },
    /// An operator made the dead letter pending again.
    Redriven {
        /// Its id.
        message: I,
        /// Its position from now on.
        position: i64,
    },
    /// An operator dropped the message.
    Discarded {
        /// Its id.
        message: I,
    },
}
