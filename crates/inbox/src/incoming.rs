//! `Incoming`: what a broker's client hands over, and how it becomes a message that can be saved. Nothing is decoded for it but the id of an envelope.

use bytes::Bytes;
use outbox_envelope::Received;
use outbox_message::{Headers, InvalidMessage, Message, MessageId};

/// The header that shows a message's id on brokers that have no place of their own for it.
const MESSAGE_ID: &str = "bq-message-id";

/// A delivery as a broker's client hands it over: bytes, and what stands beside them.
///
/// ```
/// use outbox_inbox::Incoming;
///
/// let message = Incoming::new("orders", r#"{"job":"urn:babel:orders:created","meta":{"id":"m-1"}}"#)
///     .key("order-1042")
///     .header("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
///     .into_message()?;
/// assert_eq!(message.id.as_str(), "m-1");
/// # Ok::<(), outbox_message::InvalidMessage>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incoming {
    topic: String,
    payload: Bytes,
    id: Option<String>,
    key: Option<String>,
    headers: Vec<(String, String)>,
    content_type: Option<String>,
}

impl Incoming {
    /// What came from `topic`.
    pub fn new(topic: impl Into<String>, payload: impl Into<Bytes>) -> Self {
        Self {
            topic: topic.into(),
            payload: payload.into(),
            id: None,
            key: None,
            headers: Vec::new(),
            content_type: None,
        }
    }

    /// The message id that the broker shows beside the payload, such as the property `message_id` of `RabbitMQ`; in a header `bq-message-id` it is found without
    /// this. Not a number that the broker gives to each delivery, nor to each publish: these differ between duplicates. An envelope's own id wins.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Messages of one topic and key are handled in order. An empty key is none.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// One header more, at the end.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// How to read the payload.
    #[must_use]
    pub fn content_type(mut self, content_type: impl Into<String>) -> Self {
        self.content_type = Some(content_type.into());
        self
    }

    /// The message to save, its payload byte for byte as it came.
    ///
    /// Its id is the first of these that is usable: `meta.id` of an envelope, the [id](Self::id) that the broker showed, the header `bq-message-id`. Without any
    /// it is a fresh one: then each delivery is another message, and is handled. A payload that is no envelope, or poison, is a message like any other: it is
    /// judged when it is its turn.
    ///
    /// # Errors
    ///
    /// [`InvalidMessage`] if a part breaks a limit of messages. No retry heals that: leave it to the broker's own dead letters.
    pub fn into_message(self) -> Result<Message, InvalidMessage> {
        let id = self.usable_id();
        let mut message = Message::new(self.topic, self.payload)?;
        if let Some(id) = id {
            message.id = id;
        }
        if let Some(key) = self.key.as_deref().filter(|key| !key.is_empty()) {
            message = message.with_key(key)?;
        }
        if let Some(content_type) = self.content_type {
            message = message.with_content_type(content_type)?;
        }
        message.headers = Headers::from_pairs(self.headers)?;
        Ok(message)
    }

    fn usable_id(&self) -> Option<MessageId> {
        let received = Received::read(&self.payload).ok();
        let own = received.as_ref().and_then(|it| it.id.as_deref());
        let mut headers = self.headers.iter();
        let header = headers.find(|(name, _)| name == MESSAGE_ID);
        let header = header.map(|(_, value)| value.as_str());
        let mut ids = [own, self.id.as_deref(), header].into_iter().flatten();
        ids.find_map(|id| MessageId::new(id).ok())
    }
}
