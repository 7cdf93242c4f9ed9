//! Turning an envelope into the message that is saved.

use outbox_message::{InvalidMessage, Message};

use super::Envelope;
use crate::EnvelopeError;

impl Envelope {
    /// The message to save: the encoded bytes as payload, for the envelope's [`topic`](Self::topic), without a key.
    ///
    /// The message's id is [`id`](Self::id), or a fresh one if that is missing or breaks a limit of message ids.
    ///
    /// # Errors
    ///
    /// [`EnvelopeError::Key`] as [`encode`](Self::encode); [`EnvelopeError::Message`] if the queue is not a valid topic.
    pub fn to_message(&self) -> Result<Message, EnvelopeError> {
        self.message_of(self.encode()?.into_bytes())
            .map_err(EnvelopeError::Message)
    }

    /// The message to save for bytes that already are an envelope: the payload is `raw` itself, byte for byte.
    ///
    /// `None` if `raw` cannot be [decoded](Self::decode) or a strict consumer would [not accept](Self::accepts) it.
    ///
    /// # Errors
    ///
    /// [`InvalidMessage`] if it is an envelope and its queue is not a valid topic.
    pub fn message_from_raw(raw: &[u8]) -> Result<Option<Message>, InvalidMessage> {
        let accepted = Self::decode(raw).ok().filter(Self::accepts);
        accepted
            .map(|envelope| envelope.message_of(raw.to_vec()))
            .transpose()
    }

    fn message_of(&self, payload: Vec<u8>) -> Result<Message, InvalidMessage> {
        let message = Message::new(self.topic(), payload)?.with_content_type("application/json")?;
        Ok(match self.id().and_then(|id| id.parse().ok()) {
            Some(id) => Message { id, ..message },
            None => message,
        })
    }
}
