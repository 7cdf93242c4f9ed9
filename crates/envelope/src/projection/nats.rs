//! NATS: headers as pairs of text. BabelQueue's packages have no NATS, so these are the headers they use on Kafka.
//! Leaves out `Nats-Msg-Id`, which belongs to how a publisher uses a stream.

use std::borrow::Cow;

use outbox_message::Message;

use super::headers::{contract, with_own};

/// The headers of `message`: the six of an envelope, or `bq-message-id` and `content-type`; then its own, with their
/// order and their repetitions.
///
/// A value of the contract that has a line break, which NATS cannot carry, is left out; the payload has it. The message's
/// own headers are as they are: whether NATS can carry them is the publisher's to judge.
pub fn headers(message: &Message) -> Vec<(&str, Cow<'_, str>)> {
    let contract = contract(message);
    let before = contract.len();
    let mut headers = with_own(contract, message);
    let own = headers.split_off(before);
    headers.retain(|(_, value)| !value.contains(['\r', '\n']));
    headers.extend(own);
    headers
}
