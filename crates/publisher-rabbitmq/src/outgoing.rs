//! A message as it goes over the wire: where to, its properties, and whether it fits into them. What cannot be said in AMQP is
//! found here, before it can close a channel or a connection that others use.

use std::collections::HashMap;

use bytes::Bytes;
use lapin::{
    BasicProperties,
    types::{AMQPValue, FieldArray, FieldTable, ShortString},
};
use outbox_envelope::projection::{Value, rabbitmq};
use outbox_message::Message;
use outbox_publisher::{PublishError, PublishErrorKind};

use crate::Target;

/// A message ready to be sent.
#[derive(Debug, Clone)]
pub(crate) struct Outgoing {
    /// The exchange; empty for the default exchange, which takes the name of a queue as its routing key.
    pub(crate) exchange: ShortString,
    pub(crate) routing_key: ShortString,
    pub(crate) properties: BasicProperties,
    pub(crate) payload: Bytes,
}

impl Outgoing {
    /// The message for a broker that takes frames of `frame_max` bytes.
    ///
    /// # Errors
    ///
    /// [`PublishErrorKind::Malformed`] if AMQP or `RabbitMQ` has no way to carry it.
    pub(crate) fn new(
        target: &Target,
        message: &Message,
        frame_max: usize,
    ) -> Result<Self, PublishError> {
        let (exchange, routing_key) = match target {
            Target::Queue { queue, .. } => (
                ShortString::default(),
                short("name of the queue", queue.render(message))?,
            ),
            Target::Exchange {
                exchange,
                routing_key,
            } => (
                short("name of the exchange", exchange.render(message))?,
                short("routing key", routing_key.render(message))?,
            ),
        };
        let properties = properties(message)?;
        let length = frame_length(&properties);
        if length > frame_max {
            let text = format!(
                "the headers take {length} bytes, more than the {frame_max} of a frame of this broker"
            );
            return Err(malformed(text));
        }
        Ok(Self {
            exchange,
            routing_key,
            properties,
            payload: message.payload.clone(),
        })
    }

    /// The id under which a returned message is known again.
    pub(crate) fn message_id(&self) -> &str {
        let id = self.properties.message_id().as_ref();
        id.map_or("", ShortString::as_str)
    }
}

fn properties(message: &Message) -> Result<BasicProperties, PublishError> {
    let of = rabbitmq::properties(message);
    let mut properties = BasicProperties::default()
        .with_delivery_mode(rabbitmq::DELIVERY_MODE)
        .with_message_id(short("message id", &*of.message_id)?);
    if let Some(text) = of.content_type {
        properties = properties.with_content_type(short("content type", text)?);
    }
    if let Some(text) = of.content_encoding {
        properties = properties.with_content_encoding(short("content encoding", text)?);
    }
    if let Some(text) = of.correlation_id {
        properties = properties.with_correlation_id(short("correlation id", text)?);
    }
    if let Some(text) = of.kind {
        properties = properties.with_type(short("type", text)?);
    }
    if let Some(text) = of.app_id {
        properties = properties.with_app_id(short("application id", text)?);
    }
    if of.headers.is_empty() {
        return Ok(properties);
    }
    let is_envelope = of.app_id.is_some();
    let mut repeated = repeated(message);
    let mut table = FieldTable::default();
    for (name, value) in of.headers {
        if ROUTING_HEADERS.contains(&name) {
            let text = format!("RabbitMQ takes a header {name} as a list of routing keys");
            return Err(malformed(text));
        }
        let is_own = !(is_envelope && CONTRACT_HEADERS.contains(&name));
        let value = match repeated.remove(name).filter(|_| is_own) {
            Some(values) => AMQPValue::FieldArray(values),
            None => field(value)?,
        };
        table.insert(short("name of a header", name)?, value);
    }
    Ok(properties.with_headers(table))
}

/// The headers of an envelope's contract, which win over the message's own.
pub(crate) const CONTRACT_HEADERS: [&str; 3] = ["x-schema-version", "x-source-lang", "x-attempts"];

