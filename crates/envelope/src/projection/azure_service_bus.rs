//! Azure Service Bus: the properties of a message, and the attempts that a consumer goes by.

use std::borrow::Cow;

use outbox_message::Message;

use super::{
    JSON, Value,
    headers::{content_type, with_once},
    of,
};

/// The properties of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Properties<'a> {
    /// `application/json` for an envelope, else the message's own.
    pub content_type: Option<&'a str>,
    /// What an envelope is.
    pub subject: Option<Cow<'a, str>>,
    /// An envelope's trace id.
    pub correlation_id: Option<Cow<'a, str>>,
    /// By which consumers drop duplicates. Always there. Service Bus itself takes at most 128 characters.
    pub message_id: Cow<'a, str>,
    /// Application properties: names are distinct.
    pub application: Vec<(&'a str, Value<'a>)>,
}

/// The properties of `message`.
pub fn properties(message: &Message) -> Properties<'_> {
    let Some(view) = of(message) else {
        return Properties {
            content_type: content_type(message),
            subject: None,
            correlation_id: None,
            message_id: Cow::Borrowed(message.id.as_str()),
            application: with_once(Vec::new(), message.headers.iter()),
        };
    };
    let contract = [
        ("bq-schema-version", Some(view.schema_version.into())),
        ("bq-source-lang", view.source_lang.map(Value::from)),
        ("bq-created-at", view.created_at.map(Value::from)),
    ];
    let contract = contract
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    Properties {
        content_type: Some(JSON),
        subject: Some(view.job),
        correlation_id: view.trace_id,
        message_id: view.message_id,
        application: with_once(contract.collect(), message.headers.iter()),
    }
}

/// The attempts that a consumer goes by: those of the payload, but never fewer than the redeliveries, which are one less
/// than `delivery_count`.
pub fn attempts(payload: i64, delivery_count: i64) -> i64 {
    payload.max(delivery_count.saturating_sub(1))
}
