//! Settlements: what happened to claimed messages, lane by lane, and how much of it the store could still record.

use std::time::Duration;

use outbox_message::{Delivery, LaneToken, Message, MessageId, OrderingKey, Position};

use crate::Unreadable;

/// The longest delay a store records; longer ones are clamped to it (F2). A year of 365 days.
pub const MAX_DELAY: Duration = Duration::from_hours(365 * 24);

/// The most bytes of an error text that are kept with a message (F7).
pub const MAX_ERROR_BYTES: usize = 2_000;

/// What happened to messages of one leased lane.
#[derive(Debug, Clone)]
pub struct LaneSettlement {
    /// The lane, and the proof that it is still held.
    pub token: LaneToken,
    /// At most one for each message claimed with this token.
    pub outcomes: Vec<Settlement>,
    /// Whether the lane is given back: set with the settlement after which each of its messages has an outcome.
    pub release: bool,
}

/// What happened to one message.
#[derive(Debug, Clone)]
pub struct Settlement {
    /// Which message.
    pub target: Target,
    /// What happened to it.
    pub outcome: Outcome,
}

/// What a store needs to find a claimed message again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Its place in the store's order.
    pub position: Position,
    /// The tries it was claimed with: an outcome applies only while the message still has them, so that a settlement sent twice counts once.
    pub tries: u32,
    /// Its id, if it can be read. A message is removed as published only if position and id match.
    pub id: Option<MessageId>,
    /// Its ordering key, if it has one.
    pub key: Option<OrderingKey>,
}

impl From<&Delivery> for Target {
    fn from(delivery: &Delivery) -> Self {
        Self {
            position: delivery.position,
            tries: delivery.tries,
            id: Some(delivery.message.id.clone()),
            key: delivery.ordering_key(),
        }
    }
}

impl From<&Unreadable> for Target {
    fn from(row: &Unreadable) -> Self {
        Self {
            position: row.position,
            tries: row.tries,
            id: None,
            key: row.key.clone(),
        }
    }
}

/// What happened to a claimed message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The broker confirmed it.
    Published,
    /// It failed and is tried again.
    Retry {
        /// After this long; `None` or zero leaves it due and in its place (F8).
        after: Option<Duration>,
        /// Whether `attempts` grows by one; `tries` always does.
        counted: bool,
        /// Why, cleaned by [`clean_error`].
        error: String,
    },
    /// It is given up on: a counted failure that is not tried again.
    Dead {
        /// The kind of reason.
        reason: DeathReason,
        /// Why, cleaned by [`clean_error`].
        error: String,
        /// What its key does next.
        after: AfterDeath,
        /// A message to save in the transaction that records the death, if and only if it is recorded (S16): as a rule a dead letter for
        /// the broker. It is a message of its own, with its own id, topic and place in line.
        notice: Option<Box<Message>>,
    },
    /// Nothing happened: it was not handed over, or nothing can be said of it.
    Release,
}

/// Why a message was given up on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeathReason {
    /// The attempts limit was reached (F1).
    Exhausted,
    /// No retry can heal it (F5).
    Permanent,
    /// Each of its recorded starts ended with the process (F6).
    Poison,
    /// Its row cannot be read (F7).
    Unreadable,
}

impl DeathReason {
    /// The word that stores keep.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exhausted => "exhausted",
            Self::Permanent => "permanent",
            Self::Poison => "poison",
            Self::Unreadable => "unreadable",
        }
    }

    /// The reason for a stored word, if it is one.
    pub fn parse(word: &str) -> Option<Self> {
        [
            Self::Exhausted,
            Self::Permanent,
            Self::Poison,
            Self::Unreadable,
        ]
        .into_iter()
        .find(|reason| reason.as_str() == word)
    }
}

/// What the key of a dead message does next (O9).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum AfterDeath {
    /// The next message of the key goes out.
    #[default]
    Skip,
    /// The key stays blocked until an operator redrives or discards the dead letter.
    Hold,
}

impl AfterDeath {
    /// The word that stores keep.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Skip => "skip",
            Self::Hold => "hold",
        }
    }

    /// The policy for a stored word, if it is one.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Skip, Self::Hold]
            .into_iter()
            .find(|policy| policy.as_str() == word)
    }
}

/// What became of one [`LaneSettlement`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LaneSettled {
    /// The token was stale: nothing changed but the removal of confirmed messages and of own start marks (D2).
    pub lost: bool,
    /// The positions whose outcome changed nothing: lost, or already applied.
    pub missed: Vec<Position>,
}

/// Makes an error text safe to store: no NUL, no control character but line feed and tab, at most [`MAX_ERROR_BYTES`] bytes (F7).
pub fn clean_error(text: &str) -> String {
    let mut clean = String::with_capacity(text.len().min(MAX_ERROR_BYTES));
    for c in text.chars() {
        let c = if c.is_control() && c != '\n' && c != '\t' {
            '\u{FFFD}'
        } else {
            c
        };
        if clean.len() + c.len_utf8() > MAX_ERROR_BYTES {
            break;
        }
        clean.push(c);
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f7_an_error_text_cannot_break_its_own_recording() {
        assert_eq!(
            clean_error("bad\0payload\n\u{1b}[31m"),
            "bad\u{FFFD}payload\n\u{FFFD}[31m"
        );
        let long = clean_error(&"é".repeat(MAX_ERROR_BYTES));
        assert_eq!(long.len(), MAX_ERROR_BYTES);
    }

    #[test]
    fn stored_words_read_back() {
        assert_eq!(
            DeathReason::parse(DeathReason::Poison.as_str()),
            Some(DeathReason::Poison)
        );
        assert_eq!(AfterDeath::parse("hold"), Some(AfterDeath::Hold));
        assert_eq!(AfterDeath::parse("Hold"), None);
    }
}
