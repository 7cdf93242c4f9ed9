//! How a message becomes a request: as it is, or as a CloudEvent.

use outbox_publisher::{InvalidParameter, Template};

/// How a message becomes a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// The body is the payload; headers carry the rest: `webhook`.
    #[default]
    Webhook,
    /// A CloudEvent in binary mode: the body is the payload, and the attributes are headers: `cloudevents-binary`.
    CloudEventsBinary(CloudEvents),
    /// A CloudEvent in structured mode: the body is a JSON object with the attributes and the payload:
    /// `cloudevents-structured`.
    CloudEventsStructured(CloudEvents),
}

/// What CloudEvents are made with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloudEvents {
    /// Where events come from, a URI or the part of one such as `/shop`: `source`. What a message brings is percent-encoded in it.
    pub source: Template,
    /// The attribute `type`: `type`. By default the job of an envelope, and the topic of any other message.
    pub kind: Option<Template>,
    /// The attribute `subject`: `subject`, such as `{key}`. By default there is none; the key is the attribute `partitionkey`.
    pub subject: Option<Template>,
}

impl Mode {
    /// What its CloudEvents are made with, if it makes any.
    pub(crate) fn events(&self) -> Option<&CloudEvents> {
        match self {
            Self::Webhook => None,
            Self::CloudEventsBinary(events) | Self::CloudEventsStructured(events) => Some(events),
        }
    }

    pub(crate) fn check(&self) -> Result<(), InvalidParameter> {
        let Some(CloudEvents { source, kind, .. }) = self.events() else {
            return Ok(());
        };
        let text = source.to_string();
        if source.is_empty() || !text.chars().all(is_of_a_uri) {
            let problem = "write a URI, or a part of one such as /shop";
            return Err(InvalidParameter::value("source", text, problem));
        }
        if kind.as_ref().is_some_and(Template::is_empty) {
            let problem = "write a type, such as com.example.{topic}";
            return Err(InvalidParameter::value("type", "", problem));
        }
        Ok(())
    }
}

/// What stands in a URI as it is, and the braces of placeholders.
fn is_of_a_uri(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-._~:/?#[]@!$&'()*+,;=%{}".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Result<(), InvalidParameter> {
        let events = CloudEvents {
            source: text.parse().unwrap(),
            kind: None,
            subject: None,
        };
        Mode::CloudEventsBinary(events).check()
    }

    #[test]
    fn a_source_is_a_uri_or_a_part_of_one() {
        for good in [
            "/shop",
            "https://shop.example/{topic}",
            "urn:uuid:1",
            "shop",
            "/caf%C3%A9",
        ] {
            assert_eq!(source(good), Ok(()), "{good}");
        }
        for bad in ["", "a b", "café", "<a>", "a\"b"] {
            assert!(source(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_type_is_not_empty() {
        let events = CloudEvents {
            source: "/shop".parse().unwrap(),
            kind: Some("".parse().unwrap()),
            subject: None,
        };
        let refused = Mode::CloudEventsStructured(events).check().unwrap_err();
        assert!(refused.to_string().contains("type"), "{refused}");
    }
}
