//! The name of a list or a stream as it is written in a URL: text with places for the topic and the key of a message.
//! Leaves out whether anything has that name.

use std::{borrow::Cow, fmt, str::FromStr};

use outbox_message::{Message, PartitionKey, Topic};
use thiserror::Error;

/// The name of a list or a stream: `{topic}` and `{key}` stand for those of a message, `{{` and `}}` for one brace.
///
/// A message without a key has nothing in the place of `{key}`.
///
/// ```
/// use outbox_message::Message;
/// use outbox_publisher_redis::Template;
///
/// let message = Message::new("orders", "{}")?.with_key("7")?;
/// let template: Template = "shop:{topic}:{key}".parse()?;
/// assert_eq!(template.name(&message), "shop:orders:7");
///
/// // Braces of its own, which a cluster takes as a hash tag.
/// let template: Template = "{{{topic}}}:new".parse()?;
/// assert_eq!(template.name(&message), "{orders}:new");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Topic,
    Key,
}

/// Why a text is no template.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidTemplate {
    /// There is nothing in it.
    #[error("it is empty")]
    Empty,
    /// There is no such place.
    #[error(
        "there is no {{{0}}}, only {{topic}} and {{key}}; a brace of the name itself is written twice"
    )]
    Unknown(String),
    /// A brace that opens without one that closes, or the other way around.
    #[error("a brace stands alone; a brace of the name itself is written twice")]
    Brace,
}

impl Template {
    /// The template that is the topic.
    pub fn topic() -> Self {
        Self(vec![Part::Topic])
    }

    /// The name for `message`.
    pub fn name<'a>(&'a self, message: &'a Message) -> Cow<'a, str> {
        let key = message.key.as_ref().map_or("", PartitionKey::as_str);
        self.fill(&message.topic, key)
    }

    /// The name for messages of `topic`, with `{key}` in the place of their keys. It is for people.
    pub(crate) fn title<'a>(&'a self, topic: &'a Topic) -> Cow<'a, str> {
        self.fill(topic, "{key}")
    }

    /// The same, if it is one for all topics.
    pub(crate) fn only_title(&self) -> Option<String> {
        let text = |part: &Part| match part {
            Part::Text(text) => Some(text.clone()),
            Part::Key => Some("{key}".to_owned()),
            Part::Topic => None,
        };
        self.0.iter().map(text).collect()
    }

    /// Whether messages of different keys may have different names.
    pub(crate) fn has_key(&self) -> bool {
        self.0.contains(&Part::Key)
    }

    fn fill<'a>(&'a self, topic: &'a Topic, key: &'a str) -> Cow<'a, str> {
        let text = |part: &'a Part| match part {
            Part::Text(text) => text.as_str(),
            Part::Topic => topic.as_str(),
            Part::Key => key,
        };
        match &*self.0 {
            [one] => Cow::Borrowed(text(one)),
            parts => Cow::Owned(parts.iter().map(text).collect()),
        }
    }
}

impl FromStr for Template {
    type Err = InvalidTemplate;

    fn from_str(mut rest: &str) -> Result<Self, InvalidTemplate> {
        if rest.is_empty() {
            return Err(InvalidTemplate::Empty);
        }
        let mut parts = Vec::new();
        let mut text = String::new();
        while let Some(at) = rest.find(['{', '}']) {
            text.push_str(&rest[..at]);
            let (brace, behind) = rest[at..].split_at(1);
            if let Some(behind) = behind.strip_prefix(brace) {
                text.push_str(brace);
                rest = behind;
                continue;
            }
            if brace == "}" {
                return Err(InvalidTemplate::Brace);
            }
            let (place, behind) = behind.split_once('}').ok_or(InvalidTemplate::Brace)?;
            if !text.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut text)));
            }
            parts.push(match place {
                "topic" => Part::Topic,
                "key" => Part::Key,
                other => return Err(InvalidTemplate::Unknown(other.to_owned())),
            });
            rest = behind;
        }
        text.push_str(rest);
        if !text.is_empty() {
            parts.push(Part::Text(text));
        }
        Ok(Self(parts))
    }
}

/// As it is written.
impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| match part {
            Part::Text(text) => f.write_str(&text.replace('{', "{{").replace('}', "}}")),
            Part::Topic => f.write_str("{topic}"),
            Part::Key => f.write_str("{key}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(template: &str, key: Option<&str>) -> String {
        let template: Template = template.parse().unwrap();
        let mut message = Message::new("orders", "").unwrap();
        if let Some(key) = key {
            message = message.with_key(key).unwrap();
        }
        template.name(&message).into_owned()
    }

    #[test]
    fn places_are_filled_and_doubled_braces_are_one() {
        for (template, expected) in [
            ("jobs", "jobs"),
            ("{topic}", "orders"),
            ("a:{topic}:b:{key}", "a:orders:b:7"),
            ("{{{topic}}}", "{orders}"),
            ("{{orders}}:{key}", "{orders}:7"),
            ("{{topic}}", "{topic}"),
            ("{{}}", "{}"),
            ("}}{{", "}{"),
            ("é{key}é", "é7é"),
        ] {
            assert_eq!(name(template, Some("7")), expected, "{template}");
            let parsed: Template = template.parse().unwrap();
            assert_eq!(parsed.to_string(), template);
        }
        assert_eq!(name("a:{key}", None), "a:");
    }

    #[test]
    fn what_is_no_template_is_refused_with_the_reason() {
        let refused = |text: &str| text.parse::<Template>().unwrap_err();
        assert_eq!(refused(""), InvalidTemplate::Empty);
        assert_eq!(refused("{id}"), InvalidTemplate::Unknown("id".into()));
        for text in [
            "{",
            "}",
            "a{topic",
            "topic}",
            "{{topic}",
            "{topic}}",
            "{{{topic}}",
        ] {
            assert_eq!(refused(text), InvalidTemplate::Brace, "{text}");
        }
    }

    #[test]
    fn a_value_of_a_message_is_never_read_as_a_template() {
        assert_eq!(name("{topic}:{key}", Some("{topic}")), "orders:{topic}");
    }
}
