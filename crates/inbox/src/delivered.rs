//! `Delivered`: what a handler of envelopes is given.

use outbox_envelope::Received;
use outbox_message::{Delivery, Message};

use crate::{bypass_external_effects, is_replay};

/// A delivered envelope whose data was read as a `T`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Delivered<T> {
    /// The application's data. Where there is none, or `null`, it is `None`, `()`, or what an empty object is read as.
    pub data: T,
    /// What it is.
    pub urn: String,
    /// `trace_id` of the envelope, unless it is blank.
    pub trace: Option<String>,
    /// `meta.schema_version` of the envelope, if it has one.
    pub schema_version: Option<i64>,
    /// Failures that were counted before this delivery.
    pub attempts: u32,
    /// The message as it was saved: id, topic, key, headers, bytes.
    pub message: Message,
}

impl<T> Delivered<T> {
    pub(crate) fn new(data: T, received: &Received<'_>, delivery: &Delivery) -> Self {
        Self {
            data,
            urn: received.urn.to_string(),
            trace: received.trace.as_ref().map(ToString::to_string),
            schema_version: received.schema_version,
            attempts: delivery.attempts,
            message: delivery.message.clone(),
        }
    }

    /// The message id, by which duplicates are known.
    pub fn id(&self) -> &str {
        self.message.id.as_str()
    }

    /// Whether it is a [replay](is_replay).
    pub fn is_replay(&self) -> bool {
        is_replay(&self.message.headers)
    }

    /// Runs an effect that reaches outside of the database, [unless it is a replay](bypass_external_effects).
    pub fn bypass_external_effects<R>(&self, effect: impl FnOnce() -> R) -> Option<R> {
        bypass_external_effects(&self.message.headers, effect)
    }
}
