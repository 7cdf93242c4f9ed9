//! One line of input as a message: a BabelQueue envelope, stored as it stands, or the members of a message.
//! Reading lines from a file and saving them is not here.

mod foreign;
mod headers;
mod members;
mod pointer;

use std::time::Duration;

use outbox::{
    envelope::Envelope,
    message::{InvalidMessage, MAX_PAYLOAD_BYTES, Message, Topic},
};
use thiserror::Error;

pub(crate) use pointer::Pointer;

/// A line has fewer bytes: the longest payload with every byte escaped, and room for the rest.
pub(crate) const MAX_BYTES: usize = 7 * MAX_PAYLOAD_BYTES;

/// What a line gives: a message, and when it falls due.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Input {
    pub(crate) message: Message,
    pub(crate) due: Option<Duration>,
}

/// What envelopes take from the command line instead of from themselves.
#[derive(Debug, Default)]
pub(crate) struct EnvelopeOptions {
    pub(crate) topic: Option<Topic>,
    pub(crate) key: Option<Pointer>,
}

/// Why a line is no message.
#[derive(Debug, Error)]
pub(crate) enum BadLine {
    #[error("it has {MAX_BYTES} bytes or more; no message needs so many")]
    TooLong,
    #[error("it is not valid UTF-8")]
    NotText,
    #[error(
        "it is not a JSON object; a message is one with topic, payload and others, as outbox save --help shows"
    )]
    NotAnObject,
    #[error("it looks like a BabelQueue envelope that no strict consumer would accept: {0}")]
    Envelope(String),
    #[error("it is neither a BabelQueue envelope nor a message: {}", in_one_line(.0))]
    Json(serde_json::Error),
    #[error("it has {0}; a message has exactly one of payload, payload_text and payload_base64")]
    Payloads(&'static str),
    #[error("payload_base64 is not standard Base64: {}", .0.to_string().trim_end_matches('.'))]
    Base64(base64::DecodeError),
    #[error("its value at {pointer} is {found}; a key is a string or a number")]
    Key {
        pointer: String,
        found: &'static str,
    },
    #[error(transparent)]
    Limit(#[from] InvalidMessage),
}

/// The parser counts lines within the line, which would mislead whoever looks for line 1 of a file.
fn in_one_line(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.split_once(" at line 1 column ") {
        Some((what, column)) => format!("{what} (column {column})"),
        None => text,
    }
}

/// Reads a line without its line end.
pub(crate) fn read(line: &[u8], options: &EnvelopeOptions) -> Result<Input, BadLine> {
    if line.len() >= MAX_BYTES {
        return Err(BadLine::TooLong);
    }
    let text = str::from_utf8(line).map_err(|_| BadLine::NotText)?;
    if !text.trim_ascii_start().starts_with('{') {
        return Err(BadLine::NotAnObject);
    }
    let input = match Envelope::message_from_raw(line)? {
        Some(message) => of_envelope(message, text, options)?,
        None => members::read(text)
            .map_err(|error| foreign::refusal(text).map_or(error, BadLine::Envelope))?,
    };
    // The store would refuse it too, but with all the others of its transaction, and without a line.
    input.message.check_payload(MAX_PAYLOAD_BYTES)?;
    Ok(input)
}

fn of_envelope(
    mut message: Message,
    text: &str,
    options: &EnvelopeOptions,
) -> Result<Input, BadLine> {
    if let Some(topic) = &options.topic {
        message.topic = topic.clone();
    }
    if let Some(pointer) = &options.key {
        message = message.with_key(pointer.key_in(text)?)?;
    }
    Ok(Input { message, due: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENVELOPE: &str = concat!(
        r#" {"job":"urn:babel:orders:created","trace_id":"t-1","data":{"id":12345678901234567890123, "a/b":{"~k":"x"},"none":null,"list":[{"k":"y"}]},"#,
        r#""meta":{"id":"m-1","queue":"orders","lang":"php","schema_version":1,"created_at":1},"attempts":0} "#
    );

    fn envelope(key: Option<&str>) -> Result<Input, BadLine> {
        let options = EnvelopeOptions {
            topic: None,
            key: key.map(|pointer| pointer.parse().unwrap()),
        };
        read(ENVELOPE.as_bytes(), &options)
    }

    #[test]
    fn c2_an_envelope_is_stored_as_it_stands() {
        let input = envelope(None).unwrap();
        assert_eq!(input.message.payload, ENVELOPE.as_bytes());
        assert_eq!(input.message.topic.as_str(), "orders");
        assert_eq!(input.message.id.as_str(), "m-1");
        assert_eq!(input.message.key, None);
    }

    #[test]
    fn an_envelope_takes_topic_and_key_from_the_options() {
        let options = EnvelopeOptions {
            topic: Some(Topic::new("elsewhere").unwrap()),
            key: Some("/data/id".parse().unwrap()),
        };
        let message = read(ENVELOPE.as_bytes(), &options).unwrap().message;
        assert_eq!(message.topic.as_str(), "elsewhere");
        assert_eq!(message.key.unwrap().as_str(), "12345678901234567890123");
    }

    #[test]
    fn a_pointer_reaches_through_escapes_and_arrays() {
        let key = |pointer| envelope(Some(pointer)).unwrap().message.key;
        assert_eq!(key("/data/a~1b/~0k").unwrap().as_str(), "x");
        assert_eq!(key("/data/list/0/k").unwrap().as_str(), "y");
        assert_eq!(key("/data/none"), None);
    }

    #[test]
    fn an_envelope_without_the_key_asked_for_is_a_bad_line() {
        let refusal = |pointer| envelope(Some(pointer)).unwrap_err().to_string();
        assert_eq!(
            refusal("/data/order"),
            "its value at /data/order is missing; a key is a string or a number"
        );
        assert!(refusal("/data/list").contains("is an array"));
        assert!(refusal("/data").contains("is an object"));
        assert!(refusal("/data/list/1").contains("is missing"));
    }

    #[test]
    fn an_envelope_whose_queue_is_no_topic_is_a_bad_line() {
        let line = ENVELOPE.replace("\"orders\"", "\"a\\u0001b\"");
        let refused = read(line.as_bytes(), &EnvelopeOptions::default()).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "topic contains a control character (U+0001)"
        );
    }

    fn refusal(line: &[u8]) -> String {
        read(line, &EnvelopeOptions::default())
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn what_is_no_object_is_no_message() {
        let array = r#"["t",null,"i",{},"text/plain",1,null,null,0,7]"#;
        for line in [array, " [] ", "1", "null", r#""topic""#, "\u{feff}{}"] {
            assert!(
                refusal(line.as_bytes()).starts_with("it is not a JSON object"),
                "{line}"
            );
        }
    }

    #[test]
    fn an_envelope_that_no_strict_consumer_accepts_is_told_from_a_message() {
        let line = ENVELOPE.replace("\"attempts\":0", "\"attempts\":0.5");
        assert_eq!(
            refusal(line.as_bytes()),
            "it looks like a BabelQueue envelope that no strict consumer would accept: it needs attempts, an integer"
        );
    }

    #[test]
    fn c4_a_payload_over_the_limit_is_a_bad_line() {
        let text = "x".repeat(MAX_PAYLOAD_BYTES + 1);
        let line = format!(r#"{{"topic":"t","payload_text":"{text}"}}"#);
        assert_eq!(
            refusal(line.as_bytes()),
            format!(
                "payload has {} bytes; at most {MAX_PAYLOAD_BYTES} are allowed",
                text.len()
            )
        );
    }

    #[test]
    fn a_line_that_no_message_needs_is_a_bad_line_unread() {
        assert!(refusal(&vec![0; MAX_BYTES]).contains("no message needs so many"));
    }

    #[test]
    fn bytes_that_are_no_text_are_a_bad_line() {
        let refused = read(b"\xFF", &EnvelopeOptions::default()).unwrap_err();
        assert_eq!(refused.to_string(), "it is not valid UTF-8");
    }
}
