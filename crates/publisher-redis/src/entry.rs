//! A message as the parts of a command: one element of a list, or the fields of an entry of a stream.

use std::borrow::Cow;

use outbox_message::Message;
use outbox_publisher::{PublishError, PublishErrorKind};
use serde_json::json;

use crate::{Frame, Jobs, Layout, frame, job, limits::Limits};

/// What the length of a part costs beside its bytes.
const PART_OVERHEAD: usize = 64;

/// The parts of one message, in order.
#[derive(Debug)]
pub(crate) struct Entry<'a>(pub(crate) Vec<Cow<'a, [u8]>>);

impl<'a> Entry<'a> {
    /// Writes `message` as the layout has it.
    pub(crate) fn new(
        message: &'a Message,
        layout: &Layout,
        limits: Limits,
    ) -> Result<Self, PublishError> {
        let entry = match layout {
            Layout::List { frame, .. } => Self(vec![element(message, *frame)?]),
            Layout::Laravel { jobs, .. } => {
                if *jobs == Jobs::Checked {
                    job::check(&message.payload).map_err(malformed)?;
                }
                Self(vec![Cow::Borrowed(&*message.payload)])
            }
            Layout::Stream { .. } => Self(fields(message)),
        };
        entry.check(limits)?;
        Ok(entry)
    }

    /// About how many bytes it adds to a command.
    pub(crate) fn bytes(&self) -> usize {
        self.0.iter().map(|part| part.len() + PART_OVERHEAD).sum()
    }

    /// The most bytes that one of its parts has.
    pub(crate) fn longest(&self) -> usize {
        self.0.iter().map(|part| part.len()).max().unwrap_or(0)
    }

    fn check(&self, limits: Limits) -> Result<(), PublishError> {
        let (len, max, what) = if self.longest() > limits.part {
            (
                self.longest(),
                limits.part,
                "proto-max-bulk-len or max_bytes",
            )
        } else if self.bytes() > limits.command {
            (self.bytes(), limits.command, "client-query-buffer-limit")
        } else {
            return Ok(());
        };
        Err(PublishError::new(
            PublishErrorKind::TooLarge,
            format!("the message has {len} bytes for Redis, and {max} are allowed ({what})"),
        ))
    }
}

fn malformed(error: impl std::error::Error + Send + Sync + 'static) -> PublishError {
    PublishError::new(PublishErrorKind::Malformed, error.to_string())
}

/// The element of a list.
fn element(message: &Message, framed: Frame) -> Result<Cow<'_, [u8]>, PublishError> {
    let element = match framed {
        Frame::Never => return Ok(Cow::Borrowed(&message.payload)),
        Frame::Headers => frame::if_headers(message),
        Frame::Always => frame::always(message),
    };
    element.map_err(malformed)
}

/// The fields of an entry: names and values in turn. What a message has not is left out.
fn fields(message: &Message) -> Vec<Cow<'_, [u8]>> {
    let Message {
        id,
        topic,
        key,
        headers,
        content_type,
        payload,
    } = message;
    let text = |text: &'static str| Cow::Borrowed(text.as_bytes());
    let mut fields = vec![
        text("id"),
        id.as_str().as_bytes().into(),
        text("topic"),
        topic.as_str().as_bytes().into(),
    ];
    if let Some(key) = key {
        fields.extend([text("key"), key.as_str().as_bytes().into()]);
    }
    if let Some(content_type) = content_type {
        let value = content_type.as_str().as_bytes().into();
        fields.extend([text("content_type"), value]);
    }
    if !headers.is_empty() {
        let pairs = json!(headers.pairs()).to_string().into_bytes();
        fields.extend([text("headers"), pairs.into()]);
    }
    fields.extend([text("payload"), Cow::Borrowed(&**payload)]);
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(message: &Message, layout: &Layout) -> Vec<String> {
        let entry = Entry::new(message, layout, Limits::default()).unwrap();
        let text = |part: &Cow<'_, [u8]>| String::from_utf8(part.to_vec()).unwrap();
        entry.0.iter().map(text).collect()
    }

    fn list(frame: Frame) -> Layout {
        match Layout::list() {
            Layout::List { queue, .. } => Layout::List { queue, frame },
            other => other,
        }
    }

    fn message() -> Message {
        let message = Message::new("orders", "{\"n\": 1}").unwrap();
        message.with_id("m-1").unwrap()
    }

    #[test]
    fn c3_an_entry_of_a_stream_has_all_parts_and_headers_with_order_and_repetition() {
        let message = message()
            .with_key("7")
            .unwrap()
            .with_content_type("text/plain")
            .unwrap()
            .with_header("b", "\"1\"")
            .unwrap()
            .with_header("a", "")
            .unwrap()
            .with_header("b", "é\n")
            .unwrap();
        assert_eq!(
            parts(&message, &Layout::stream()),
            [
                "id",
                "m-1",
                "topic",
                "orders",
                "key",
                "7",
                "content_type",
                "text/plain",
                "headers",
                r#"[["b","\"1\""],["a",""],["b","é\n"]]"#,
                "payload",
                "{\"n\": 1}"
            ]
        );
    }

    #[test]
    fn what_a_message_has_not_is_no_field() {
        let fields = ["id", "m-1", "topic", "orders", "payload", "{\"n\": 1}"];
        assert_eq!(parts(&message(), &Layout::stream()), fields);
    }

    #[test]
    fn an_element_of_a_list_is_the_payload_unless_there_are_headers() {
        let with_header = message().with_header("a", "1").unwrap();
        let frame =
            r#"{"__bq_frame":1,"headers":{"bq-message-id":"m-1","a":"1"},"body":"{\"n\": 1}"}"#;
        assert_eq!(parts(&message(), &list(Frame::Headers)), ["{\"n\": 1}"]);
        assert_eq!(parts(&with_header, &list(Frame::Headers)), [frame]);
        assert_eq!(parts(&with_header, &list(Frame::Never)), ["{\"n\": 1}"]);
        let always = frame.replace(r#","a":"1""#, "");
        assert_eq!(parts(&message(), &list(Frame::Always)), [always]);
    }

    #[test]
    fn f5_what_is_longer_than_the_server_takes_is_too_large() {
        let message = Message::new("orders", vec![b'x'; 1000]).unwrap();
        let kind = |part, command| {
            let limits = Limits { part, command };
            let made = Entry::new(&message, &Layout::list(), limits);
            made.err().map(|error| error.kind)
        };
        assert_eq!(kind(1000, 2000), None);
        assert_eq!(kind(999, 2000), Some(PublishErrorKind::TooLarge));
        assert_eq!(kind(1000, 1000), Some(PublishErrorKind::TooLarge));
    }
}
