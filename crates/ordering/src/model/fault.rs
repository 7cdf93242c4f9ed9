//! What a store can do wrong, as far as the model sees it.

use std::error::Error;
use std::fmt;

use crate::state::State;

/// Something that the contract does not allow. The model is left as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// A claim gave more messages than it was asked for (P4).
    TooMany {
        /// How many it gave.
        given: usize,
    },
    /// A claim leased more lanes than it was asked for.
    TooManyLanes {
        /// How many it leased.
        leased: usize,
    },
    /// A claim leased a lane that it was not to lease, or one twice, or kept one that gave nothing.
    LaneNotAsked {
        /// The lane.
        lane: u32,
    },
    /// A claim leased a lane that another claim holds (O3).
    LaneHeld {
        /// The lane.
        lane: u32,
    },
    /// A message came out of another lane than its key belongs to (O3).
    WrongLane {
        /// Its position.
        position: i64,
    },
    /// A message came after one of its lane with a larger or the same position (O4).
    OutOfOrder {
        /// Its position.
        position: i64,
    },
    /// No committed message has this position and id (C1, C3).
    Unknown {
        /// The position.
        position: i64,
    },
    /// A redriven message did not go to the tail of the line (O9).
    NotAtTail {
        /// Its new position.
        position: i64,
    },
    /// A message was handed out, redriven or discarded in a state that does not allow it.
    NotPossible {
        /// Its position.
        position: i64,
        /// Its state.
        state: State,
    },
    /// A message was handed out before it was due (O1, O8).
    Early {
        /// Its position.
        position: i64,
    },
    /// A message was handed out with other attempts or tries than were recorded (F1, F3).
    Miscounted {
        /// Its position.
        position: i64,
        /// The attempts that it should have.
        attempts: u32,
        /// The tries that it should have.
        tries: u32,
    },
    /// A message was handed out while its key waits for a retry (O6).
    KeyWaits {
        /// Its position.
        position: i64,
        /// The position that the key waits for.
        head: i64,
    },
    /// A message was handed out while a dead letter holds its key (O9).
    KeyHeld {
        /// Its position.
        position: i64,
        /// The position of the dead letter.
        dead: i64,
    },
    /// A message was handed out while its topic is stopped, and it is not the one that is let through (S14).
    TopicStopped {
        /// Its position.
        position: i64,
        /// Its topic.
        topic: u32,
    },
    /// A message was let through of a topic that no relay stopped (S14).
    LetThrough {
        /// The topic.
        topic: u32,
    },
    /// A message was handed out without one that precedes it (O2).
    Overtakes {
        /// Its position.
        position: i64,
        /// The position of the one that should have come before, if it is known.
        first: Option<i64>,
    },
    /// A holder that read on was given what it had in hand, or something of a key of which it had (O3).
    InHand {
        /// Its position.
        position: i64,
    },
    /// A claim gave nothing and moved nothing, although something is due and no lane is leased (O7).
    Stalled {
        /// The lane of what is due; `None` if it has no key.
        lane: Option<u32>,
    },
    /// A settlement or renewal was refused although its token is valid, or taken although it is stale (D2).
    Fence {
        /// Whether the store reported the token as lost.
        lost: bool,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany { given } => {
                write!(f, "a claim gave {given} messages, over its limit (P4)")
            }
            Self::TooManyLanes { leased } => {
                write!(f, "a claim leased {leased} lanes, over its limit")
            }
            Self::LaneNotAsked { lane } => {
                write!(f, "a claim leased lane {lane}, which it was not to keep")
            }
            Self::LaneHeld { lane } => write!(f, "lane {lane} was leased twice at one time (O3)"),
            Self::WrongLane { position } => {
                write!(
                    f,
                    "message {position} came out of a lane that is not its key's (O3)"
                )
            }
            Self::OutOfOrder { position } => {
                write!(
                    f,
                    "message {position} came out of position order in its lane (O4)"
                )
            }
            Self::Unknown { position } => {
                write!(
                    f,
                    "no committed message has position {position} and this id (C1, C3)"
                )
            }
            Self::NotAtTail { position } => {
                write!(f, "the redriven message {position} is not at the tail (O9)")
            }
            Self::NotPossible { position, state } => {
                write!(
                    f,
                    "that cannot be done to message {position}, which is {state}"
                )
            }
            Self::Early { position } => {
                write!(
                    f,
                    "message {position} was handed out before it was due (O8)"
                )
            }
            Self::Miscounted {
                position,
                attempts,
                tries,
            } => {
                write!(
                    f,
                    "message {position} should have {attempts} attempts and {tries} tries"
                )
            }
            Self::KeyWaits { position, head } => write!(
                f,
                "message {position} was handed out while its key waits for {head} (O6)"
            ),
            Self::KeyHeld { position, dead } => write!(
                f,
                "message {position} was handed out while the dead letter {dead} holds its key (O9)"
            ),
            Self::TopicStopped { position, topic } => write!(
                f,
                "message {position} was handed out while its topic {topic} is stopped (S14)"
            ),
            Self::LetThrough { topic } => write!(
                f,
                "a message of topic {topic} was let through, which no relay stopped (S14)"
            ),
            Self::Overtakes {
                position,
                first: Some(first),
            } => {
                write!(f, "message {position} was handed out without {first} (O2)")
            }
            Self::Overtakes {
                position,
                first: None,
            } => {
                write!(
                    f,
                    "message {position} was handed out without a redriven one before it (O2)"
                )
            }
            Self::InHand { position } => {
                write!(f, "message {position}, or its key, was in hand (O3)")
            }
            Self::Stalled { lane: Some(lane) } => {
                write!(
                    f,
                    "nothing was claimed although lane {lane} has due work (O7)"
                )
            }
            Self::Stalled { lane: None } => {
                f.write_str("nothing was claimed although an unkeyed message is due (O7)")
            }
            Self::Fence { lost: true } => f.write_str("a valid token was reported as lost (D2)"),
            Self::Fence { lost: false } => f.write_str("a stale token was taken as valid (D2)"),
        }
    }
}

impl Error for Fault {}
