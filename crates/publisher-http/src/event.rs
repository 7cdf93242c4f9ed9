//! A message as a CloudEvent 1.0: its attributes, as headers of the binary mode or in the JSON of the structured one. Pure.

use std::{
    borrow::Cow,
    time::{Duration, SystemTime},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use outbox_envelope::projection;
use outbox_message::{ContentType, Message, PartitionKey};
use outbox_publisher::{PublishError, PublishErrorKind, TemplateField};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::{CloudEvents, target};

/// What the binding to HTTP has percent-encoded in a header: besides these, everything beyond ASCII.
const ENCODED: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'%');

/// The content type of the structured mode.
pub(crate) const STRUCTURED: &str = "application/cloudevents+json; charset=utf-8";

/// The last moment that RFC 3339 can write, in Unix milliseconds.
const LAST: u64 = 253_402_300_799_999;

/// The attributes of an event without its data, in the order in which they are written.
type Attributes<'m> = Vec<(&'static str, Cow<'m, str>)>;

/// The attributes of a message but for `datacontenttype`.
///
/// # Errors
///
/// `Malformed` if one of them has a character that no attribute may have.
pub(crate) fn attributes<'m>(
    events: &CloudEvents,
    message: &'m Message,
) -> Result<Attributes<'m>, PublishError> {
    let view = projection::of(message);
    let source = events.source.fill(|field| {
        target::encode(match field {
            TemplateField::Topic => message.topic.as_str(),
            TemplateField::Key => message.key.as_ref().map_or("", PartitionKey::as_str),
            TemplateField::Id => message.id.as_str(),
        })
    });
    let created_at = view.as_ref().and_then(|view| view.created_at);
    let kind = match (&events.kind, view) {
        (Some(kind), _) => kind.render(message).into(),
        (None, Some(view)) => view.job,
        (None, None) => message.topic.as_str().into(),
    };
    let subject = events.subject.as_ref();
    let subject = subject.map(|subject| Cow::from(subject.render(message)));
    let key = message.key.as_ref().map(|key| key.as_str().into());
    let attributes: Attributes<'m> = [
        ("specversion", Some("1.0".into())),
        ("type", Some(kind)),
        ("source", Some(source.into())),
        ("subject", subject.filter(|subject| !subject.is_empty())),
        ("id", Some(message.id.as_str().into())),
        ("time", made(message, created_at).map(Cow::from)),
        ("partitionkey", key),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value?)))
    .collect();
    let kind = message.content_type.as_ref().map(ContentType::as_str);
    let kind = kind.map(|kind| ("datacontenttype", kind));
    let texts = attributes.iter().map(|(name, value)| (*name, &**value));
    let bad = texts.chain(kind).find(|(_, text)| !is_string(text));
    match bad.map(|(name, _)| name) {
        None => Ok(attributes),
        Some(name) => Err(PublishError::new(
            PublishErrorKind::Malformed,
            format!(
                "the attribute {name} of a CloudEvent has a control character or one that is none"
            ),
        )),
    }
}

/// The value of an attribute as a header carries it.
pub(crate) fn encode(value: &str) -> String {
    utf8_percent_encode(value, ENCODED).to_string()
}

/// The body of the structured mode. JSON goes into it as it is, text as a string, and everything else in base64.
pub(crate) fn structured(attributes: &Attributes<'_>, message: &Message) -> Vec<u8> {
    let content_type = message.content_type.as_ref().map(ContentType::as_str);
    let mut body = Vec::with_capacity(message.payload.len() + message.payload.len() / 2 + 512);
    let mut before = b'{';
    let kind = content_type.map(|value| ("datacontenttype", Cow::Borrowed(value)));
    for (name, value) in attributes.iter().chain(kind.iter()) {
        body.push(before);
        body.extend(quoted(name).bytes());
        body.push(b':');
        body.extend(quoted(value).bytes());
        before = b',';
    }
    match data(content_type, &message.payload) {
        Data::Json(json) => {
            body.extend(b",\"data\":");
            body.extend(json.bytes());
        }
        Data::Text(text) => {
            body.extend(b",\"data\":");
            body.extend(quoted(text).bytes());
        }
        Data::Bytes(bytes) => {
            body.extend(b",\"data_base64\":\"");
            body.extend(BASE64_STANDARD.encode(bytes).bytes());
            body.push(b'"');
        }
    }
    body.push(b'}');
    body
}

enum Data<'m> {
    Json(&'m str),
    Text(&'m str),
    Bytes(&'m [u8]),
}

/// How a payload stands in JSON so that a consumer gets back its bytes: all of them but for white space around JSON.
fn data<'m>(content_type: Option<&str>, payload: &'m [u8]) -> Data<'m> {
    let (kind, parameters) = content_type.map_or(("application/json", ""), |content_type| {
        content_type.split_once(';').unwrap_or((content_type, ""))
    });
    let kind = kind.trim().to_ascii_lowercase();
    let Ok(text) = str::from_utf8(payload) else {
        return Data::Bytes(payload);
    };
    if kind.ends_with("/json") || kind.ends_with("+json") {
        return match serde_json::from_str::<&RawValue>(text) {
            Ok(json) => Data::Json(json.get()),
            Err(_) => Data::Bytes(payload),
        };
    }
    let is_text = kind.starts_with("text/") || kind.ends_with("/xml") || kind.ends_with("+xml");
    if is_text && is_utf8(parameters) {
        return Data::Text(text);
    }
    Data::Bytes(payload)
}

/// Whether the parameters of a content type name no other encoding.
fn is_utf8(parameters: &str) -> bool {
    let mut parameters = parameters.split(';').filter_map(|it| it.split_once('='));
    let charset = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"));
    charset.is_none_or(|(_, value)| {
        let value = value.trim().trim_matches('"');
        value.eq_ignore_ascii_case("utf-8") || value.eq_ignore_ascii_case("us-ascii")
    })
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a string is always written")
}

/// When the message was made: what its envelope says, or the time in its id. The same at every try, as that of an event must be.
fn made(message: &Message, created_at: Option<i64>) -> Option<String> {
    let of_id = || {
        let id = Uuid::try_parse(message.id.as_str()).ok()?;
        let is_timed = id.get_version_num() == 7;
        is_timed.then(|| u64::try_from(id.as_u128() >> 80).ok())?
    };
    let of_envelope = created_at.and_then(|at| u64::try_from(at).ok());
    let millis = of_envelope.or_else(of_id).filter(|at| *at <= LAST)?;
    let time = SystemTime::UNIX_EPOCH + Duration::from_millis(millis);
    Some(if millis.is_multiple_of(1_000) {
        humantime::format_rfc3339_seconds(time).to_string()
    } else {
        humantime::format_rfc3339_millis(time).to_string()
    })
}

/// Whether an attribute may have this text: no control characters, and no code points that are no characters.
fn is_string(text: &str) -> bool {
    text.chars().all(|c| {
        let code = u32::from(c);
        let is_none = code & 0xFFFE == 0xFFFE || (0xFDD0..=0xFDEF).contains(&code);
        !c.is_control() && !is_none
    })
}

#[cfg(test)]
mod tests;
