//! The headers of a request: ours, and those that a message brings. Which names a message may not bring stands here. Pure.

use std::borrow::Cow;

use outbox_envelope::projection;
use outbox_message::{ContentType, Message};
use outbox_publisher::{PublishError, PublishErrorKind};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

/// Names that belong to the connection, or say whom it is with.
const OF_THE_CONNECTION: [&str; 16] = [
    "connection",
    "content-length",
    "expect",
    "forwarded",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "set-cookie",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
];

/// Names that say who somebody is, or by which a receiver is led to take the request for another one.
const BELIEVED: [&str; 8] = [
    "authorization",
    "cookie",
    "proxy",
    "x-http-method-override",
    "x-method-override",
    "x-original-url",
    "x-real-ip",
    "x-rewrite-url",
];

/// What names begin with that say what is signed, are the attributes of a CloudEvent, or say where a request comes from.
const RESERVED_PREFIXES: [&str; 3] = ["webhook-", "ce-", "x-forwarded-"];

/// What does not stay at the ends of a value.
pub(crate) const BLANKS: [char; 2] = [' ', '\t'];

/// A name as CGI and its kin read it: in small letters, and an underscore is a hyphen to them.
pub(crate) fn folded(name: &str) -> String {
    name.to_ascii_lowercase().replace('_', "-")
}

/// Whether a name, folded, is not a message's to choose.
fn is_reserved(name: &str) -> bool {
    BELIEVED.contains(&name) || is_of_the_connection(name)
}

/// Whether a name, folded, is not even the operator's to choose: the connection would break.
pub(crate) fn is_of_the_connection(name: &str) -> bool {
    OF_THE_CONNECTION.contains(&name) || RESERVED_PREFIXES.iter().any(|it| name.starts_with(it))
}

/// A value that arrives as it is: it is one line, and nothing at its ends is stripped.
pub(crate) fn value(text: &str) -> Option<HeaderValue> {
    let stays = text.trim_matches(BLANKS) == text;
    stays
        .then(|| HeaderValue::from_bytes(text.as_bytes()).ok())
        .flatten()
}

/// Sets the content type of the payload, if the message has one.
///
/// # Errors
///
/// `Malformed` if no header can carry it.
pub(crate) fn set_content_type(
    headers: &mut HeaderMap,
    message: &Message,
) -> Result<(), PublishError> {
    let Some(kind) = message.content_type.as_ref().map(ContentType::as_str) else {
        return Ok(());
    };
    let kind = value(kind)
        .ok_or_else(|| malformed("the content type has a line break or white space at an end"))?;
    headers.insert(CONTENT_TYPE, kind);
    Ok(())
}

