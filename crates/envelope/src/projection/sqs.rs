//! Amazon SQS: message attributes, the attempts that a consumer goes by, and the names of dead-letter queues. Leaves out
//! what only queues of the kind FIFO have: the group is the message's key, and the deduplication id its id.

use std::{borrow::Cow, time::Duration};

use outbox_message::Message;
use thiserror::Error;

use super::{
    Value, attempts,
    headers::{MESSAGE_ID, not_empty, of_other, with_once},
    of,
};

/// The most attributes that a message may have.
pub const MAX_ATTRIBUTES: usize = 10;

/// The longest delay of a message: 15 minutes.
pub const MAX_DELAY: Duration = Duration::from_mins(15);

/// The longest that a message can be made to wait after it was received: 12 hours.
pub const MAX_VISIBILITY: Duration = Duration::from_hours(12);

/// The kinds of queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Without an order.
    Standard,
    /// First in, first out; its messages cannot be delayed one by one.
    Fifo,
}

/// Why a message cannot be delayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Undelayable {
    /// The queue is of the kind FIFO.
    #[error("a queue of the kind FIFO delays no single message; set a delay on the queue")]
    Fifo,
    /// The delay is longer than [`MAX_DELAY`].
    #[error("a delay of {0:?} is longer than the {MAX_DELAY:?} that a message can have")]
    TooLong(Duration),
}

/// A message attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attribute<'a> {
    /// `String` or `Number`.
    pub data_type: &'static str,
    /// The value as text, never empty.
    pub string_value: Cow<'a, str>,
}

impl<'a> From<Value<'a>> for Attribute<'a> {
    fn from(value: Value<'a>) -> Self {
        match value {
            Value::Text(text) => Self {
                data_type: "String",
                string_value: text,
            },
            Value::Integer(integer) => Self {
                data_type: "Number",
                string_value: Cow::Owned(integer.to_string()),
            },
        }
    }
}

/// The attributes of `message`: those of an envelope, or `bq-message-id` and `content-type`; then its own headers, without
/// those that are empty, and as many as fit in [`MAX_ATTRIBUTES`]. Names are distinct.
pub fn attributes(message: &Message) -> Vec<(&str, Attribute<'_>)> {
    let contract: Vec<(&str, Value<'_>)> = match of(message) {
        Some(view) => [
            ("bq-job", Some(view.job.into())),
            ("bq-trace-id", view.trace_id.map(Value::from)),
            (MESSAGE_ID, Some(view.message_id.into())),
            ("bq-schema-version", Some(view.schema_version.into())),
            ("bq-source-lang", view.source_lang.map(Value::from)),
            ("bq-created-at", view.created_at.map(Value::from)),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect(),
        None => of_other(message)
            .into_iter()
            .map(|(name, value)| (name, value.into()))
            .collect(),
    };
    with_once(contract, not_empty(message))
        .into_iter()
        .take(MAX_ATTRIBUTES)
        .map(|(name, value)| (name, value.into()))
        .collect()
}

/// The attempts that a consumer goes by: those of the payload, but never fewer than the redeliveries, which are one less
/// than `receive_count`, the attribute `ApproximateReceiveCount`.
///
/// A count that is missing or no integer is ignored.
pub fn attempts(payload: i64, receive_count: Option<&str>) -> i64 {
    receive_count
        .and_then(attempts::read)
        .map_or(payload, |count| payload.max(count.saturating_sub(1)))
}

/// The parameter `DelaySeconds` for a message that is not to be received before `delay` has passed: whole seconds, rounded up.
///
/// # Errors
///
/// [`Undelayable`]. The delay is never cut short.
pub fn delay(kind: Kind, delay: Duration) -> Result<u64, Undelayable> {
    if kind == Kind::Fifo && !delay.is_zero() {
        return Err(Undelayable::Fifo);
    }
    if delay > MAX_DELAY {
        return Err(Undelayable::TooLong(delay));
    }
    Ok(whole_seconds(delay))
}

/// The parameter `VisibilityTimeout` for a message that was received and is to come again after `delay`: whole seconds, rounded up,
/// and at most [`MAX_VISIBILITY`].
pub fn visibility(delay: Duration) -> u64 {
    whole_seconds(delay.min(MAX_VISIBILITY))
}

fn whole_seconds(delay: Duration) -> u64 {
    let started = u64::from(delay.subsec_nanos() > 0);
    delay.as_secs().saturating_add(started)
}

/// The dead-letter queue of `queue`: its name with `suffix`, or `-dlq` if there is none or an empty one. The suffix comes
/// before `.fifo`, with which the name of such a queue must end.
pub fn dead_letter_queue(queue: &str, suffix: Option<&str>) -> String {
    let suffix = suffix.filter(|suffix| !suffix.is_empty()).unwrap_or("-dlq");
    match queue.strip_suffix(".fifo") {
        Some(name) => format!("{name}{suffix}.fifo"),
        None => format!("{queue}{suffix}"),
    }
}