/// All values of the names that the message's headers have more than once. A table has a name once, but its value can be a list.
fn repeated(message: &Message) -> HashMap<&str, FieldArray> {
    let mut all: HashMap<_, Vec<_>> = HashMap::new();
    for (name, value) in message.headers.iter() {
        all.entry(name).or_default().push(text(value));
    }
    all.retain(|_, values| values.len() > 1);
    all.into_iter()
        .map(|(name, values)| (name, values.into()))
        .collect()
}

fn text(text: impl Into<String>) -> AMQPValue {
    AMQPValue::LongString(text.into().into())
}

/// Headers that the broker reads, and closes the channel if they are no lists.
const ROUTING_HEADERS: [&str; 2] = ["CC", "BCC"];

fn field(value: Value<'_>) -> Result<AMQPValue, PublishError> {
    match value {
        Value::Text(of) => Ok(text(of)),
        Value::Integer(number) => Ok(match i32::try_from(number) {
            Ok(number) => AMQPValue::LongInt(number),
            Err(_) => AMQPValue::LongLongInt(number),
        }),
        _ => Err(malformed(
            "a header is neither text nor a number".to_owned(),
        )),
    }
}

/// The length of the frame that the properties go in, in bytes.
fn frame_length(properties: &BasicProperties) -> usize {
    /// The frame itself; class, weight, size of the body and flags; the delivery mode.
    const FIXED: usize = 8 + 14 + 1;
    let texts = [
        properties.content_type(),
        properties.content_encoding(),
        properties.correlation_id(),
        properties.message_id(),
        properties.kind(),
        properties.app_id(),
    ];
    let texts = texts.into_iter().flatten().map(short_length);
    let headers = properties.headers().iter().map(|table| {
        let fields = table.inner().iter();
        let fields = fields.map(|(name, value)| short_length(name) + 1 + value_length(value));
        4 + fields.sum::<usize>()
    });
    FIXED + texts.chain(headers).sum::<usize>()
}

fn short_length(text: &ShortString) -> usize {
    1 + text.as_str().len()
}

fn value_length(value: &AMQPValue) -> usize {
    match value {
        AMQPValue::LongString(text) => 4 + text.as_bytes().len(),
        AMQPValue::FieldArray(values) => {
            let values = values.as_slice().iter();
            4 + values.map(|value| 1 + value_length(value)).sum::<usize>()
        }
        _ => 8,
    }
}

pub(crate) fn short(part: &str, text: impl Into<String>) -> Result<ShortString, PublishError> {
    ShortString::try_new(text).map_err(|error| {
        malformed(format!("the {part} is longer than AMQP allows")).with_source(error)
    })
}

