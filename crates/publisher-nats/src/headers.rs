//! The headers of a message as NATS carries them.

use async_nats::{
    HeaderMap, HeaderValue,
    header::{HeaderName, NATS_MESSAGE_ID},
};
use outbox_envelope::projection;
use outbox_message::Message;
use outbox_publisher::{PublishError, PublishErrorKind};

/// The headers of `message`: `Nats-Msg-Id`, what BabelQueue shows of an envelope, and the message's own.
///
/// # Errors
///
/// `Malformed` if the id or a header of the message's own cannot be carried as it is.
pub(crate) fn of(message: &Message) -> Result<HeaderMap, PublishError> {
    let mut headers = HeaderMap::new();
    for (name, text) in projection::nats::headers(message) {
        match (name.parse::<HeaderName>(), value(&text)) {
            (Ok(name), Some(value)) => headers.append(name, value),
            // What is shown of the payload beside it can be left out; what the message brings cannot.
            _ if message.headers.get(name).is_none() => {}
            (Err(_), _) => {
                return Err(malformed(&format!(
                    "the name of the header {name:?} has characters other than visible ASCII without a colon"
                )));
            }
            (_, None) => {
                return Err(malformed(&format!(
                    "the value of the header {name:?} has a line break, or white space at an end"
                )));
            }
        }
    }
    let id = value(message.id.as_str());
    let id =
        id.ok_or_else(|| malformed("the message id has a line break, or white space at an end"))?;
    headers.insert(NATS_MESSAGE_ID, id);
    Ok(headers)
}

/// A value that arrives as it is: lines end a value, and clients strip white space from its ends.
fn value(text: &str) -> Option<HeaderValue> {
    let stays = text.trim() == text;
    stays.then(|| text.parse().ok()).flatten()
}

fn malformed(problem: &str) -> PublishError {
    PublishError::new(
        PublishErrorKind::Malformed,
        format!("NATS cannot carry it: {problem}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message() -> Message {
        Message::new("t", "x").unwrap().with_id("m-1").unwrap()
    }

    fn all(headers: &HeaderMap, name: &'static str) -> Vec<String> {
        headers.get_all(name).map(ToString::to_string).collect()
    }

    #[test]
    fn c2_values_of_a_name_keep_order_and_repetition_and_may_be_any_one_line() {
        let message = message()
            .with_header("b", "1")
            .unwrap()
            .with_header("a", "é ü\u{2028}\t…")
            .unwrap()
            .with_header("b", "")
            .unwrap()
            .with_header("B", "2")
            .unwrap();
        let headers = of(&message).unwrap();
        assert_eq!(all(&headers, "b"), ["1", ""]);
        assert_eq!(all(&headers, "B"), ["2"]);
        assert_eq!(all(&headers, "a"), ["é ü\u{2028}\t…"]);
    }

    #[test]
    fn c3_the_id_is_always_there_and_no_header_takes_its_place() {
        let message = message().with_header("Nats-Msg-Id", "other").unwrap();
        assert_eq!(all(&of(&message).unwrap(), "Nats-Msg-Id"), ["m-1"]);
    }

    #[test]
    fn what_cannot_be_carried_as_it_is_is_malformed() {
        for (name, value) in [
            ("n", "a\nb"),
            ("n", "a\rb"),
            ("n", " a"),
            ("n", "a\u{a0}"),
            ("a b", "v"),
            ("a:b", "v"),
            ("é", "v"),
        ] {
            let refused = of(&message().with_header(name, value).unwrap()).unwrap_err();
            assert_eq!(
                refused.kind,
                PublishErrorKind::Malformed,
                "{name:?} {value:?}"
            );
            assert!(!refused.text.contains("a\\nb"), "{refused}");
        }
        let refused = of(&message().with_id("a\nb").unwrap()).unwrap_err();
        assert!(refused.text.contains("message id"), "{refused}");
    }
}
