//! What the reference shows of an envelope on each broker, and the attempts that its consumers go by, entry by entry.
//! `vectors/projection.json` and `vectors/reconcile.json` were generated as those of `reference.rs`.

use std::borrow::Cow;

use outbox_envelope::{
    Envelope,
    projection::{
        self, Value, artemis, azure_service_bus, kafka, nats, pulsar, rabbitmq, redis, sqs,
    },
};
use outbox_message::Message;
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, MapAccess, Visitor},
};

/// The members of an object in their order.
#[derive(Debug, PartialEq)]
struct Members<T>(Vec<(String, T)>);

impl<T> Default for Members<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Members<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs<T>(std::marker::PhantomData<T>);
        impl<'de, T: DeserializeOwned> Visitor<'de> for Pairs<T> {
            type Value = Members<T>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    members.push(entry);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Pairs(std::marker::PhantomData))
    }
}

fn owned<V: ToString>(pairs: Vec<(&str, V)>) -> Vec<(String, String)> {
    pairs
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_string()))
        .collect()
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(untagged)]
enum Typed {
    Integer(i64),
    Text(String),
}

fn typed(pairs: Vec<(&str, Value<'_>)>) -> Members<Typed> {
    let typed = |value| match value {
        Value::Integer(integer) => Typed::Integer(integer),
        Value::Text(text) => Typed::Text(text.into_owned()),
        other => panic!("unknown value {other:?}"),
    };
    Members(
        pairs
            .into_iter()
            .map(|(name, value)| (name.to_owned(), typed(value)))
            .collect(),
    )
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Projection {
    body: String,
    kafka_headers: Vec<(String, String)>,
    kafka_record_timestamp: i64,
    pulsar_properties: Members<String>,
    sqs_message_attributes: Members<Attribute>,
    asb_kwargs: AzureServiceBus,
    artemis_properties: Members<String>,
    artemis_jms_type: String,
    artemis_correlation_id: String,
    artemis_creation_seconds: f64,
    kafka_retry_topics: Vec<String>,
    sqs_dlq_names: Members<String>,
    redis_frame: String,
    redis_frame_no_headers_is_bare: bool,
    redis_released_body: String,
    amqp_properties: Amqp,
    amqp_properties_not_json: Amqp,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
struct Attribute {
    data_type: String,
    string_value: String,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct AzureServiceBus {
    content_type: Option<String>,
    subject: Option<String>,
    correlation_id: Option<String>,
    message_id: String,
    application_properties: Members<Typed>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Amqp {
    content_type: Option<String>,
    content_encoding: Option<String>,
    delivery_mode: u8,
    message_id: Option<String>,
    correlation_id: Option<String>,
    r#type: Option<String>,
    app_id: Option<String>,
    #[serde(default)]
    headers: Members<Typed>,
}

impl From<rabbitmq::Properties<'_>> for Amqp {
    fn from(properties: rabbitmq::Properties<'_>) -> Self {
        Self {
            content_type: properties.content_type.map(str::to_owned),
            content_encoding: properties.content_encoding.map(str::to_owned),
            delivery_mode: rabbitmq::DELIVERY_MODE,
            message_id: Some(properties.message_id.into_owned()),
            correlation_id: properties.correlation_id.map(Cow::into_owned),
            r#type: properties.kind.map(Cow::into_owned),
            app_id: properties.app_id.map(str::to_owned),
            headers: typed(properties.headers),
        }
    }
}

fn projection() -> (Projection, Message) {
    let expected: Projection = serde_json::from_str(include_str!("vectors/projection.json"))
        .expect("the vectors have the shape of the struct");
    let message = Envelope::message_from_raw(expected.body.as_bytes());
    (
        expected,
        message
            .expect("its queue is a topic")
            .expect("the body is an envelope"),
    )
}

#[test]
fn an_envelope_has_the_properties_that_the_reference_gives_it() {
    let (expected, message) = projection();
    assert_eq!(
        Amqp::from(rabbitmq::properties(&message)),
        expected.amqp_properties
    );

    let record = kafka::record(&message);
    assert_eq!(owned(record.headers), expected.kafka_headers);
    assert_eq!(record.timestamp, Some(expected.kafka_record_timestamp));
    assert_eq!(owned(nats::headers(&message)), expected.kafka_headers);
    assert_eq!(
        owned(pulsar::properties(&message)),
        expected.pulsar_properties.0
    );

    let attributes = sqs::attributes(&message).into_iter();
    let attributes = attributes.map(|(name, attribute)| {
        let attribute = Attribute {
            data_type: attribute.data_type.to_owned(),
            string_value: attribute.string_value.into_owned(),
        };
        (name.to_owned(), attribute)
    });
    assert_eq!(
        Members(attributes.collect()),
        expected.sqs_message_attributes
    );

    let properties = azure_service_bus::properties(&message);
    let properties = AzureServiceBus {
        content_type: properties.content_type.map(str::to_owned),
        subject: properties.subject.map(Cow::into_owned),
        correlation_id: properties.correlation_id.map(Cow::into_owned),
        message_id: properties.message_id.into_owned(),
        application_properties: typed(properties.application),
    };
    assert_eq!(properties, expected.asb_kwargs);

    let properties = artemis::properties(&message);
    assert_eq!(owned(properties.application), expected.artemis_properties.0);
    assert_eq!(
        properties.jms_type.as_deref(),
        Some(expected.artemis_jms_type.as_str())
    );
    assert_eq!(
        properties.correlation_id.as_deref(),
        Some(expected.artemis_correlation_id.as_str())
    );
    let milliseconds = format!("{:.0}", expected.artemis_creation_seconds * 1000.0);
    assert_eq!(
        properties.creation_time.map(|time| time.to_string()),
        Some(milliseconds)
    );
}

#[test]
fn a_payload_that_is_no_json_has_the_properties_that_the_reference_gives_it_and_its_id() {
    let (expected, _) = projection();
    let message = Message::new("orders", "nope")
        .unwrap()
        .with_content_type("application/json")
        .unwrap();
    let with_id = Amqp {
        message_id: Some(message.id.to_string()),
        ..expected.amqp_properties_not_json
    };
    assert_eq!(Amqp::from(rabbitmq::properties(&message)), with_id);
}

#[test]
fn a_frame_holds_what_the_reference_puts_into_it() {
    let (expected, message) = projection();
    let framed = message
        .clone()
        .with_header(
            "traceparent",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        )
        .unwrap()
        .with_header("blank", "")
        .unwrap();
    assert_eq!(
        redis::frame(&framed).unwrap(),
        expected.redis_frame.as_bytes()
    );
    assert!(expected.redis_frame_no_headers_is_bare);
    let blank = message.with_header("x", "").unwrap();
    assert_eq!(redis::frame(&blank).unwrap(), expected.body.as_bytes());
    assert_eq!(
        redis::released(expected.body.as_bytes()),
        Some(expected.redis_released_body)
    );
}

#[test]
fn queues_for_what_is_tried_again_and_for_what_is_not_are_named_as_in_the_reference() {
    let (expected, _) = projection();
    let tiers: Vec<_> = (1..=4)
        .map(|tier| kafka::retry_topic("orders", tier))
        .collect();
    assert_eq!(tiers, expected.kafka_retry_topics);
    assert_eq!(expected.sqs_dlq_names.0.len(), 8);
    for (given, name) in expected.sqs_dlq_names.0 {
        let (queue, suffix) = given.split_once('|').unwrap();
        let suffix = (suffix != "None").then_some(suffix);
        assert_eq!(sqs::dead_letter_queue(queue, suffix), name, "{given}");
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reconcile {
    sqs: Vec<Sqs>,
    asb: Vec<Counted>,
    artemis: Vec<Counted>,
    kafka: Vec<Kafka>,
    pulsar: Vec<Pulsar>,
}

#[derive(Deserialize)]
struct Sqs {
    body_attempts: i64,
    approximate_receive_count: Option<String>,
    attempts: i64,
}

#[derive(Deserialize)]
struct Counted {
    body_attempts: i64,
    delivery_count: i64,
    attempts: i64,
}

#[derive(Deserialize)]
struct Kafka {
    body_attempts: i64,
    header_attempts: Option<String>,
    attempts: i64,
}

#[derive(Deserialize)]
struct Pulsar {
    body_attempts: i64,
    bq_attempts: Option<String>,
    redelivery_count: i64,
    attempts: i64,
}

#[test]
fn attempts_are_those_that_the_consumers_of_the_reference_go_by() {
    let Reconcile {
        sqs,
        asb,
        artemis,
        kafka,
        pulsar,
    } = serde_json::from_str(include_str!("vectors/reconcile.json")).unwrap();
    let counts = [
        sqs.len(),
        asb.len(),
        artemis.len(),
        kafka.len(),
        pulsar.len(),
    ];
    assert_eq!(counts, [6, 6, 6, 7, 7], "no entry may get lost");
    for Sqs {
        body_attempts,
        approximate_receive_count: count,
        attempts,
    } in sqs
    {
        assert_eq!(
            projection::sqs::attempts(body_attempts, count.as_deref()),
            attempts,
            "{body_attempts} {count:?}"
        );
    }
    for Counted {
        body_attempts,
        delivery_count,
        attempts,
    } in asb
    {
        assert_eq!(
            azure_service_bus::attempts(body_attempts, delivery_count),
            attempts,
            "{body_attempts} {delivery_count}"
        );
    }
    for Counted {
        body_attempts,
        delivery_count,
        attempts,
    } in artemis
    {
        assert_eq!(
            projection::artemis::attempts(body_attempts, delivery_count),
            attempts,
            "{body_attempts} {delivery_count}"
        );
    }
    for Kafka {
        body_attempts,
        header_attempts: header,
        attempts,
    } in kafka
    {
        assert_eq!(
            projection::kafka::attempts(body_attempts, header.as_deref().map(str::as_bytes)),
            attempts,
            "{body_attempts} {header:?}"
        );
    }
    for Pulsar {
        body_attempts,
        bq_attempts: property,
        redelivery_count,
        attempts,
    } in pulsar
    {
        assert_eq!(
            projection::pulsar::attempts(body_attempts, property.as_deref(), redelivery_count),
            attempts,
            "{body_attempts} {property:?} {redelivery_count}"
        );
    }
}
