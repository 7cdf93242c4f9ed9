//! A line that names the members of a message.

use std::time::Duration;

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use outbox::message::{Headers, Message};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{BadLine, Input, headers::Pairs, pointer::key_text};

/// The members. `position` is what a published line has beside them; the store gives a new one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Members<'a> {
    topic: String,
    #[serde(borrow, default)]
    key: Option<&'a RawValue>,
    id: Option<String>,
    #[serde(default)]
    headers: Pairs,
    content_type: Option<String>,
    /// Told apart from a missing one: `null` is a payload too.
    #[serde(borrow, default, deserialize_with = "present")]
    payload: Option<&'a RawValue>,
    payload_text: Option<String>,
    payload_base64: Option<String>,
    due_in_ms: Option<u64>,
    #[serde(rename = "position")]
    _position: Option<i64>,
}

fn present<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

pub(super) fn read(text: &str) -> Result<Input, BadLine> {
    let members: Members<'_> = serde_json::from_str(text).map_err(BadLine::Json)?;
    let payload = match (
        members.payload,
        members.payload_text,
        members.payload_base64,
    ) {
        (Some(json), None, None) => Bytes::copy_from_slice(json.get().as_bytes()),
        (None, Some(text), None) => Bytes::from(text),
        (None, None, Some(base64)) => {
            Bytes::from(BASE64_STANDARD.decode(base64).map_err(BadLine::Base64)?)
        }
        (None, None, None) => return Err(BadLine::Payloads("no payload")),
        _ => return Err(BadLine::Payloads("more than one payload")),
    };
    let key = match members.key {
        None => None,
        Some(value) => key_text(value).map_err(|found| BadLine::Key {
            pointer: "/key".to_owned(),
            found,
        })?,
    };
    let mut message = Message::new(members.topic, payload)?.with_key(key)?;
    message.headers = Headers::from_pairs(members.headers.0)?;
    if let Some(id) = members.id {
        message = message.with_id(id)?;
    }
    if let Some(kind) = members.content_type {
        message = message.with_content_type(kind)?;
    }
    Ok(Input {
        message,
        due: members.due_in_ms.map(Duration::from_millis),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(text: &str) -> Vec<u8> {
        read(text).unwrap().message.payload.to_vec()
    }

    fn refusal(text: &str) -> String {
        read(text).unwrap_err().to_string()
    }

    #[test]
    fn c2_a_json_payload_is_the_text_it_has_in_the_line() {
        assert_eq!(
            payload(r#"{"topic":"t","payload": {"b": 1.50, "a":[1e2 ]} }"#),
            br#"{"b": 1.50, "a":[1e2 ]}"#
        );
        assert_eq!(payload(r#"{"topic":"t","payload":null}"#), b"null");
        assert_eq!(
            payload(r#"{"topic":"t","payload":"é\n"}"#),
            r#""é\n""#.as_bytes()
        );
    }

    #[test]
    fn text_and_base64_are_decoded() {
        assert_eq!(payload(r#"{"topic":"t","payload_text":"a\nb"}"#), b"a\nb");
        assert_eq!(payload(r#"{"topic":"t","payload_text":""}"#), b"");
        assert_eq!(
            payload(r#"{"topic":"t","payload_base64":"/wAK"}"#),
            [0xFF, 0, 0x0A]
        );
        for base64 in ["/wA", "/wA=\\n", "a b="] {
            let line = format!(r#"{{"topic":"t","payload_base64":"{base64}"}}"#);
            let refused = refusal(&line);
            assert!(
                refused.contains("Base64") && !refused.ends_with('.'),
                "{refused}"
            );
        }
    }

    #[test]
    fn every_member_reaches_the_message() {
        let input = read(concat!(
            r#"{"topic":"t","key":7,"id":"i","headers":{"b":"1","a":"2","b":"3"},"#,
            r#""content_type":"text/plain","payload_text":"x","due_in_ms":1500}"#
        ))
        .unwrap();
        assert_eq!(input.due, Some(Duration::from_millis(1500)));
        let message = input.message;
        assert_eq!(message.key.as_ref().unwrap().as_str(), "7");
        assert_eq!(message.id.as_str(), "i");
        assert_eq!(
            message.content_type.as_ref().unwrap().as_str(),
            "text/plain"
        );
        assert_eq!(
            message.headers.iter().collect::<Vec<_>>(),
            [("b", "1"), ("a", "2"), ("b", "3")]
        );
    }

    #[test]
    fn a_published_line_can_be_saved_again() {
        let line = r#"{"position":7,"id":"m","topic":"t","key":null,"headers":[["a","1"],["a","2"]],"content_type":null,"payload_text":"x"}"#;
        let message = read(line).unwrap().message;
        assert_eq!(message.headers.iter().count(), 2);
        assert_eq!(message.key, None);
    }

    #[test]
    fn a_line_that_is_no_message_is_refused_with_its_reason() {
        assert!(refusal("{").contains("neither a BabelQueue envelope nor a message: EOF"));
        assert!(refusal(r#"{"topic":"t"}"#).contains("it has no payload"));
        assert!(
            refusal(r#"{"topic":"t","payload":1,"payload_text":""}"#)
                .contains("more than one payload")
        );
        assert!(refusal(r#"{"topic":"t","paylod":1}"#).contains("unknown field `paylod`"));
        assert!(refusal(r#"{"payload":1}"#).contains("missing field `topic`"));
        assert!(refusal(r#"{"topic":"","payload":1}"#).contains("topic is empty"));
        assert!(refusal(r#"{"topic":"t","key":{},"payload":1}"#).contains("/key is an object"));
        assert!(refusal(r#"{"topic":"t","payload":1,"due_in_ms":-1}"#).contains("neither"));
        assert!(refusal(r#"{"topic":"t","payload":1} x"#).contains("trailing"));
    }
}
