//! What a caller can ask of one save, and what it is told.

use std::time::Duration;

use outbox_message::{Message, Position};

/// One message to save, and how.
///
/// ```
/// use outbox_message::Message;
/// use outbox_store::{Due, Save};
/// use std::time::Duration;
///
/// let message = Message::new("orders", "{}")?;
/// let reminder = Save { due: Some(Due::After(Duration::from_secs(60))), ..Save::from(&message) };
/// # let _ = reminder;
/// # Ok::<(), outbox_message::InvalidMessage>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Save<'a> {
    /// The message.
    pub message: &'a Message,
    /// When it joins the line; at once if `None` (contract O1, O8).
    pub due: Option<Due>,
    /// Idempotent save: stores one message for one id within this time and reports the second as a duplicate (contract C3).
    pub once: Option<Duration>,
    /// What position order means for writers of one key that do not exclude each other (contract O10).
    pub order: SaveOrder,
}

impl<'a> From<&'a Message> for Save<'a> {
    fn from(message: &'a Message) -> Self {
        Self {
            message,
            due: None,
            once: None,
            order: SaveOrder::Position,
        }
    }
}

/// When a scheduled message falls due, by the store's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// This long after the save; clamped to a year.
    After(Duration),
    /// At this time, in milliseconds since 1970-01-01 UTC; a time in the past is at once.
    AtUnixMs(i64),
}

/// What position order means (contract O10).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SaveOrder {
    /// Position order is the order of saving.
    #[default]
    Position,
    /// The save also takes a lock on its ordering key until the transaction ends, so that position order is commit order.
    Commit,
}

/// What became of a save.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saved {
    /// Stored at this position, if the transaction commits.
    New(Position),
    /// A message of this id was saved within the remembered time; nothing was stored.
    Duplicate,
}

impl Saved {
    /// The position, unless it was a duplicate.
    pub fn position(self) -> Option<Position> {
        match self {
            Self::New(position) => Some(position),
            Self::Duplicate => None,
        }
    }
}
