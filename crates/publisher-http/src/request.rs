//! What a message becomes on the wire, but for the URL: headers and a body. Pure; the time of the try comes from outside.

use bytes::Bytes;
use outbox_message::Message;
use outbox_publisher::{PublishError, PublishErrorKind};
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use crate::{
    Mode, event,
    files::Loaded,
    headers::{self, malformed},
    signature,
};

/// The headers and the body of a request.
#[derive(Debug, Clone)]
pub(crate) struct Parts {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// What is sent for a message at this moment, in Unix seconds.
///
/// # Errors
///
/// `Malformed` if HTTP or a CloudEvent cannot carry the message as it is.
pub(crate) fn of(
    mode: &Mode,
    loaded: &Loaded,
    message: &Message,
    now: u64,
) -> Result<Parts, PublishError> {
    let mut headers = loaded.headers.clone();
    let mut body = message.payload.clone();
    match mode {
        Mode::Webhook => {
            headers::set_content_type(&mut headers, message)?;
            headers::set_envelope(&mut headers, message);
        }
        Mode::CloudEventsBinary(events) => {
            headers::set_content_type(&mut headers, message)?;
            for (name, value) in event::attributes(events, message)? {
                let value = headers::value(&event::encode(&value));
                let value = value.expect("what is percent-encoded is visible ASCII");
                headers.insert(attribute(name), value);
            }
        }
        Mode::CloudEventsStructured(events) => {
            if message
                .headers
                .iter()
                .any(|(name, _)| headers::folded(name) == CONTENT_ENCODING.as_str())
            {
                return Err(malformed(
                    "the body of a structured CloudEvent is not encoded as the header content-encoding says of the payload",
                ));
            }
            let attributes = event::attributes(events, message)?;
            body = event::structured(&attributes, message).into();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(event::STRUCTURED));
        }
    }
    let is_signed = !loaded.secrets.is_empty();
    if is_signed || *mode == Mode::Webhook {
        let id = headers::value(message.id.as_str());
        let id = id.ok_or_else(|| {
            malformed("the message id has a line break, or white space at an end")
        })?;
        headers.insert(HeaderName::from_static("webhook-id"), id);
    }
    if is_signed {
        sign(&mut headers, loaded, message, now, &body)?;
    }
    headers::add_own(&mut headers, message)?;
    Ok(Parts { headers, body })
}

fn sign(
    headers: &mut HeaderMap,
    loaded: &Loaded,
    message: &Message,
    now: u64,
    body: &[u8],
) -> Result<(), PublishError> {
    let id = message.id.as_str();
    if id.contains('.') {
        let text = "a message that is signed cannot have a dot in its id: the signature would be that of another id, time and body as well";
        return Err(PublishError::new(PublishErrorKind::Malformed, text));
    }
    headers.insert(HeaderName::from_static("webhook-timestamp"), now.into());
    let signature = signature::sign(&loaded.secrets, id, now, body);
    let signature = HeaderValue::try_from(signature).expect("base64 is visible ASCII");
    headers.insert(HeaderName::from_static("webhook-signature"), signature);
    Ok(())
}

fn attribute(name: &'static str) -> HeaderName {
    let name = HeaderName::try_from(format!("ce-{name}"));
    name.expect("names of attributes are letters")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CloudEvents;

    const NOW: u64 = 1_614_265_330;

    fn loaded(secrets: &[&str]) -> Loaded {
        let secrets = secrets.iter().map(|text| text.parse().unwrap());
        Loaded {
            secrets: secrets.collect(),
            ..Loaded::default()
        }
    }

    fn events() -> CloudEvents {
        CloudEvents {
            source: "/shop".parse().unwrap(),
            kind: None,
            subject: None,
        }
    }

    fn message() -> Message {
        let message = Message::new("orders", "{\"test\": 2432232314}").unwrap();
        let message = message.with_id("msg_p5jXN8AQM9LWM0D4loKWxJek").unwrap();
        message.with_content_type("application/json").unwrap()
    }

    fn get<'p>(parts: &'p Parts, name: &str) -> Option<&'p str> {
        parts.headers.get(name).map(|value| value.to_str().unwrap())
    }

    #[test]
    fn a_webhook_is_the_payload_with_its_id_and_unsigned_without_a_secret() {
        let parts = of(&Mode::Webhook, &loaded(&[]), &message(), NOW).unwrap();
        assert_eq!(parts.body, message().payload);
        assert_eq!(
            get(&parts, "webhook-id"),
            Some("msg_p5jXN8AQM9LWM0D4loKWxJek")
        );
        assert_eq!(get(&parts, "content-type"), Some("application/json"));
        assert_eq!(parts.headers.len(), 2, "{:?}", parts.headers);
    }

    #[test]
    fn a_signed_webhook_is_what_the_reference_libraries_make_of_it() {
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let parts = of(&Mode::Webhook, &loaded(&[secret]), &message(), NOW).unwrap();
        assert_eq!(get(&parts, "webhook-timestamp"), Some("1614265330"));
        let signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        assert_eq!(get(&parts, "webhook-signature"), Some(signature));
    }

    #[test]
    fn a_structured_event_is_signed_as_it_is_sent() {
        let mode = Mode::CloudEventsStructured(events());
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let loaded = loaded(&[secret]);
        let parts = of(&mode, &loaded, &message(), NOW).unwrap();
        let expected = signature::sign(&loaded.secrets, message().id.as_str(), NOW, &parts.body);
        assert_eq!(get(&parts, "webhook-signature"), Some(&*expected));
        assert_eq!(
            get(&parts, "content-type"),
            Some("application/cloudevents+json; charset=utf-8")
        );
    }

    #[test]
    fn what_is_signed_has_no_dot_in_its_id() {
        let message = message().with_id("a.1").unwrap();
        let secret = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let refused = of(&Mode::Webhook, &loaded(&[secret]), &message, NOW).unwrap_err();
        assert_eq!(refused.kind, PublishErrorKind::Malformed);
        assert!(of(&Mode::Webhook, &loaded(&[]), &message, NOW).is_ok());
    }

    #[test]
    fn what_is_said_of_the_payload_is_not_said_of_a_structured_event() {
        let message = message().with_header("Content-Encoding", "gzip").unwrap();
        let of = |mode| of(&mode, &loaded(&[]), &message, NOW);
        let refused = of(Mode::CloudEventsStructured(events())).unwrap_err();
        assert_eq!(refused.kind, PublishErrorKind::Malformed);
        let parts = of(Mode::CloudEventsBinary(events())).unwrap();
        assert_eq!(get(&parts, "content-encoding"), Some("gzip"));
    }

    #[test]
    fn a_binary_event_has_its_attributes_in_headers_and_the_payload_as_it_is() {
        let message = message().with_key("é 1").unwrap();
        let message = message.with_header("traceparent", "00-1").unwrap();
        let mode = Mode::CloudEventsBinary(events());
        let parts = of(&mode, &loaded(&[]), &message, NOW).unwrap();
        assert_eq!(parts.body, message.payload);
        for (name, value) in [
            ("ce-specversion", "1.0"),
            ("ce-type", "orders"),
            ("ce-source", "/shop"),
            ("ce-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"),
            ("ce-partitionkey", "%C3%A9%201"),
            ("content-type", "application/json"),
            ("traceparent", "00-1"),
        ] {
            assert_eq!(get(&parts, name), Some(value), "{name}");
        }
        assert_eq!(parts.headers.len(), 7, "{:?}", parts.headers);
    }
}
