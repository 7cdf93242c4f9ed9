//! Kafka: headers and the timestamp of a record, and the attempts that a consumer goes by. Leaves out the record's key,
//! which is the message's and never made up.

pub mod retry;

use std::borrow::Cow;

use outbox_message::Message;

use super::{
    attempts,
    headers::{of_other, of_view, with_own},
    of,
};

/// What a record has beside its key and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Record<'a> {
    /// Headers in order; values are UTF-8.
    pub headers: Vec<(&'a str, Cow<'a, str>)>,
    /// In Unix milliseconds: when an envelope was made. `None`: the time at which it is produced.
    pub timestamp: Option<i64>,
}

/// The headers of `message`: the six of an envelope, or `bq-message-id` and `content-type`; then its own, with their
/// order and their repetitions.
pub fn record(message: &Message) -> Record<'_> {
    let view = of(message);
    let headers = match &view {
        Some(view) => of_view(view),
        None => of_other(message),
    };
    // The reference passes over a time of 0 too.
    let timestamp = view
        .and_then(|view| view.created_at)
        .filter(|created_at| *created_at != 0);
    Record {
        headers: with_own(headers, message),
        timestamp,
    }
}

/// The attempts that a consumer goes by, given those of the payload and the header `bq-attempts`: the header's, even if
/// it is lower, because nothing else counts redeliveries on Kafka.
///
/// A header that is no integer is ignored. As in the reference, an integer may have white space around it, a sign, and
/// single underscores between digits; here it has ASCII digits and 64 bits.
pub fn attempts(payload: i64, header: Option<&[u8]>) -> i64 {
    header
        .and_then(|header| str::from_utf8(header).ok())
        .and_then(attempts::read)
        .unwrap_or(payload)
}

/// The topic to which a consumer of `topic` moves what it retries in `tier`, counted from 1.
pub fn retry_topic(topic: &str, tier: u32) -> String {
    format!("{topic}.retry.{tier}")
}
