//! The sections about what brokers show of an envelope, and about the attempts that a consumer goes by.

use std::borrow::Cow;

use outbox_envelope::{
    Envelope,
    projection::{
        self, artemis as amqp_1_0, azure_service_bus as service_bus, kafka as records,
        pulsar as topics, rabbitmq as amqp_0_9, sqs as queues,
    },
};
use outbox_message::Message;
use serde_json::{Map, Value, json};

use crate::suite::{Suite, Verdict, at, equal, integer, text};

/// The message of the fixture of a projection.
fn message(suite: &Suite, case: &Value) -> Result<Message, String> {
    let raw = suite.file(text(case, "/envelope_file")?)?;
    Envelope::message_from_raw(&raw)
        .map_err(|error| error.to_string())?
        .ok_or_else(|| "the fixture is no envelope".to_owned())
}

fn texts(pairs: Vec<(&str, Cow<'_, str>)>) -> Value {
    let pairs = pairs.into_iter();
    let pairs = pairs.map(|(name, value)| (name.to_owned(), json!(value)));
    Value::Object(pairs.collect())
}

fn typed(pairs: Vec<(&str, projection::Value<'_>)>) -> Result<Value, String> {
    let mut object = Map::new();
    for (name, value) in pairs {
        let value = match value {
            projection::Value::Integer(integer) => json!(integer),
            projection::Value::Text(text) => json!(text),
            other => return Err(format!("unknown value {other:?}")),
        };
        object.insert(name.to_owned(), value);
    }
    Ok(Value::Object(object))
}

fn attempts(case: &Value, attempts: impl FnOnce(i64) -> Result<i64, String>) -> Verdict {
    let attempts = attempts(integer(case, "/body_attempts")?)?;
    equal("attempts", attempts, integer(case, "/expected_attempts")?)
}

pub(crate) fn kafka(suite: &Suite, case: &Value) -> Verdict {
    let message = message(suite, case)?;
    let headers = texts(records::record(&message).headers);
    equal("headers", &headers, at(case, "/headers")?)
}

pub(crate) fn kafka_attempts(_: &Suite, case: &Value) -> Verdict {
    let header = match at(case, "/header_attempts")? {
        Value::Null => None,
        header => Some(header.to_string()),
    };
    attempts(case, |body| {
        Ok(records::attempts(
            body,
            header.as_deref().map(str::as_bytes),
        ))
    })
}

pub(crate) fn kafka_retry_topic(_: &Suite, case: &Value) -> Verdict {
    let tier = u32::try_from(integer(case, "/n")?).map_err(|error| error.to_string())?;
    let topic = records::retry_topic(text(case, "/work_topic")?, tier);
    equal("topic", topic.as_str(), text(case, "/expect_topic")?)
}

pub(crate) fn pulsar(suite: &Suite, case: &Value) -> Verdict {
    let message = message(suite, case)?;
    let properties = texts(topics::properties(&message));
    equal("properties", &properties, at(case, "/properties")?)
}

pub(crate) fn pulsar_attempts(_: &Suite, case: &Value) -> Verdict {
    let count = integer(case, "/redelivery_count")?;
    attempts(case, |body| Ok(topics::attempts(body, None, count)))
}

pub(crate) fn sqs(suite: &Suite, case: &Value) -> Verdict {
    let message = message(suite, case)?;
    let attributes = queues::attributes(&message).into_iter();
    let attributes = attributes.map(|(name, attribute)| {
        let attribute =
            json!({"DataType": attribute.data_type, "StringValue": attribute.string_value});
        (name.to_owned(), attribute)
    });
    let attributes = Value::Object(attributes.collect());
    equal("attributes", &attributes, at(case, "/message_attributes")?)
}

pub(crate) fn sqs_attempts(_: &Suite, case: &Value) -> Verdict {
    let count = at(case, "/approximate_receive_count")?.as_str();
    attempts(case, |body| Ok(queues::attempts(body, count)))
}

pub(crate) fn azure_service_bus(suite: &Suite, case: &Value) -> Verdict {
    let message = message(suite, case)?;
    let properties = service_bus::properties(&message);
    let native = json!({
        "subject": properties.subject,
        "correlation_id": properties.correlation_id,
        "message_id": properties.message_id,
        "content_type": properties.content_type,
    });
    equal("message", &native, at(case, "/message")?)?;
    let application = typed(properties.application)?;
    equal(
        "properties",
        &application,
        at(case, "/application_properties")?,
    )
}

pub(crate) fn azure_service_bus_attempts(_: &Suite, case: &Value) -> Verdict {
    let count = integer(case, "/delivery_count")?;
    attempts(case, |body| Ok(service_bus::attempts(body, count)))
}

pub(crate) fn artemis(suite: &Suite, case: &Value) -> Verdict {
    let message = message(suite, case)?;
    let properties = amqp_1_0::properties(&message);
    equal(
        "annotation",
        amqp_1_0::JMS_TYPE,
        text(case, "/jms_type_annotation")?,
    )?;
    equal(
        "type",
        properties.jms_type.as_deref(),
        Some(text(case, "/jms_type")?),
    )?;
    equal(
        "correlation_id",
        properties.correlation_id.as_deref(),
        Some(text(case, "/correlation_id")?),
    )?;
    let application = texts(properties.application);
    equal("properties", &application, at(case, "/properties")?)
}

pub(crate) fn artemis_attempts(_: &Suite, case: &Value) -> Verdict {
    let count = integer(case, "/delivery_count")?;
    attempts(case, |body| Ok(amqp_1_0::attempts(body, count)))
}

pub(crate) fn rabbitmq(suite: &Suite, case: &Value) -> Verdict {
    let message = message(suite, case)?;
    let properties = amqp_0_9::properties(&message);
    let native = json!({
        "type": properties.kind,
        "correlation_id": properties.correlation_id,
        "message_id": properties.message_id,
        "app_id": properties.app_id,
        "content_type": properties.content_type,
    });
    equal("properties", &native, at(case, "/properties")?)?;
    equal(
        "headers",
        &typed(properties.headers)?,
        at(case, "/headers")?,
    )
}
