//! Where a message goes: a subject made of a template. Leaves out streams, which take subjects.

use std::{
    borrow::Cow,
    fmt::{self, Write},
    str::FromStr,
};

use outbox_message::{Message, Topic};
use outbox_publisher::{InvalidTemplate, Template, TemplateField};
use thiserror::Error;

/// The longest subject that is sent, in bytes: a server takes 4,096 for a subject, a reply subject and two numbers, and
/// closes the connection for more.
const MAX_BYTES: usize = 3_900;

/// Stands for the key of a message that has none. A key that is this text is escaped.
const NO_KEY: &str = "_";

/// A [`Template`] with `{topic}`, `{key}` and `{id}` that makes a subject of every message, such as `events.{topic}`.
///
/// A topic is put in as it is, its dots separate tokens. A key or an id becomes one token, whatever it holds: each byte of
/// a dot, `*`, `>`, `%`, `$`, white space or a control character is written as `%` and two hexadecimal digits. No key is
/// `_`, and the key `_` is `%5F`.
///
/// ```
/// use outbox_message::Message;
/// use outbox_publisher_nats::SubjectTemplate;
///
/// let template: SubjectTemplate = "events.{topic}.{key}".parse()?;
/// let message = Message::new("orders.created", "")?.with_key("7 of 9")?;
/// assert_eq!(template.subject(&message).as_deref(), Some("events.orders.created.7%20of%209"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SubjectTemplate(Template);

/// Why a text is no template of subjects.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidSubject {
    /// It is no template at all.
    #[error(transparent)]
    Template(#[from] InvalidTemplate),
    /// What it makes is no subject, whatever the message.
    #[error("a subject has no spaces, no empty tokens and no wildcards")]
    Subject,
}

impl SubjectTemplate {
    /// The subject of a message; `None` if it would be none: the topic has a space, an empty token or a wildcard, the
    /// subject would be too long (3,900 bytes), or a topic that begins it would make it one of the server's own.
    pub fn subject(&self, message: &Message) -> Option<String> {
        let key = message.key.as_ref();
        let subject = self.0.fill(|field| match field {
            TemplateField::Topic => Cow::Borrowed(message.topic.as_str()),
            TemplateField::Key => key.map_or(NO_KEY.into(), |key| token(key.as_str()).into()),
            TemplateField::Id => token(message.id.as_str()).into(),
        });
        let is_foreign = self.0.begins_with(TemplateField::Topic) && is_of_the_server(&subject);
        (is_subject(&subject) && !is_foreign).then_some(subject)
    }

    /// The subject with one topic, the other placeholders left as they are: where a topic goes, for people.
    pub(crate) fn of_topic(&self, topic: &Topic) -> String {
        self.0.of_topic(topic)
    }

    /// A subject that a message of this topic without a key could have.
    pub(crate) fn example(&self, topic: &Topic) -> Option<String> {
        let subject = self.fill(topic.as_str(), NO_KEY);
        is_subject(&subject).then_some(subject)
    }

    /// The subject, with wildcards, of a stream that takes every message; `None` if that would be other subjects too.
    pub(crate) fn stream_subject(&self) -> Option<String> {
        // Neither of the two can be in a template.
        let filled = self.fill("\u{1}", "\u{2}");
        let mut tokens = Vec::new();
        for token in filled.split('.') {
            if token.contains('\u{1}') {
                tokens.push(">");
                break;
            }
            tokens.push(if token.contains('\u{2}') { "*" } else { token });
        }
        let is_fixed = tokens
            .first()
            .is_some_and(|first| !["*", ">"].contains(first));
        is_fixed.then(|| tokens.join("."))
    }

    /// Whether topics can have different subjects.
    pub(crate) fn has_topic(&self) -> bool {
        self.0.uses(TemplateField::Topic)
    }

    /// Whether messages of one topic can have different subjects.
    pub(crate) fn is_of_many_in_a_topic(&self) -> bool {
        self.0.uses(TemplateField::Key) || self.0.uses(TemplateField::Id)
    }

    /// Whether all messages of one ordering key have one subject, and no others have it.
    pub(crate) fn is_of_one_ordering_key(&self) -> bool {
        let uses = |field| self.0.uses(field);
        uses(TemplateField::Topic) && uses(TemplateField::Key) && !uses(TemplateField::Id)
    }

    /// The subject with these texts, as they are, in the places of the topic, and of the key and the id.
    fn fill(&self, topic: &str, others: &str) -> String {
        self.0.fill(|field| match field {
            TemplateField::Topic => topic,
            TemplateField::Key | TemplateField::Id => others,
        })
    }
}

impl Default for SubjectTemplate {
    /// The topic itself.
    fn default() -> Self {
        Self(Template::topic())
    }
}

impl FromStr for SubjectTemplate {
    type Err = InvalidSubject;

    fn from_str(text: &str) -> Result<Self, InvalidSubject> {
        let template = Self(text.parse()?);
        if is_subject(&template.fill("x", "x")) {
            Ok(template)
        } else {
            Err(InvalidSubject::Subject)
        }
    }
}

