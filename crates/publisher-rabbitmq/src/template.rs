//! Names made of a message: text in which `{topic}`, `{key}` and `{id}` are replaced. The broker's own limits are checked elsewhere.

use std::{fmt, mem, str::FromStr};

use outbox_message::{Message, Topic};

use crate::InvalidTemplate;

/// A text in which `{topic}`, `{key}` and `{id}` stand for those of the message. A message without a key has an empty one. A
/// brace of the text itself is written twice.
///
/// ```
/// use outbox_message::Message;
/// use outbox_publisher_rabbitmq::Template;
///
/// let template: Template = "{topic}.{key}".parse()?;
/// let message = Message::new("orders", "")?.with_key("1042")?;
/// assert_eq!(template.render(&message), "orders.1042");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Field(Field),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    Topic,
    Key,
    Id,
}

impl Field {
    const ALL: [(&'static str, Self); 3] =
        [("topic", Self::Topic), ("key", Self::Key), ("id", Self::Id)];
}

impl Template {
    /// The topic itself.
    pub fn topic() -> Self {
        Self {
            pieces: vec![Piece::Field(Field::Topic)],
        }
    }

    /// What it makes of a message.
    pub fn render(&self, message: &Message) -> String {
        self.fill(|field| match field {
            Field::Topic => message.topic.as_str(),
            Field::Key => message.key.as_ref().map_or("", |key| key.as_str()),
            Field::Id => message.id.as_str(),
        })
    }

    /// What it makes of a topic, if it asks for nothing else.
    pub(crate) fn of_topic(&self, topic: &Topic) -> String {
        self.fill(|field| match field {
            Field::Topic => topic.as_str(),
            Field::Key | Field::Id => "",
        })
    }

    pub(crate) fn uses(&self, field: Field) -> bool {
        self.pieces.contains(&Piece::Field(field))
    }

    fn fill<'a>(&'a self, value: impl Fn(Field) -> &'a str) -> String {
        let text = |piece: &'a Piece| match piece {
            Piece::Text(text) => text,
            Piece::Field(field) => value(*field),
        };
        self.pieces.iter().map(text).collect()
    }
}

impl FromStr for Template {
    type Err = InvalidTemplate;

    fn from_str(text: &str) -> Result<Self, InvalidTemplate> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, brace) = rest.split_at(at);
            plain.push_str(before);
            if let Some(after) = brace.strip_prefix("{{").or(brace.strip_prefix("}}")) {
                plain.push_str(&brace[..1]);
                rest = after;
                continue;
            }
            let inside = brace.strip_prefix('{').ok_or(InvalidTemplate::Brace)?;
            let (name, after) = inside.split_once('}').ok_or(InvalidTemplate::Brace)?;
            let known = Field::ALL.iter().find(|(known, _)| *known == name);
            let (_, field) = known.ok_or_else(|| InvalidTemplate::Field {
                field: name.to_owned(),
            })?;
            if !plain.is_empty() {
                pieces.push(Piece::Text(mem::take(&mut plain)));
            }
            pieces.push(Piece::Field(*field));
            rest = after;
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Ok(Self { pieces })
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => {
                    f.write_str(&text.replace('{', "{{").replace('}', "}}"))?;
                }
                Piece::Field(Field::Topic) => f.write_str("{topic}")?,
                Piece::Field(Field::Key) => f.write_str("{key}")?,
                Piece::Field(Field::Id) => f.write_str("{id}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_replaced_and_everything_else_stays() {
        let message = Message::new("orders", "").unwrap().with_id("7").unwrap();
        for (text, keyless, keyed) in [
            ("", "", ""),
            ("events", "events", "events"),
            ("{topic}", "orders", "orders"),
            ("a.{topic}.{key}#{id}é", "a.orders.#7é", "a.orders.{k}#7é"),
            ("{{{key}}}.{{topic}}", "{}.{topic}", "{{k}}.{topic}"),
        ] {
            let template: Template = text.parse().unwrap();
            assert_eq!(template.to_string(), text);
            assert_eq!(template.render(&message), keyless);
            let message = message.clone().with_key("{k}").unwrap();
            assert_eq!(template.render(&message), keyed);
        }
    }

    #[test]
    fn what_is_no_template_says_why() {
        for text in ["{topic", "topic}", "{{topic}", "{", "}", "{a}b}"] {
            assert!(text.parse::<Template>().is_err(), "{text}");
        }
        let error = "{job}".parse::<Template>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "{job} is not known; {topic}, {key} and {id} are"
        );
    }
}
