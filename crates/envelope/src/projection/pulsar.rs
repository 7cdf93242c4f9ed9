//! Pulsar: properties, which are text, and the attempts that a consumer goes by.

use std::borrow::Cow;

use outbox_message::Message;

use super::headers::{contract, with_once};

/// The most attempts that the property `bq-attempts` may say.
const MAX_ATTEMPTS: i64 = 0x7fff_ffff;

/// The properties of `message`: the six of an envelope, or `bq-message-id` and `content-type`; then its own headers.
/// Names are distinct.
pub fn properties(message: &Message) -> Vec<(&str, Cow<'_, str>)> {
    with_once(contract(message), message.headers.iter())
}

/// The attempts that a consumer goes by: those of the property `bq-attempts`, or else of the payload, but never fewer than
/// `redelivery_count`, which is 0 at the first delivery.
///
/// The property counts if it is nothing but ASCII digits and at most 2^31 - 1.
pub fn attempts(payload: i64, property: Option<&str>, redelivery_count: i64) -> i64 {
    let is_digits = |text: &&str| text.bytes().all(|byte| byte.is_ascii_digit());
    property
        .filter(is_digits)
        .and_then(|text| text.parse().ok())
        .filter(|attempts| *attempts <= MAX_ATTEMPTS)
        .unwrap_or(payload)
        .max(redelivery_count)
}