impl fmt::Display for SubjectTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A text as one token, unlike that of any other text.
fn token(text: &str) -> String {
    let mut token = String::with_capacity(text.len());
    for c in text.chars() {
        let is_plain =
            !c.is_whitespace() && !c.is_control() && !".*>%$".contains(c) && text != NO_KEY;
        if is_plain {
            token.push(c);
        } else {
            for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                write!(token, "%{byte:02X}").expect("a string takes everything");
            }
        }
    }
    token
}

/// Whether a server and its clients take it as the subject of a message.
fn is_subject(text: &str) -> bool {
    let is_token = |token: &str| !token.is_empty() && token != "*" && token != ">";
    text.len() <= MAX_BYTES
        && !text.contains(|c: char| c.is_whitespace() || c.is_control())
        && text.split('.').all(is_token)
}

/// Whether a message there would be a request to the server, or an answer to somebody's request.
fn is_of_the_server(subject: &str) -> bool {
    subject.starts_with('$') || subject.starts_with("_INBOX.")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn template(text: &str) -> SubjectTemplate {
        text.parse().unwrap()
    }

    fn message(topic: &str, key: Option<&str>) -> Message {
        let message = Message::new(topic, "").unwrap().with_id("m.1").unwrap();
        message.with_key(key).unwrap()
    }

    fn subject(text: &str, topic: &str, key: Option<&str>) -> Option<String> {
        template(text).subject(&message(topic, key))
    }

    #[test]
    fn topic_key_and_id_are_put_in() {
        let default = SubjectTemplate::default();
        assert_eq!(
            default.subject(&message("a.b", None)).as_deref(),
            Some("a.b")
        );
        assert_eq!(default, template("{topic}"));
        for (text, key, expected) in [
            ("events.{topic}", None, "events.a.b"),
            ("{topic}.{key}", Some("k"), "a.b.k"),
            ("{topic}.{key}", None, "a.b._"),
            ("{topic}.{key}", Some("_"), "a.b.%5F"),
            ("k-{key}.{id}.x", Some("é"), "k-é.m%2E1.x"),
            ("fixed", Some("k"), "fixed"),
            ("{{{topic}}}", None, "{a.b}"),
        ] {
            assert_eq!(
                subject(text, "a.b", key).as_deref(),
                Some(expected),
                "{text}"
            );
        }
    }

    #[test]
    fn any_key_is_one_token_and_no_two_are_the_same() {
        let longest = "\n".repeat(1024);
        let keys = [
            ".", "*", ">", "%", "%2E", "$", "_", "__", " ", "\u{a0}", "\t\r\n", "a.b", "a b", "é",
            "\u{7f}", "\u{2003}", &longest,
        ];
        let mut seen = HashSet::from(["x._".to_owned()]);
        for key in keys {
            let subject = subject("{topic}.{key}", "x", Some(key)).unwrap();
            assert_eq!(subject.split('.').count(), 2, "{subject}");
            assert!(seen.insert(subject), "{key:?}");
        }
    }

    #[test]
    fn a_topic_that_makes_no_subject_is_refused() {
        for topic in [
            ".a",
            "a.",
            "a..b",
            "a b",
            "*",
            "a.>",
            "a.*.b",
            "\u{a0}",
            "$JS.API.STREAM.DELETE.X",
            "_INBOX.x",
        ] {
            assert_eq!(subject("{topic}", topic, None), None, "{topic}");
        }
        assert_eq!(subject("e.{topic}", "$JS", None).as_deref(), Some("e.$JS"));
        assert_eq!(subject("$KV.{topic}", "b", None).as_deref(), Some("$KV.b"));
        let long = format!("{}.{{topic}}", "x".repeat(MAX_BYTES - 3));
        assert!(subject(&long, "a", None).is_none_or(|subject| subject.len() <= MAX_BYTES));
        assert_eq!(subject(&long, "abc", None), None);
    }

    #[test]
    fn a_template_that_makes_no_subject_is_refused() {
        for text in ["{x}", "{topic", "topic}"] {
            let error = text.parse::<SubjectTemplate>().unwrap_err();
            assert!(matches!(error, InvalidSubject::Template(_)), "{text}");
        }
        for text in ["", "a..{topic}", ".{topic}", "{topic}.", "a b", "a.*", ">"] {
            assert_eq!(
                text.parse::<SubjectTemplate>(),
                Err(InvalidSubject::Subject),
                "{text}"
            );
        }
    }

    #[test]
    fn the_subject_of_a_stream_takes_every_message_and_begins_fixed() {
        for (text, expected) in [
            ("events.{topic}", Some("events.>")),
            ("events.{topic}.{key}", Some("events.>")),
            ("events.{key}.x", Some("events.*.x")),
            ("events.t-{topic}", Some("events.>")),
            ("events", Some("events")),
            ("{topic}", None),
            ("{key}.x", None),
        ] {
            assert_eq!(
                template(text).stream_subject().as_deref(),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn people_see_where_a_topic_goes() {
        let topic = Topic::new("orders").unwrap();
        assert_eq!(
            template("e.{topic}.{key}").of_topic(&topic),
            "e.orders.{key}"
        );
        assert_eq!(
            template("e.{topic}.{key}").example(&topic).as_deref(),
            Some("e.orders._")
        );
        assert_eq!(template("e.{topic}.{key}").to_string(), "e.{topic}.{key}");
    }
}
