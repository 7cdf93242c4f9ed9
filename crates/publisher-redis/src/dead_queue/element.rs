//! What an element of a list says: a frame around a payload, or the payload itself.

use std::fmt;

use outbox_message::{ContentType, Headers, MessageId};
use outbox_publisher::Letter;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};

/// What tells a frame from a payload.
const FRAME: &[u8] = b"__bq_frame";

/// A frame, as far as it concerns a dead letter.
#[derive(Deserialize)]
struct Frame {
    #[serde(rename = "__bq_frame")]
    _version: serde::de::IgnoredAny,
    #[serde(default)]
    headers: Pairs,
    body: String,
}

/// An object of texts, in its order.
#[derive(Default)]
struct Pairs(Vec<(String, String)>);

/// Reads an element. One that is no frame to a consumer is the payload.
pub(super) fn letter(element: &[u8]) -> Letter {
    // Nearly every payload is passed over by this search.
    let may_be_framed = element.windows(FRAME.len()).any(|part| part == FRAME);
    let frame = may_be_framed.then(|| serde_json::from_slice(element));
    match frame {
        Some(Ok(frame)) => unframed(frame),
        _ => Letter {
            payload: element.to_vec().into(),
            ..Letter::default()
        },
    }
}

fn unframed(frame: Frame) -> Letter {
    let Frame { headers, body, .. } = frame;
    let mut letter = Letter {
        payload: body.into(),
        ..Letter::default()
    };
    // They stay headers as well: of an envelope they may be its own, and where they are not, the frame has them once.
    for (name, value) in &headers.0 {
        match &**name {
            "bq-message-id" => letter.id = MessageId::new(value).ok(),
            "content-type" => letter.content_type = ContentType::new(value).ok(),
            _ => {}
        }
    }
    match Headers::from_pairs(headers.0) {
        Ok(headers) => letter.headers = headers,
        Err(error) => letter.unkept = Some(format!("its headers: {error}")),
    }
    letter
}

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = Pairs;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of texts")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }

        deserializer.deserialize_map(Members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_taken_apart_and_headers_keep_their_order() {
        let element = r#"{"__bq_frame":1,"headers":{"z":"1","bq-message-id":"m-1","a":"é"},"body":"{\"n\": 1}"}"#;
        let letter = letter(element.as_bytes());
        assert_eq!(letter.payload, "{\"n\": 1}");
        assert_eq!(letter.id, Some(MessageId::new("m-1").unwrap()));
        let names: Vec<&str> = letter.headers.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["z", "bq-message-id", "a"]);
        assert_eq!(letter.unkept, None);
    }

    #[test]
    fn what_is_no_frame_is_the_payload() {
        for element in [
            r#"{"job":"urn:a"}"#,
            r#"{"__bq_frame":1}"#,
            r#"{"__bq_frame":1,"headers":{"a":7},"body":"x"}"#,
            "__bq_frame",
            "",
        ] {
            let letter = letter(element.as_bytes());
            assert_eq!(letter.payload, element);
            assert!(letter.headers.is_empty());
        }
        assert_eq!(letter(&[0xFF]).payload, &[0xFF][..]);
    }

    #[test]
    fn headers_that_no_message_has_are_named() {
        let letter = letter(br#"{"__bq_frame":1,"headers":{"":"1"},"body":"x"}"#);
        assert!(letter.unkept.unwrap().contains("headers"));
    }
}
