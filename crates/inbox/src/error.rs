//! `HandlerError`: why a handler did not handle a message, and when it is to be tried again.

use std::{error::Error, fmt, time::Duration};

use outbox_publisher::{PublishError, PublishErrorKind};
use outbox_store::{BoxError, SaveError};

/// Why a handler did not handle a message. What it did in its transaction is rolled back.
///
/// Any error becomes one with `?`, and then it is a counted failure: the message is tried again after the relay's backoff, and is dead when its attempts are
/// spent. The methods say otherwise:
///
/// | | counted | tried again |
/// | --- | --- | --- |
/// | [`new`](Self::new), `?` | yes | after the backoff |
/// | [`retry_after`](Self::retry_after) | as before | after that time |
/// | [`later`](Self::later) | no | after that time |
/// | [`unavailable`](Self::unavailable) | no | when what the handlers of this topic need is back; the topic waits, and one message at a time probes |
/// | [`permanent`](Self::permanent) | | never: it is a dead letter at once |
///
/// The text and the causes are kept with the message and logged: no secrets.
///
/// It is no [`Error`] itself, so that every error can become one.
///
/// ```
/// use outbox_inbox::HandlerError;
/// use std::time::Duration;
///
/// fn total(text: &str) -> Result<i64, HandlerError> {
///     text.parse().map_err(|error| HandlerError::from(error).permanent())
/// }
///
/// fn ask_again_in_an_hour() -> HandlerError {
///     HandlerError::new("the bank is closed").later(Duration::from_secs(3600))
/// }
/// ```
pub struct HandlerError {
    kind: Kind,
    text: String,
    retry_after: Option<Duration>,
    source: Option<BoxError>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Counted,
    Later,
    Unavailable,
    Permanent,
}

impl HandlerError {
    /// A counted failure.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            kind: Kind::Counted,
            text: text.into(),
            retry_after: None,
            source: None,
        }
    }

    /// A counted failure with a boxed error as its cause.
    pub fn from_boxed(source: BoxError) -> Self {
        Self::caused("the handler failed", source)
    }

    pub(crate) fn caused(text: &str, source: impl Into<BoxError>) -> Self {
        Self {
            source: Some(source.into()),
            ..Self::new(text)
        }
    }

    /// The same error, and when to try again. Whether it counts stays as it was. The relay caps it (7 days unless configured).
    #[must_use]
    pub fn retry_after(self, delay: Duration) -> Self {
        Self {
            retry_after: Some(delay),
            ..self
        }
    }

    /// The same error, not counted: the message is tried again after `delay`, however often. The relay caps it (7 days unless configured).
    /// Its key waits; nothing else does.
    #[must_use]
    pub fn later(self, delay: Duration) -> Self {
        Self {
            kind: Kind::Later,
            ..self.retry_after(delay)
        }
    }

    /// The same error, not counted: what the handlers of this topic need is away.
    #[must_use]
    pub fn unavailable(self) -> Self {
        Self {
            kind: Kind::Unavailable,
            ..self
        }
    }

    /// The same error, and no retry can heal it.
    #[must_use]
    pub fn permanent(self) -> Self {
        Self {
            kind: Kind::Permanent,
            ..self
        }
    }

    /// Whether nothing was said but that it failed, so that an outage of the database may be the cause.
    pub(crate) fn may_be_an_outage(&self) -> bool {
        self.kind == Kind::Counted && self.retry_after.is_none()
    }

    /// What the relay is told.
    pub(crate) fn into_publish_error(self) -> PublishError {
        let kind = match self.kind {
            Kind::Counted if self.is_a_conflict() => PublishErrorKind::Interrupted,
            Kind::Counted => PublishErrorKind::Rejected,
            Kind::Later => PublishErrorKind::Interrupted,
            Kind::Unavailable => PublishErrorKind::Unavailable,
            Kind::Permanent => PublishErrorKind::Malformed,
        };
        PublishError {
            kind,
            text: self.text,
            retry_after: self.retry_after,
            source: self.source,
        }
    }

    /// Whether a save failed for the sake of another transaction: that says nothing about this message.
    fn is_a_conflict(&self) -> bool {
        let mut cause = self
            .source
            .as_deref()
            .map(|it| it as &(dyn Error + 'static));
        while let Some(error) = cause {
            if let Some(SaveError::Conflict(_) | SaveError::Busy { .. }) = error.downcast_ref() {
                return true;
            }
            cause = error.source();
        }
        false
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for HandlerError {
    fn from(error: E) -> Self {
        Self::from_boxed(Box::new(error))
    }
}

impl fmt::Debug for HandlerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HandlerError")
            .field("kind", &self.kind)
            .field("text", &self.text)
            .field("retry_after", &self.retry_after)
            .field("source", &self.source)
            .finish()
    }
}
