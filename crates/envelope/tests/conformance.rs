//! What BabelQueue's conformance suite says of projections and of attempts, entry by entry. `vectors/conformance.json` has
//! the values of its version 1.8.0; its other sections are about consumers and are not carried.

use std::collections::BTreeMap;

use outbox_envelope::{
    Envelope,
    projection::{Value, artemis, azure_service_bus, kafka, pulsar, rabbitmq, sqs},
};
use outbox_message::Message;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Suite {
    version: String,
    envelope: String,
    kafka: Section<KafkaProjection, KafkaCase>,
    pulsar: Section<PulsarProjection, PulsarCase>,
    sqs: Section<SqsProjection, SqsCase>,
    asb: Section<AsbProjection, CountedCase>,
    artemis: Section<ArtemisProjection, CountedCase>,
    rabbitmq: OnlyProjection,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Section<P, A> {
    projection: P,
    attempts: Vec<A>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OnlyProjection {
    projection: RabbitMqProjection,
}

type Texts = BTreeMap<String, String>;
type Typed = BTreeMap<String, serde_json::Value>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KafkaProjection {
    headers: Texts,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PulsarProjection {
    properties: Texts,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SqsProjection {
    message_attributes: BTreeMap<String, Attribute>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
struct Attribute {
    data_type: String,
    string_value: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AsbProjection {
    message: Texts,
    application_properties: Typed,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ArtemisProjection {
    jms_type_annotation: String,
    jms_type: String,
    correlation_id: String,
    properties: Texts,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RabbitMqProjection {
    properties: Texts,
    headers: Typed,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KafkaCase {
    name: String,
    body_attempts: i64,
    header_attempts: Option<i64>,
    expected_attempts: i64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PulsarCase {
    name: String,
    body_attempts: i64,
    redelivery_count: i64,
    expected_attempts: i64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SqsCase {
    name: String,
    body_attempts: i64,
    approximate_receive_count: Option<String>,
    expected_attempts: i64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CountedCase {
    name: String,
    body_attempts: i64,
    delivery_count: i64,
    expected_attempts: i64,
}

fn suite() -> Suite {
    let suite: Suite = serde_json::from_str(include_str!("vectors/conformance.json"))
        .expect("the vectors have the shape of the struct");
    assert_eq!(suite.version, "1.8.0");
    suite
}

fn message(suite: &Suite) -> Message {
    Envelope::message_from_raw(suite.envelope.as_bytes())
        .expect("its queue is a topic")
        .expect("it is an envelope")
}

fn texts<V: ToString>(pairs: Vec<(&str, V)>) -> Texts {
    let pairs = pairs.into_iter();
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_string()))
        .collect()
}

fn typed(pairs: Vec<(&str, Value<'_>)>) -> Typed {
    let json = |value| match value {
        Value::Integer(integer) => serde_json::Value::from(integer),
        Value::Text(text) => serde_json::Value::from(text.as_ref()),
        other => panic!("unknown value {other:?}"),
    };
    let pairs = pairs.into_iter();
    pairs
        .map(|(name, value)| (name.to_owned(), json(value)))
        .collect()
}

#[test]
fn an_envelope_has_the_properties_that_the_suite_demands() {
    let suite = suite();
    let message = message(&suite);
    assert_eq!(
        texts(kafka::record(&message).headers),
        suite.kafka.projection.headers
    );
    assert_eq!(
        texts(pulsar::properties(&message)),
        suite.pulsar.projection.properties
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
        attributes.collect::<BTreeMap<_, _>>(),
        suite.sqs.projection.message_attributes
    );

    let properties = azure_service_bus::properties(&message);
    let native = vec![
        ("subject", properties.subject.expect("it has a job")),
        (
            "correlation_id",
            properties.correlation_id.expect("it has a trace id"),
        ),
        ("message_id", properties.message_id),
        (
            "content_type",
            properties.content_type.expect("it is JSON").into(),
        ),
    ];
    assert_eq!(texts(native), suite.asb.projection.message);
    assert_eq!(
        typed(properties.application),
        suite.asb.projection.application_properties
    );

    let properties = artemis::properties(&message);
    let expected = suite.artemis.projection;
    assert_eq!(artemis::JMS_TYPE, expected.jms_type_annotation);
    assert_eq!(
        properties.jms_type.as_deref(),
        Some(expected.jms_type.as_str())
    );
    assert_eq!(
        properties.correlation_id.as_deref(),
        Some(expected.correlation_id.as_str())
    );
    assert_eq!(texts(properties.application), expected.properties);

    let properties = rabbitmq::properties(&message);
    let native = vec![
        ("type", properties.kind.expect("it has a job")),
        (
            "correlation_id",
            properties.correlation_id.expect("it has a trace id"),
        ),
        ("message_id", properties.message_id),
        (
            "app_id",
            properties.app_id.expect("it is an envelope").into(),
        ),
        (
            "content_type",
            properties.content_type.expect("it is JSON").into(),
        ),
    ];
    assert_eq!(texts(native), suite.rabbitmq.projection.properties);
    assert_eq!(typed(properties.headers), suite.rabbitmq.projection.headers);
}

#[test]
fn attempts_are_those_that_the_suite_demands() {
    let suite = suite();
    let counts = [
        suite.kafka.attempts.len(),
        suite.pulsar.attempts.len(),
        suite.sqs.attempts.len(),
        suite.asb.attempts.len(),
        suite.artemis.attempts.len(),
    ];
    assert_eq!(counts, [5, 6, 6, 6, 6], "no entry may get lost");
    for case in suite.kafka.attempts {
        let header = case.header_attempts.map(|attempts| attempts.to_string());
        let attempts = kafka::attempts(case.body_attempts, header.as_deref().map(str::as_bytes));
        assert_eq!(attempts, case.expected_attempts, "{}", case.name);
    }
    for case in suite.pulsar.attempts {
        let attempts = pulsar::attempts(case.body_attempts, None, case.redelivery_count);
        assert_eq!(attempts, case.expected_attempts, "{}", case.name);
    }
    for case in suite.sqs.attempts {
        let attempts = sqs::attempts(
            case.body_attempts,
            case.approximate_receive_count.as_deref(),
        );
        assert_eq!(attempts, case.expected_attempts, "{}", case.name);
    }
    for case in suite.asb.attempts {
        let attempts = azure_service_bus::attempts(case.body_attempts, case.delivery_count);
        assert_eq!(attempts, case.expected_attempts, "{}", case.name);
    }
    for case in suite.artemis.attempts {
        let attempts = artemis::attempts(case.body_attempts, case.delivery_count);
        assert_eq!(attempts, case.expected_attempts, "{}", case.name);
    }
}
