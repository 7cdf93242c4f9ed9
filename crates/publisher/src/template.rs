//! Names made of a message: text in which `{topic}`, `{key}` and `{id}` are replaced. Leaves out what a broker takes as a
//! name, which its publisher checks.

use std::{fmt, mem, str::FromStr};

use outbox_message::{Message, PartitionKey, Topic};
use thiserror::Error;

/// A text in which `{topic}`, `{key}` and `{id}` stand for those of a message. A brace of the text itself is written twice.
///
/// ```
/// use outbox_message::Message;
/// use outbox_publisher::Template;
///
/// let message = Message::new("orders", "")?.with_key("1042")?;
/// let template: Template = "shop:{topic}.{key}".parse()?;
/// assert_eq!(template.render(&message), "shop:orders.1042");
///
/// let template: Template = "{{{topic}}}".parse()?;
/// assert_eq!(template.render(&message), "{orders}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Template(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Part {
    Text(String),
    Field(TemplateField),
}

/// What a placeholder of a [`Template`] stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TemplateField {
    /// The topic.
    Topic,
    /// The key.
    Key,
    /// The message id.
    Id,
}

/// Why a text is no template.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidTemplate {
    /// There is no such placeholder.
    #[error(
        "there is no {placeholder}, only {{topic}}, {{key}} and {{id}}; a brace of the text itself is written twice"
    )]
    Placeholder {
        /// What stands there, with its braces.
        placeholder: String,
    },
    /// A brace that opens without one that closes, or the other way around.
    #[error("a brace stands alone; a brace of the text itself is written twice")]
    Brace,
}

impl TemplateField {
    const ALL: [Self; 3] = [Self::Topic, Self::Key, Self::Id];

    /// How it is written in a template: its name in braces.
    pub fn placeholder(self) -> &'static str {
        match self {
            Self::Topic => "{topic}",
            Self::Key => "{key}",
            Self::Id => "{id}",
        }
    }
}

impl Template {
    /// The topic itself: `{topic}`.
    pub fn topic() -> Self {
        Self(vec![Part::Field(TemplateField::Topic)])
    }

    /// What it makes of a message. A message without a key has nothing in the place of its key.
    pub fn render(&self, message: &Message) -> String {
        self.fill(|field| match field {
            TemplateField::Topic => message.topic.as_str(),
            TemplateField::Key => message.key.as_ref().map_or("", PartitionKey::as_str),
            TemplateField::Id => message.id.as_str(),
        })
    }

    /// What it makes of the messages of a topic, for people: the other placeholders stay as they are.
    pub fn of_topic(&self, topic: &Topic) -> String {
        self.fill(|field| match field {
            TemplateField::Topic => topic.as_str(),
            other => other.placeholder(),
        })
    }

    /// What it makes of other values, such as those of a message after what the broker could misread was escaped.
    pub fn fill<T: AsRef<str>>(&self, value: impl Fn(TemplateField) -> T) -> String {
        let mut filled = String::with_capacity(64);
        for part in &self.0 {
            match part {
                Part::Text(text) => filled.push_str(text),
                Part::Field(field) => filled.push_str(value(*field).as_ref()),
            }
        }
        filled
    }

    /// Whether what it makes depends on this.
    pub fn uses(&self, field: TemplateField) -> bool {
        self.0.contains(&Part::Field(field))
    }

    /// Whether what it makes begins with this.
    pub fn begins_with(&self, field: TemplateField) -> bool {
        self.0.first() == Some(&Part::Field(field))
    }

    /// Whether it makes nothing of any message.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromStr for Template {
    type Err = InvalidTemplate;

    fn from_str(mut rest: &str) -> Result<Self, InvalidTemplate> {
        let mut parts = Vec::new();
        let mut text = String::new();
        while let Some(at) = rest.find(['{', '}']) {
            text.push_str(&rest[..at]);
            rest = &rest[at..];
            let (brace, behind) = rest.split_at(1);
            if let Some(behind) = behind.strip_prefix(brace) {
                text.push_str(brace);
                rest = behind;
                continue;
            }
            // A brace that closes has nothing before it here.
            let end = rest.find('}').filter(|end| *end > 0);
            let (placeholder, behind) = rest.split_at(end.ok_or(InvalidTemplate::Brace)? + 1);
            let mut fields = TemplateField::ALL.into_iter();
            let field = fields.find(|field| field.placeholder() == placeholder);
            let field = field.ok_or_else(|| InvalidTemplate::Placeholder {
                placeholder: placeholder.to_owned(),
            })?;
            if !text.is_empty() {
                parts.push(Part::Text(mem::take(&mut text)));
            }
            parts.push(Part::Field(field));
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
            Part::Field(field) => f.write_str(field.placeholder()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(key: Option<&str>) -> Message {
        let message = Message::new("orders", "").unwrap().with_id("7").unwrap();
        message.with_key(key).unwrap()
    }

    fn template(text: &str) -> Template {
        text.parse().unwrap()
    }

    #[test]
    fn placeholders_are_replaced_and_everything_else_stays() {
        for (text, keyless, keyed) in [
            ("", "", ""),
            ("events", "events", "events"),
            ("{topic}", "orders", "orders"),
            ("a.{topic}.{key}#{id}é", "a.orders.#7é", "a.orders.k#7é"),
            ("{{{topic}}}:{key}", "{orders}:", "{orders}:k"),
            ("{{{key}}}.{{topic}}", "{}.{topic}", "{k}.{topic}"),
            ("}}{{", "}{", "}{"),
            ("é{key}é", "éé", "éké"),
        ] {
            assert_eq!(template(text).to_string(), text);
            assert_eq!(template(text).render(&message(None)), keyless);
            assert_eq!(template(text).render(&message(Some("k"))), keyed);
            assert_eq!(template(text).is_empty(), text.is_empty());
        }
    }

    #[test]
    fn a_value_of_a_message_is_never_read_as_a_template() {
        let rendered = template("{topic}:{key}").render(&message(Some("{id}{")));
        assert_eq!(rendered, "orders:{id}{");
    }

    #[test]
    fn it_says_what_it_depends_on_and_people_see_the_rest() {
        let of_topic = template("e.{topic}.{key}").of_topic(&message(None).topic);
        assert_eq!(of_topic, "e.orders.{key}");
        let uses = TemplateField::ALL.map(|field| template("{key}.{id}").uses(field));
        assert_eq!(uses, [false, true, true]);
        assert!(Template::topic().begins_with(TemplateField::Topic));
        assert!(!template("a{topic}").begins_with(TemplateField::Topic));
    }

    #[test]
    fn what_is_no_template_says_why() {
        let refused = |text: &str| text.parse::<Template>().unwrap_err();
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
        for (text, placeholder) in [("a{job}b", "{job}"), ("{ id }", "{ id }"), ("{}", "{}")] {
            let said = refused(text).to_string();
            let expected = format!("there is no {placeholder}, only {{topic}}, {{key}} and {{id}}");
            assert!(said.starts_with(&expected), "{text}: {said}");
        }
    }
}
