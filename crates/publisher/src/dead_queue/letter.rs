//! A dead letter as a broker has it, in the parts of a message.

use bytes::Bytes;
use outbox_message::{ContentType, Headers, Message, MessageId, PartitionKey, Topic};

/// A message in a dead-letter queue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Letter {
    /// The id that the broker shows, if it shows one.
    pub id: Option<MessageId>,
    /// The key, where the broker has a place for it.
    pub key: Option<PartitionKey>,
    /// The headers, without those that the broker writes by itself.
    pub headers: Headers,
    /// How to read the payload, where the broker has a place for it.
    pub content_type: Option<ContentType>,
    /// The bytes.
    pub payload: Bytes,
    /// The topic whose queue it is in, which a [`Redrive`](super::Redrive) says.
    pub queue: Option<Topic>,
    /// Whether the broker itself moved it there, as it was.
    pub is_moved: bool,
    /// The topic whose queue it died in, if the broker itself says so and that queue is one of a topic.
    pub source: Option<Topic>,
    /// What of it could not be published again as it is, for people. Such a dead letter is better left where it is.
    pub unkept: Option<String>,
}

impl Letter {
    /// The message for `topic`: with this payload, and otherwise as the dead letter is. Its id is fresh if there is none.
    pub fn message(&self, topic: Topic, payload: Bytes) -> Message {
        Message {
            id: self.id.clone().unwrap_or_else(MessageId::generate),
            topic,
            key: self.key.clone(),
            headers: self.headers.clone(),
            content_type: self.content_type.clone(),
            payload,
        }
    }
}
