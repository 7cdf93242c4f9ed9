//! The line of JSON for one message. Its shape is documented at the crate root and does not change.

use std::io::{self, Write};

use base64::{display::Base64Display, prelude::BASE64_STANDARD};
use outbox_message::{ContentType, Delivery, PartitionKey};
use serde::{Serialize, Serializer};

/// How every line begins; by it a line that was cut short is known as ours.
pub(crate) const OPENING: &[u8] = br#"{"position":"#;

#[derive(Serialize)]
struct Line<'a> {
    position: i64,
    id: &'a str,
    topic: &'a str,
    key: Option<&'a str>,
    headers: &'a [(String, String)],
    content_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_base64: Option<Base64<'a>>,
}

/// Writes the line of `delivery`, line end included.
pub(crate) fn write(delivery: &Delivery, out: &mut dyn Write) -> io::Result<()> {
    let message = &delivery.message;
    let text = std::str::from_utf8(&message.payload).ok();
    let line = Line {
        position: delivery.position.0,
        id: message.id.as_str(),
        topic: message.topic.as_str(),
        key: message.key.as_ref().map(PartitionKey::as_str),
        headers: message.headers.pairs(),
        content_type: message.content_type.as_ref().map(ContentType::as_str),
        payload_text: text,
        payload_base64: match text {
            Some(_) => None,
            None => Some(Base64(&message.payload)),
        },
    };
    serde_json::to_writer(&mut *out, &line)?;
    out.write_all(b"\n")
}

/// Bytes as Base64, written piece by piece: the text of a large payload is never in memory as a whole.
struct Base64<'a>(&'a [u8]);

impl Serialize for Base64<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&Base64Display::new(self.0, &BASE64_STANDARD))
    }
}

#[cfg(test)]
mod tests {
    use outbox_message::{Lane, Message, Position};

    use super::*;

    fn line(message: Message) -> String {
        let delivery = Delivery {
            lane: Lane(0),
            position: Position(7),
            attempts: 0,
            tries: 0,
            starts: 0,
            message: message.with_id("m-1").unwrap(),
        };
        let mut out = Vec::new();
        write(&delivery, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn c2_headers_keep_order_and_repetition_and_text_stays_text() {
        let message = Message::new("orders", "{\"total\": 9900}\n")
            .unwrap()
            .with_key("é\n")
            .unwrap()
            .with_header("b", "1")
            .unwrap()
            .with_header("a", "2")
            .unwrap()
            .with_header("b", "3")
            .unwrap()
            .with_content_type("application/json")
            .unwrap();
        assert_eq!(
            line(message),
            concat!(
                r#"{"position":7,"id":"m-1","topic":"orders","key":"é\n","#,
                r#""headers":[["b","1"],["a","2"],["b","3"]],"content_type":"application/json","#,
                r#""payload_text":"{\"total\": 9900}\n"}"#,
                "\n"
            )
        );
    }

    #[test]
    fn c2_bytes_that_are_no_text_are_published_as_base64() {
        assert_eq!(
            line(Message::new("t", vec![0xFF, 0x00, 0x0A]).unwrap()),
            concat!(
                r#"{"position":7,"id":"m-1","topic":"t","key":null,"headers":[],"content_type":null,"#,
                r#""payload_base64":"/wAK"}"#,
                "\n"
            )
        );
        assert!(line(Message::new("t", "").unwrap()).contains(r#""payload_text":"""#));
    }

    #[test]
    fn a_line_begins_with_the_opening() {
        let line = line(Message::new("t", "").unwrap());
        assert!(line.as_bytes().starts_with(OPENING));
    }
}
