//! The message: what an application saves and a broker receives.

use bytes::Bytes;

use crate::{
    ContentType, Headers, InvalidMessage, Key, MAX_PAYLOAD_BYTES, MessageId, OrderingKey,
    PartitionKey, Topic,
};

/// What the application saves and the broker receives. The payload is never decoded, rebuilt or re-encoded on the way (contract C2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Fixed when the message is made; consumers drop duplicates by it.
    pub id: MessageId,
    /// Where it is to be published.
    pub topic: Topic,
    /// Messages of one topic and key keep their order; without a key a message is unordered.
    pub key: Option<PartitionKey>,
    /// String metadata, in order.
    pub headers: Headers,
    /// How to read the payload.
    pub content_type: Option<ContentType>,
    /// The bytes to publish.
    pub payload: Bytes,
}

impl Message {
    /// Makes a message with a fresh id, and without key, headers or content type.
    ///
    /// # Errors
    ///
    /// [`InvalidMessage`] if the topic breaks a limit. The payload's length is checked by `save`, since a store can be told to take less.
    pub fn new(topic: impl AsRef<str>, payload: impl Into<Bytes>) -> Result<Self, InvalidMessage> {
        Ok(Self {
            id: MessageId::generate(),
            topic: Topic::new(topic)?,
            key: None,
            headers: Headers::new(),
            content_type: None,
            payload: payload.into(),
        })
    }

    /// The same message with this id.
    ///
    /// # Errors
    ///
    /// [`InvalidMessage`] if the id breaks a limit.
    pub fn with_id(self, id: impl AsRef<str>) -> Result<Self, InvalidMessage> {
        Ok(Self {
            id: MessageId::new(id)?,
            ..self
        })
    }

    /// The same message with this key.
    ///
    /// # Errors
    ///
    /// [`InvalidMessage`] if the key breaks a limit.
    pub fn with_key<'k>(self, key: impl Into<Key<'k>>) -> Result<Self, InvalidMessage> {
        Ok(Self {
            key: key.into().check()?,
            ..self
        })
    }

    /// The same message with one more header, at the end.
    ///
    /// # Errors
    ///
    /// [`InvalidMessage`] if the header breaks a limit.
    pub fn with_header(
        mut self,
        name: impl Into<String>,
        value: impl Into<String>,
    ) -> Result<Self, InvalidMessage> {
        self.headers.push(name, value)?;
        Ok(self)
    }

    /// The same message with this content type.
    ///
    /// # Errors
    ///
    /// [`InvalidMessage`] if the content type breaks a limit.
    pub fn with_content_type(self, content_type: impl AsRef<str>) -> Result<Self, InvalidMessage> {
        Ok(Self {
            content_type: Some(ContentType::new(content_type)?),
            ..self
        })
    }

    /// The ordering key, if there is a key.
    pub fn ordering_key(&self) -> Option<OrderingKey> {
        let key = self.key.clone()?;
        Some(OrderingKey {
            topic: self.topic.clone(),
            key,
        })
    }

    /// Checks the payload's length against `max` bytes or [`MAX_PAYLOAD_BYTES`], whichever is less; every other limit is kept by the types.
    ///
    /// # Errors
    ///
    /// [`InvalidMessage::TooLong`] if the payload is longer.
    pub fn check_payload(&self, max: usize) -> Result<(), InvalidMessage> {
        let (len, max) = (self.payload.len(), max.min(MAX_PAYLOAD_BYTES));
        if len > max {
            return Err(InvalidMessage::TooLong {
                part: "payload",
                len,
                max,
            });
        }
        Ok(())
    }

    /// How many bytes this message counts for in a claim's limit (contract P4): payload, headers, id, topic, key and content type.
    pub fn weight(&self) -> usize {
        self.payload.len()
            + self.headers.bytes()
            + self.id.as_str().len()
            + self.topic.as_str().len()
            + self.key.as_ref().map_or(0, |key| key.as_str().len())
            + self
                .content_type
                .as_ref()
                .map_or(0, |kind| kind.as_str().len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c4_a_payload_over_the_limit_is_refused() {
        let message = Message::new("t", vec![0; 11]).unwrap();
        assert!(message.check_payload(11).is_ok());
        assert_eq!(
            message.check_payload(10),
            Err(InvalidMessage::TooLong {
                part: "payload",
                len: 11,
                max: 10
            })
        );
    }

    #[test]
    fn a_message_without_a_key_has_no_ordering_key() {
        let message = Message::new("t", "").unwrap();
        assert_eq!(message.ordering_key(), None);
        let keyed = message.with_key("k").unwrap().ordering_key().unwrap();
        assert_eq!((keyed.topic.as_str(), keyed.key.as_str()), ("t", "k"));
    }
}
