//! Artemis, which is AMQP 1.0 read by JMS: an annotation, properties, application properties whose names JMS allows, and
//! the attempts that a consumer goes by.

use std::borrow::Cow;

use outbox_message::Message;

use super::{
    APP_ID, JSON,
    headers::{content_type, with_once},
    of,
};

/// The message annotation that JMS reads as `JMSType`.
pub const JMS_TYPE: &str = "x-opt-jms-type";

/// The properties of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Properties<'a> {
    /// The message annotation [`JMS_TYPE`]: what an envelope is.
    pub jms_type: Option<Cow<'a, str>>,
    /// The property `message-id`, by which consumers drop duplicates. Always there; the contract leaves it open.
    pub message_id: Cow<'a, str>,
    /// The property `correlation-id`: an envelope's trace id.
    pub correlation_id: Option<Cow<'a, str>>,
    /// The property `content-type`.
    pub content_type: Option<&'a str>,
    /// The property `creation-time`, in Unix milliseconds: when an envelope was made.
    pub creation_time: Option<i64>,
    /// Application properties, which are text: names are distinct.
    pub application: Vec<(&'a str, Cow<'a, str>)>,
}

/// The properties of `message`.
pub fn properties(message: &Message) -> Properties<'_> {
    let Some(view) = of(message) else {
        return Properties {
            jms_type: None,
            message_id: Cow::Borrowed(message.id.as_str()),
            correlation_id: None,
            content_type: content_type(message),
            creation_time: None,
            application: with_once(Vec::new(), message.headers.iter()),
        };
    };
    let integer = |integer: i64| Cow::Owned(integer.to_string());
    let contract = [
        ("bq_schema_version", Some(integer(view.schema_version))),
        ("bq_source_lang", view.source_lang),
        ("bq_attempts", view.attempts.map(integer)),
        ("bq_app_id", Some(Cow::Borrowed(APP_ID))),
    ];
    let contract = contract
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    Properties {
        jms_type: Some(view.job),
        message_id: view.message_id,
        correlation_id: view.trace_id,
        content_type: Some(JSON),
        creation_time: view.created_at,
        application: with_once(contract.collect(), message.headers.iter()),
    }
}

/// The attempts that a consumer goes by: those of the payload, but never fewer than `delivery_count`, the property
/// `delivery-count` of AMQP, which is 0 at the first delivery. (`JMSXDeliveryCount` is one more.)
pub fn attempts(payload: i64, delivery_count: i64) -> i64 {
    payload.max(delivery_count)
}
