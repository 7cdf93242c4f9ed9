//! What a broker shows of a message beside its payload: properties and headers, which route and trace a message without
//! its payload being read. They are redundant: the payload is the envelope, and consumers believe the payload.
//!
//! A message that is an [envelope](of) has the properties that BabelQueue's own packages give it on each broker, so that
//! their consumers read it as one of theirs; headers of the message itself come beside them, and the contract's win over
//! those of the same name. Any other message carries its own headers, its content type and its id. Both are one call:
//!
//! | broker | produced | consumed |
//! | --- | --- | --- |
//! | `RabbitMQ` | [`rabbitmq::properties`] | the payload's attempts |
//! | NATS | [`nats::headers`] | the payload's attempts |
//! | Redis | [`redis::frame`] | the payload's attempts |
//! | Kafka | [`kafka::record`] | [`kafka::attempts`] |
//! | Pulsar | [`pulsar::properties`] | [`pulsar::attempts`] |
//! | Amazon SQS | [`sqs::attributes`] | [`sqs::attempts`] |
//! | Azure Service Bus | [`azure_service_bus::properties`] | [`azure_service_bus::attempts`] |
//! | Artemis | [`artemis::properties`] | [`artemis::attempts`] |
//!
//! Retries have their place where a broker has one: [`kafka::retry`], [`sqs::delay`], [`sqs::visibility`], [`redis::laravel`].
//! Before it decodes a payload, a consumer asks [`SchemaVersion::is_read`] of the property that shows the version.
//!
//! A value that is missing or empty in the envelope has no property. Where a broker cannot carry a name twice, the first
//! header of a repeated name is carried, which is the one that [`Headers::get`](outbox_message::Headers::get) returns.
//!
//! ```
//! use outbox_envelope::{Envelope, projection};
//! use outbox_message::Message;
//!
//! let envelope = Envelope::make("urn:babel:orders:created", &std::collections::BTreeMap::from([("id", 7)]))?;
//! let message = envelope.to_message()?.with_header("tenant", "acme")?;
//! let properties = projection::rabbitmq::properties(&message);
//! assert_eq!(properties.kind.as_deref(), Some("urn:babel:orders:created"));
//! assert_eq!(properties.message_id, message.id.as_str());
//!
//! let other = Message::new("orders", "7,acme")?.with_content_type("text/csv")?;
//! let properties = projection::rabbitmq::properties(&other);
//! assert_eq!((properties.kind, properties.content_type), (None, Some("text/csv")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod artemis;
pub mod azure_service_bus;
pub mod kafka;
pub mod nats;
pub mod pulsar;
pub mod rabbitmq;
pub mod redis;
pub mod sqs;

mod attempts;
mod gate;
mod headers;
mod members;
mod view;

pub use gate::SchemaVersion;
pub use view::{View, of};

use std::borrow::Cow;

/// The content type of every envelope.
const JSON: &str = "application/json";

/// What the contract's `app_id` says, whoever produced the envelope.
const APP_ID: &str = "babelqueue";

/// A property on a broker whose properties have types.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Value<'a> {
    /// A string.
    Text(Cow<'a, str>),
    /// An integer of 64 bits.
    Integer(i64),
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl<'a> From<Cow<'a, str>> for Value<'a> {
    fn from(text: Cow<'a, str>) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Value<'_> {
    fn from(integer: i64) -> Self {
        Self::Integer(integer)
    }
}