/// Sets what BabelQueue shows of an envelope, under the names that it has for Kafka. What a header cannot carry is left out:
/// the payload has it.
pub(crate) fn set_envelope(headers: &mut HeaderMap, message: &Message) {
    let Some(view) = projection::of(message) else {
        return;
    };
    let number = |number: i64| Cow::Owned(number.to_string());
    for (name, text) in [
        ("bq-job", Some(view.job)),
        ("bq-trace-id", view.trace_id),
        ("bq-message-id", Some(view.message_id)),
        ("bq-schema-version", Some(number(view.schema_version))),
        ("bq-source-lang", view.source_lang),
        ("bq-attempts", view.attempts.map(number)),
    ] {
        if let Some(value) = text.and_then(|text| value(&text)) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
}

/// Adds the headers that the message brings. One that is set already wins over the message's own of that name.
///
/// # Errors
///
/// `Malformed` if a header cannot be carried as it is, or is not the message's to set; `TooLarge` if there are too many.
pub(crate) fn add_own(headers: &mut HeaderMap, message: &Message) -> Result<(), PublishError> {
    let ours: Vec<String> = headers.keys().map(|name| folded(name.as_str())).collect();
    let mut has_content_type = false;
    for (name, text) in message.headers.iter() {
        let Ok(parsed) = HeaderName::from_bytes(name.as_bytes()) else {
            let problem = "has characters other than letters, digits and some signs";
            return Err(malformed(&format!(
                "the name of the header {name:?} {problem}"
            )));
        };
        let folded = folded(name);
        if is_reserved(&folded) {
            return Err(malformed(&format!(
                "the header {name:?} is not a message's to set"
            )));
        }
        if ours.contains(&folded) {
            continue;
        }
        let Some(value) = value(text) else {
            let problem = "has a line break, another control character, or white space at an end";
            return Err(malformed(&format!(
                "the value of the header {name:?} {problem}"
            )));
        };
        if folded == CONTENT_TYPE.as_str() && std::mem::replace(&mut has_content_type, true) {
            return Err(malformed(
                "a request has one content type, and the message has several",
            ));
        }
        headers.try_append(parsed, value).map_err(|_| {
            let text = "the message has more headers than HTTP can carry";
            PublishError::new(PublishErrorKind::TooLarge, text)
        })?;
    }
    Ok(())
}

pub(crate) fn malformed(problem: &str) -> PublishError {
    PublishError::new(
        PublishErrorKind::Malformed,
        format!("HTTP cannot carry it: {problem}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message() -> Message {
        Message::new("t", "x").unwrap().with_id("m-1").unwrap()
    }

    fn with(pairs: &[(&str, &str)]) -> Message {
        let add = |message: Message, (name, value): &(&str, &str)| {
            message.with_header(*name, *value).unwrap()
        };
        pairs.iter().fold(message(), add)
    }

    fn own(message: &Message) -> Result<HeaderMap, PublishError> {
        let mut headers = HeaderMap::new();
        add_own(&mut headers, message).map(|()| headers)
    }

    fn all(headers: &HeaderMap, name: &str) -> Vec<String> {
        let values = headers.get_all(name).iter();
        let text = |value: &HeaderValue| String::from_utf8(value.as_bytes().to_vec()).unwrap();
        values.map(text).collect()
    }

    #[test]
    fn c2_values_of_a_name_keep_order_and_repetition_and_may_be_any_one_line() {
        let headers = own(&with(&[
            ("b", "1"),
            ("A", "é ü\u{2028}\t…"),
            ("c", "\u{a0}no-break\u{2003}"),
            ("b", ""),
            ("B", "2"),
        ]));
        let headers = headers.unwrap();
        assert_eq!(all(&headers, "b"), ["1", "", "2"]);
        assert_eq!(all(&headers, "a"), ["é ü\u{2028}\t…"]);
        assert_eq!(all(&headers, "c"), ["\u{a0}no-break\u{2003}"]);
    }

    #[test]
    fn no_header_of_a_message_ends_its_line() {
        for (name, value) in [
            ("n", "a\nb"),
            ("n", "a\r\nHost: evil"),
            ("n", "a\r"),
            ("n", "\u{1}"),
            ("n", "\u{7f}"),
            ("n", " a"),
            ("n", "a\t"),
            ("a b", "v"),
            ("a:b", "v"),
            (":path", "v"),
            ("é", "v"),
        ] {
            let refused = own(&with(&[(name, value)])).unwrap_err();
            assert_eq!(
                refused.kind,
                PublishErrorKind::Malformed,
                "{name:?} {value:?}"
            );
            assert!(!refused.text.contains("evil"), "{refused}");
        }
    }

    #[test]
    fn what_belongs_to_the_connection_or_to_us_is_not_a_messages_to_set() {
        let prefixed = [
            "Webhook-Id",
            "webhook-signature",
            "CE-Id",
            "ce-x",
            "X-Forwarded-For",
        ];
        let written = [
            "Host",
            "Content-LENGTH",
            "Content_Length",
            "x_forwarded-for",
            "X_Real_IP",
        ];
        for name in OF_THE_CONNECTION
            .into_iter()
            .chain(BELIEVED)
            .chain(prefixed)
            .chain(written)
        {
            let refused = own(&with(&[(name, "hunter2")])).unwrap_err();
            assert_eq!(refused.kind, PublishErrorKind::Malformed, "{name}");
            assert!(refused.text.contains(name) && !refused.text.contains("hunter2"));
        }
        assert!(
            own(&with(&[
                ("x-host", "a"),
                ("center", "b"),
                ("webhooks", "c")
            ]))
            .is_ok()
        );
    }

    #[test]
    fn what_is_set_already_wins() {
        let mut headers = HeaderMap::new();
        headers.insert("x-api-key", HeaderValue::from_static("ours"));
        let message = with(&[("X-Api-Key", "theirs"), ("Content-Type", "a/b")]);
        let message = message.with_content_type("text/plain").unwrap();
        set_content_type(&mut headers, &message).unwrap();
        add_own(&mut headers, &message).unwrap();
        assert_eq!(all(&headers, "x-api-key"), ["ours"]);
        assert_eq!(all(&headers, "content-type"), ["text/plain"]);
    }

    #[test]
    fn what_is_set_already_wins_over_a_name_that_some_receivers_take_for_the_same() {
        let mut headers = HeaderMap::new();
        headers.insert("x_api-key", HeaderValue::from_static("ours"));
        add_own(
            &mut headers,
            &with(&[("X-Api_Key", "theirs"), ("x_own", "a")]),
        )
        .unwrap();
        let names: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
        assert_eq!(names, ["x_api-key", "x_own"]);
    }

    #[test]
    fn a_message_brings_one_content_type_at_most() {
        let own = own(&with(&[("Content-Type", "a/b")])).unwrap();
        assert_eq!(all(&own, "content-type"), ["a/b"]);
        for other in ["content-type", "content_type"] {
            let two = with(&[("Content-Type", "a/b"), (other, "a/b")]);
            let refused = add_own(&mut HeaderMap::new(), &two).unwrap_err();
            assert_eq!(refused.kind, PublishErrorKind::Malformed, "{other}");
            // One that is said otherwise wins over all of them.
            let two = two.with_content_type("c/d").unwrap();
            let mut headers = HeaderMap::new();
            set_content_type(&mut headers, &two).unwrap();
            add_own(&mut headers, &two).unwrap();
            assert_eq!(all(&headers, "content-type"), ["c/d"]);
            assert_eq!(headers.len(), 1);
        }
    }

    #[test]
    fn an_envelope_shows_what_babelqueue_shows_of_it() {
        let payload = r#"{"job":"urn:babel:orders:créé","trace_id":"a\nb","data":{},"meta":{"id":"i-1","queue":"q","lang":"rust","schema_version":1,"created_at":7},"attempts":2}"#;
        let message = Message::new("t", payload).unwrap();
        let message = message.with_header("bq-attempts", "9").unwrap();
        let mut headers = HeaderMap::new();
        set_envelope(&mut headers, &message);
        add_own(&mut headers, &message).unwrap();
        let get = |name| all(&headers, name);
        assert_eq!(get("bq-job"), ["urn:babel:orders:créé"]);
        assert_eq!(get("bq-trace-id"), [""; 0]);
        assert_eq!(get("bq-message-id"), ["i-1"]);
        assert_eq!(get("bq-schema-version"), ["1"]);
        assert_eq!(get("bq-source-lang"), ["rust"]);
        assert_eq!(get("bq-attempts"), ["2"]);
        let mut none = HeaderMap::new();
        set_envelope(&mut none, &with(&[("bq-job", "own")]));
        assert!(none.is_empty());
    }
}
