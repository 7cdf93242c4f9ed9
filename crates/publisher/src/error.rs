//! Why a message was not confirmed, told apart by what it says about the message (contract F1 to F5).

use std::time::Duration;

use thiserror::Error;

/// Why the first unconfirmed message of a run was not confirmed.
#[derive(Debug, Error)]
#[error("{text}")]
pub struct PublishError {
    /// What it says about the message.
    pub kind: PublishErrorKind,
    /// What happened, for people; no payload, no secret.
    pub text: String,
    /// Try again after this long, if the broker said so (F4); it does not change whether the attempt counts.
    pub retry_after: Option<Duration>,
    /// The client's own error.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync + 'static>>,
}

impl PublishError {
    /// An error without a source and without an explicit time.
    pub fn new(kind: PublishErrorKind, text: impl Into<String>) -> Self {
        Self {
            kind,
            text: text.into(),
            retry_after: None,
            source: None,
        }
    }

    /// The same error with the client's own as its source.
    #[must_use]
    pub fn with_source(
        self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync + 'static>>,
    ) -> Self {
        Self {
            source: Some(source.into()),
            ..self
        }
    }

    /// The same error with an explicit time: try again after `delay`.
    #[must_use]
    pub fn with_retry_after(self, delay: Duration) -> Self {
        Self {
            retry_after: Some(delay),
            ..self
        }
    }
}

/// What an error says about the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PublishErrorKind {
    /// The destination cannot be reached, is missing, or refuses our credentials: transient, the circuit opens (F3).
    Unavailable,
    /// The destination asks for less: transient, the circuit opens (F3).
    Throttled,
    /// The broker refused this message: a counted failure (F1).
    Rejected,
    /// The broker returned this message, nobody takes it: a counted failure (F5).
    Unroutable,
    /// The message is too large for the broker: dead at once (F5).
    TooLarge,
    /// The broker cannot take a message like this one: dead at once (F5).
    Malformed,
    /// It says nothing about this message, such as a channel closed by another: released, no circuit (F5).
    Interrupted,
    /// The relay cannot go on at all, such as a pipe whose reader is gone: the message is released and the relay ends with this error.
    Closed,
    /// Anything else: a counted failure (F1).
    Unknown,
}