fn malformed(text: String) -> PublishError {
    PublishError::new(PublishErrorKind::Malformed, text)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use outbox_envelope::Envelope;

    use super::*;
    use crate::RabbitMqConfig;

    const FRAME_MAX: usize = 131_072;

    fn outgoing(query: &str, message: &Message) -> Result<Outgoing, PublishError> {
        let config = RabbitMqConfig::from_url(&format!("amqp://h?{query}")).unwrap();
        Outgoing::new(&config.target, message, FRAME_MAX)
    }

    fn assert_malformed(outgoing: Result<Outgoing, PublishError>, name: &str) {
        let error = outgoing.unwrap_err();
        assert_eq!(error.kind, PublishErrorKind::Malformed);
        assert!(error.text.contains(name), "{error}");
    }

    #[test]
    fn a_queue_is_a_routing_key_of_the_default_exchange() {
        let message = Message::new("orders", "").unwrap().with_key("k").unwrap();
        let to = |query| {
            let outgoing = outgoing(query, &message).unwrap();
            (
                outgoing.exchange.to_string(),
                outgoing.routing_key.to_string(),
            )
        };
        assert_eq!(to(""), (String::new(), "orders".to_owned()));
        assert_eq!(to("queue=q"), (String::new(), "q".to_owned()));
        assert_eq!(to("exchange=e"), ("e".to_owned(), "orders".to_owned()));
        assert_eq!(
            to("exchange=e.{topic}&routing_key={topic}.{key}"),
            ("e.orders".to_owned(), "orders.k".to_owned())
        );
        assert_eq!(
            to("exchange=e&routing_key="),
            ("e".to_owned(), String::new())
        );
    }

    #[test]
    fn a_name_of_more_than_255_bytes_is_malformed() {
        let message = Message::new("t".repeat(255), "").unwrap();
        assert!(outgoing("", &message).is_ok());
        assert_malformed(outgoing("queue=q{topic}", &message), "name of the queue");
        assert_malformed(
            outgoing("exchange=e{topic}", &message),
            "name of the exchange",
        );
        let message = message.with_key("k".repeat(1024)).unwrap();
        assert_malformed(
            outgoing("exchange=e&routing_key={key}", &message),
            "routing key",
        );
    }

    #[test]
    fn headers_that_do_not_fit_into_a_frame_are_malformed() {
        let mut message = Message::new("t", "").unwrap();
        for number in 0..9_000 {
            message.headers.push(format!("{number:x}"), "").unwrap();
        }
        assert!(outgoing("", &message).is_ok());
        for number in 9_000..14_000 {
            message.headers.push(format!("{number:x}"), "").unwrap();
        }
        assert_malformed(outgoing("", &message), "131072");
    }

    #[test]
    fn headers_that_the_broker_reads_as_routing_keys_are_malformed() {
        for name in ["CC", "BCC"] {
            let message = Message::new("t", "")
                .unwrap()
                .with_header(name, "a")
                .unwrap();
            assert_malformed(outgoing("", &message), name);
        }
        let message = Message::new("t", "")
            .unwrap()
            .with_header("cc", "a")
            .unwrap();
        assert!(outgoing("", &message).is_ok());
    }

    #[test]
    fn a_message_carries_its_own_headers_its_content_type_and_its_id_and_is_persistent() {
        let message = Message::new("t", "7,acme")
            .unwrap()
            .with_id("id-1")
            .unwrap()
            .with_header("tenant", "é\n")
            .unwrap()
            .with_header("other", "")
            .unwrap()
            .with_header("tenant", "second")
            .unwrap()
            .with_content_type("text/csv")
            .unwrap();
        let outgoing = outgoing("", &message).unwrap();
        let mut headers = FieldTable::default();
        let tenants = vec![text("é\n"), text("second")];
        headers.insert("tenant".into(), AMQPValue::FieldArray(tenants.into()));
        headers.insert("other".into(), text(""));
        let expected = BasicProperties::default()
            .with_delivery_mode(2)
            .with_message_id("id-1".into())
            .with_content_type("text/csv".into())
            .with_headers(headers);
        assert_eq!(outgoing.properties, expected);
        assert_eq!(outgoing.message_id(), "id-1");
        assert_eq!(outgoing.payload, message.payload);
    }

    #[test]
    fn an_envelope_has_the_properties_of_its_contract_which_wins() {
        let data = BTreeMap::from([("a", 1)]);
        let envelope = Envelope::make("urn:babel:orders:created", &data).unwrap();
        let message = envelope.queue("orders").to_message().unwrap();
        let message = message
            .with_header("x-attempts", "7")
            .unwrap()
            .with_header("x-attempts", "8")
            .unwrap();
        let properties = outgoing("", &message).unwrap().properties;
        let text = |short: &Option<ShortString>| short.as_ref().map(ToString::to_string);
        assert_eq!(
            text(properties.kind()).as_deref(),
            Some("urn:babel:orders:created")
        );
        assert_eq!(text(properties.app_id()).as_deref(), Some("babelqueue"));
        assert_eq!(
            text(properties.content_type()).as_deref(),
            Some("application/json")
        );
        assert_eq!(
            text(properties.message_id()).as_deref(),
            Some(message.id.as_str())
        );
        let headers = properties.headers().clone().unwrap();
        assert_eq!(headers.inner()["x-schema-version"], AMQPValue::LongInt(1));
        assert_eq!(headers.inner()["x-attempts"], AMQPValue::LongInt(0));
    }
}
