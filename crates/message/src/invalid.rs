//! What can be wrong with a message before any SQL runs (contract C4). Leaves out what a database says.

use thiserror::Error;

/// A part of a message that breaks a limit of contract C4.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidMessage {
    /// The part must have at least one byte.
    #[error("{part} is empty; it must have 1 to {max} bytes")]
    Empty {
        /// Which part: "topic", "key", ...
        part: &'static str,
        /// The most bytes this part may have.
        max: usize,
    },
    /// The part has more bytes than any store keeps.
    #[error("{part} has {len} bytes; at most {max} are allowed")]
    TooLong {
        /// Which part: "topic", "key", "payload", ...
        part: &'static str,
        /// How many bytes it has.
        len: usize,
        /// The most bytes this part may have.
        max: usize,
    },
    /// The part contains a NUL, which databases do not store in text.
    #[error("{part} contains a NUL character; only the payload may")]
    Nul {
        /// Which part: "key", "header value", ...
        part: &'static str,
    },
    /// The part contains a control character, which brokers do not take in names.
    #[error("{part} contains a control character (U+{code:04X})")]
    Control {
        /// Which part: "topic" or "header name".
        part: &'static str,
        /// The code point found.
        code: u32,
    },
}
