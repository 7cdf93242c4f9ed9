//! What can be wrong with an envelope that is made or encoded, and with bytes that are decoded. No message repeats a
//! value of the envelope: they end up in logs.

use outbox_message::InvalidMessage;
use thiserror::Error;

/// An envelope that cannot be made, encoded or turned into a message.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EnvelopeError {
    /// The URN is empty or has only ASCII white space.
    #[error("job is blank; an envelope needs a URN")]
    BlankJob,
    /// A value must serialize to a JSON object and did not: a struct, a map, never a list or a bare value.
    #[error("{part} is not a JSON object")]
    NotAnObject {
        /// Which value: "data" or "envelope".
        part: &'static str,
    },
    /// A value could not be serialized.
    #[error("{part} cannot be serialized")]
    Serialize {
        /// Which value: "data", "envelope" or "meta".
        part: &'static str,
        /// What serde said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A member that the format reserves or forbids was set.
    #[error("{pointer} is reserved or forbidden in an envelope")]
    Key {
        /// Where it stands, as a JSON pointer: "/timestamp", "/meta/ts", ...
        pointer: String,
    },
    /// A member of `meta` was set that is there already. Whoever set it first would lose it without knowing.
    #[error("{pointer} is set already")]
    KeySet {
        /// Where it stands, as a JSON pointer: "/meta/ext", ...
        pointer: String,
    },
    /// The queue is no topic, or another part breaks a limit of messages.
    #[error("the envelope makes no message")]
    Message(#[source] InvalidMessage),
}

/// Bytes that are not an envelope.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// They are not a JSON object.
    #[error("the envelope is malformed")]
    Malformed(#[source] Malformed),
    /// They are a JSON object that says nowhere what it is.
    #[error("neither job nor urn is a string with something in it")]
    NoIdentity,
}

/// Why no consumer may hand bytes to a handler.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Poison {
    /// They are not a JSON object.
    #[error("the envelope is malformed")]
    Malformed(#[from] Malformed),
    /// They are a JSON object, or `null`, that says nowhere what it is.
    #[error("neither job nor urn is a string with something in it")]
    NoIdentity,
    /// A member that the format knows has another type, and is not null either.
    #[error("{pointer} is not {expected}")]
    WrongType {
        /// Where it stands, as a JSON pointer: "/attempts", "/meta/id", ...
        pointer: &'static str,
        /// What it is to be: "a string", "an object" or "an integer of 64 bits".
        expected: &'static str,
    },
    /// A number in `data` is beyond the range of a double.
    #[error("a number in data is beyond the range of a double, at byte {offset}")]
    BeyondDouble {
        /// Where it stands, counted from 0.
        offset: usize,
    },
}

/// Bytes that are not a JSON object, and why.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{reason} at byte {offset}")]
#[non_exhaustive]
pub struct Malformed {
    /// Where reading stopped, counted from 0.
    pub offset: usize,
    /// What is wrong there.
    pub reason: &'static str,
}
