//! `RabbitMQ`, which is AMQP 0-9-1: basic properties and a table of headers. Its consumers count attempts in the payload.

use std::borrow::Cow;

use outbox_message::Message;

use super::{
    APP_ID, JSON, Value,
    headers::{content_type, with_once},
    of,
};

/// The delivery mode of every message: persistent.
pub const DELIVERY_MODE: u8 = 2;

/// The most bytes that a property may have. A header's name has this limit too, which messages keep anyway.
pub const MAX_PROPERTY_BYTES: usize = 255;

/// The basic properties of a message. Each has at most [`MAX_PROPERTY_BYTES`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Properties<'a> {
    /// `application/json` for an envelope, else the message's own.
    pub content_type: Option<&'a str>,
    /// `utf-8` for an envelope.
    pub content_encoding: Option<&'static str>,
    /// By which consumers drop duplicates. Always there.
    pub message_id: Cow<'a, str>,
    /// An envelope's trace id.
    pub correlation_id: Option<Cow<'a, str>>,
    /// The property `type`: what an envelope is.
    pub kind: Option<Cow<'a, str>>,
    /// `babelqueue` for an envelope.
    pub app_id: Option<&'static str>,
    /// The table of headers: names are distinct.
    pub headers: Vec<(&'a str, Value<'a>)>,
}

/// The properties of `message`.
///
/// A trace id or a URN that is longer than a property may be is left out; the payload has it.
pub fn properties(message: &Message) -> Properties<'_> {
    let Some(view) = of(message) else {
        return Properties {
            content_type: content_type(message),
            content_encoding: None,
            message_id: Cow::Borrowed(message.id.as_str()),
            correlation_id: None,
            kind: None,
            app_id: None,
            headers: with_once(Vec::new(), message.headers.iter()),
        };
    };
    let headers = [
        ("x-schema-version", Some(view.schema_version.into())),
        ("x-source-lang", view.source_lang.map(Value::from)),
        ("x-attempts", view.attempts.map(Value::from)),
    ];
    let headers = headers
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    let fits = |text: &Cow<'_, str>| text.len() <= MAX_PROPERTY_BYTES;
    Properties {
        content_type: Some(JSON),
        content_encoding: Some("utf-8"),
        message_id: view.message_id,
        correlation_id: view.trace_id.filter(fits),
        kind: Some(view.job).filter(fits),
        app_id: Some(APP_ID),
        headers: with_once(headers.collect(), message.headers.iter()),
    }
}
