//! Redis lists: the element that is pushed. A list has no headers, so an element is the payload itself, or a frame around
//! it if there are headers. Laravel's lists know no frame: their element is the payload, and headers are not carried.

pub mod laravel;

use std::borrow::Cow;

use outbox_message::Message;
use thiserror::Error;

use super::{
    headers::{Headers, not_empty, of_other, with_once},
    members::members,
    of,
};
use crate::json::{Number, Value, read, write_string};

/// The member that tells a frame from a payload.
const FRAME: &str = "__bq_frame";

/// Why a message has no frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Unframeable {
    /// A frame is JSON, so it holds text alone.
    #[error(
        "the payload is not UTF-8, so it cannot be framed together with headers; \
         send it without headers, or as text such as base64"
    )]
    NotUtf8,
}

/// The element of a list for `message`: its payload as it is, or a frame that holds its headers and its payload:
/// `{"__bq_frame":1,"headers":{"traceparent":".."},"body":".."}`.
///
/// There is a frame if the message has a header that is not empty. Of a repeated name the first header that is not empty
/// is carried. In a frame, a message that is no [envelope](of) has its id as `bq-message-id`, and its content type as
/// `content-type`; without headers it has no frame, so that any consumer of a list can read it.
///
/// A payload that is such a frame itself is framed in any case, so that a consumer gets it, and not what it holds.
///
/// # Errors
///
/// [`Unframeable`] if the message has a header and its payload is not UTF-8.
pub fn frame(message: &Message) -> Result<Cow<'_, [u8]>, Unframeable> {
    let payload = str::from_utf8(&message.payload).map_err(|_| Unframeable::NotUtf8);
    let has_headers = not_empty(message).next().is_some();
    if !has_headers && !payload.is_ok_and(is_frame) {
        return Ok(Cow::Borrowed(&message.payload));
    }
    let contract = match of(message) {
        None if has_headers => of_other(message),
        _ => Headers::new(),
    };
    let payload = payload?;
    let mut element = String::with_capacity(payload.len() + payload.len() / 8 + 64);
    element.push_str("{\"__bq_frame\":1,\"headers\":{");
    for (place, (name, value)) in with_once(contract, not_empty(message)).iter().enumerate() {
        element.push_str(if place > 0 { "," } else { "" });
        write_string(name, &mut element);
        element.push(':');
        write_string(value, &mut element);
    }
    element.push_str("},\"body\":");
    write_string(payload, &mut element);
    element.push('}');
    Ok(Cow::Owned(element.into_bytes()))
}

/// Whether a consumer takes `payload` for a frame.
fn is_frame(payload: &str) -> bool {
    // Nearly every payload is passed over by this search, which is how consumers begin too.
    payload.contains(FRAME)
        && members(payload, [FRAME, "body"])
            .is_some_and(|[frame, body]| frame.is_some() && body.is_some())
}

/// The payload that a consumer pushes back to be tried once more: attempts are one more, and the rest has the same value.
///
/// `None` if `payload` is not one JSON object in UTF-8 with an integer of 64 bits as attempts, which then stays as it is.
pub fn released(payload: &[u8]) -> Option<String> {
    let Ok(Value::Object(mut frame)) = read(str::from_utf8(payload).ok()?, 0) else {
        return None;
    };
    let Some(Value::Number(Number::Integer(attempts))) = frame.get("attempts") else {
        return None;
    };
    let attempts = attempts.checked_add(1)?;
    frame.set("attempts", attempts);
    let mut text = String::new();
    frame.write(&mut text);
    Some(text)
}
