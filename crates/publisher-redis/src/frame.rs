//! The frame that holds headers beside a payload in an element of a list.
//!
//! It is BabelQueue's, byte for byte, but for two things that C2 asks for: a header without a value is kept, and a name that
//! comes twice is refused, where their packages leave one out.

use std::{borrow::Cow, collections::HashSet};

use outbox_envelope::projection;
use outbox_message::Message;
use thiserror::Error;

/// The name that BabelQueue's packages give a message's id where they have headers only.
const MESSAGE_ID: &str = "bq-message-id";

/// The name of the header that carries a content type.
const CONTENT_TYPE: &str = "content-type";

/// Why a message has no frame.
#[derive(Debug, PartialEq, Eq, Error)]
pub(crate) enum Unframeable {
    #[error(
        "the payload is not UTF-8, so a list cannot hold it together with headers; \
         publish it without headers, to a stream, or with frame=never"
    )]
    NotUtf8,
    #[error(
        "the header {0:?} comes twice, which a frame cannot hold; publish it to a stream, or with frame=never"
    )]
    Repeated(String),
}

/// The payload, or a frame if there are headers.
pub(crate) fn if_headers(message: &Message) -> Result<Cow<'_, [u8]>, Unframeable> {
    if message.headers.is_empty() {
        // A payload that a consumer would take for a frame is framed.
        return projection::redis::frame(message).map_err(|_| Unframeable::NotUtf8);
    }
    let headers = match projection::of(message) {
        Some(_) => Vec::new(),
        None => own(message),
    };
    frame(message, headers)
}

/// A frame that has the id in any case.
pub(crate) fn always(message: &Message) -> Result<Cow<'_, [u8]>, Unframeable> {
    frame(message, own(message))
}

/// What a frame says of a message that does not say it of itself.
fn own(message: &Message) -> Vec<(&str, &str)> {
    let id = (MESSAGE_ID, message.id.as_str());
    let content_type = message.content_type.as_ref();
    let content_type = content_type.map(|kind| (CONTENT_TYPE, kind.as_str()));
    [id].into_iter().chain(content_type).collect()
}

/// A frame with these headers, and behind them those of the message that do not have the same names.
fn frame<'a>(
    message: &'a Message,
    mut headers: Vec<(&'a str, &'a str)>,
) -> Result<Cow<'a, [u8]>, Unframeable> {
    let body = str::from_utf8(&message.payload).map_err(|_| Unframeable::NotUtf8)?;
    let taken = headers.len();
    let mut names = HashSet::new();
    for (name, value) in message.headers.iter() {
        if !names.insert(name) {
            return Err(Unframeable::Repeated(name.to_owned()));
        }
        if !headers[..taken].iter().any(|(other, _)| *other == name) {
            headers.push((name, value));
        }
    }
    let mut element = String::with_capacity(body.len() + body.len() / 8 + 64);
    element.push_str(r#"{"__bq_frame":1,"headers":{"#);
    for (place, (name, value)) in headers.into_iter().enumerate() {
        element.push_str(if place > 0 { "," } else { "" });
        push_string(name, &mut element);
        element.push(':');
        push_string(value, &mut element);
    }
    element.push_str(r#"},"body":"#);
    push_string(body, &mut element);
    element.push('}');
    Ok(Cow::Owned(element.into_bytes()))
}

/// Writes a string of JSON in which only what must be is escaped, as the reference does.
fn push_string(text: &str, out: &mut String) {
    out.push_str(&serde_json::Value::from(text).to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message() -> Message {
        let message = Message::new("orders", "{\"n\": \"é\u{2028}\\n\"}\n\u{1f}").unwrap();
        message.with_id("m-1").unwrap()
    }

    fn envelope() -> Message {
        let payload = r#"{"job":"urn:a","trace_id":"t","data":{},"meta":{"id":"m-1","schema_version":1},"attempts":0}"#;
        Message::new("orders", payload)
            .unwrap()
            .with_id("m-1")
            .unwrap()
    }

    fn text(element: Result<Cow<'_, [u8]>, Unframeable>) -> String {
        String::from_utf8(element.unwrap().into_owned()).unwrap()
    }

    #[test]
    fn a_frame_has_the_bytes_of_the_projection() {
        for message in [message(), envelope()] {
            for headers in [
                vec![],
                vec![("traceparent", "00-\"1\"\u{7f}\n")],
                vec![("b", "1"), ("a", "/é🐎")],
                vec![("content-type", "own"), ("bq-message-id", "own")],
            ] {
                let mut message = message
                    .clone()
                    .with_content_type("application/json")
                    .unwrap();
                for (name, value) in headers {
                    message = message.with_header(name, value).unwrap();
                }
                let expected = projection::redis::frame(&message).unwrap();
                assert_eq!(if_headers(&message).unwrap(), expected);
            }
        }
        let looks_framed = Message::new("t", r#"{"__bq_frame":1,"body":"x"}"#).unwrap();
        let expected = projection::redis::frame(&looks_framed).unwrap();
        assert_eq!(if_headers(&looks_framed).unwrap(), expected);
        assert_ne!(expected, &*looks_framed.payload);
    }

    #[test]
    fn c2_a_header_without_a_value_is_kept() {
        let blank = envelope().with_header("a", "").unwrap();
        let framed = text(if_headers(&blank));
        assert!(
            framed.starts_with(r#"{"__bq_frame":1,"headers":{"a":""},"body":"{\"job\""#),
            "{framed}"
        );
    }

    #[test]
    fn c2_a_name_that_comes_twice_is_refused() {
        let twice = message()
            .with_header("a", "1")
            .unwrap()
            .with_header("a", "1")
            .unwrap();
        assert_eq!(if_headers(&twice), Err(Unframeable::Repeated("a".into())));
        assert_eq!(always(&twice), Err(Unframeable::Repeated("a".into())));
    }

    #[test]
    fn c3_what_is_always_framed_has_the_id() {
        let framed = text(always(
            &envelope().with_content_type("application/json").unwrap(),
        ));
        let begin = r#"{"__bq_frame":1,"headers":{"bq-message-id":"m-1","content-type":"application/json"},"body":"{\"job\""#;
        assert!(framed.starts_with(begin), "{framed}");
    }

    #[test]
    fn f5_bytes_that_are_no_text_have_no_frame() {
        let binary = Message::new("t", vec![0xFF]).unwrap();
        assert_eq!(if_headers(&binary).unwrap(), &[0xFF][..]);
        assert_eq!(always(&binary), Err(Unframeable::NotUtf8));
        let binary = binary.with_header("a", "1").unwrap();
        assert_eq!(if_headers(&binary), Err(Unframeable::NotUtf8));
    }
}
