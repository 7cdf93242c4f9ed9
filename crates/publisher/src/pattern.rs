//! Which topics a route takes: a text in which `*` stands for any characters.

use std::{fmt, str::FromStr};

use outbox_message::Topic;
use thiserror::Error;

/// A pattern of topics, such as `orders`, `orders.*` or `*`. `*` stands for any characters, none and dots included; everything
/// else stands for itself.
///
/// ```
/// use outbox_message::Topic;
/// use outbox_publisher::TopicPattern;
///
/// let pattern: TopicPattern = "orders.*".parse()?;
/// assert!(pattern.matches(&Topic::new("orders.created")?));
/// assert!(!pattern.matches(&Topic::new("orders")?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TopicPattern(String);

/// A text that is no pattern of topics: nothing matches it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the pattern of topics is empty; * matches every topic")]
#[non_exhaustive]
pub struct InvalidPattern;

impl TopicPattern {
    /// The pattern of every topic.
    pub fn any() -> Self {
        Self("*".to_owned())
    }

    /// Whether `topic` is one of those that are meant.
    pub fn matches(&self, topic: &Topic) -> bool {
        let mut parts = self.0.split('*');
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = topic.as_str().strip_prefix(first) else {
            return false;
        };
        let Some(last) = parts.next_back() else {
            // There is no star in it.
            return rest.is_empty();
        };
        for part in parts {
            let Some(at) = rest.find(part) else {
                return false;
            };
            rest = &rest[at + part.len()..];
        }
        rest.ends_with(last)
    }

    /// The topic, if the pattern is that of one only.
    pub fn as_topic(&self) -> Option<Topic> {
        let one = !self.0.contains('*');
        one.then(|| Topic::new(&*self.0).ok()).flatten()
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for TopicPattern {
    type Err = InvalidPattern;

    fn from_str(text: &str) -> Result<Self, InvalidPattern> {
        if text.is_empty() {
            return Err(InvalidPattern);
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for TopicPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, topic: &str) -> bool {
        let pattern: TopicPattern = pattern.parse().unwrap();
        pattern.matches(&Topic::new(topic).unwrap())
    }

    #[test]
    fn a_star_stands_for_any_characters_and_all_else_for_itself() {
        for (pattern, topic) in [
            ("orders", "orders"),
            ("orders*", "orders"),
            ("*", "a.b"),
            ("a*", "a.b"),
            ("*.b", "a.b"),
            ("a*c*e", "abcde"),
            ("a**e", "ae"),
            ("*ab*", "aab"),
            ("*a", "aba"),
        ] {
            assert!(matches(pattern, topic), "{pattern} {topic}");
        }
        for (pattern, topic) in [
            ("orders", "orders.created"),
            ("orders", "my.orders"),
            ("orders.*", "orders"),
            ("a*a", "a"),
            ("*a*a*", "a"),
            ("a*c*e", "aedc"),
            ("a.b", "axb"),
            ("?", "a"),
        ] {
            assert!(!matches(pattern, topic), "{pattern} {topic}");
        }
    }

    #[test]
    fn an_empty_pattern_is_refused_and_one_without_stars_is_a_topic() {
        assert_eq!("".parse::<TopicPattern>(), Err(InvalidPattern));
        let one: TopicPattern = "orders".parse().unwrap();
        assert_eq!(one.as_topic(), Some(Topic::new("orders").unwrap()));
        assert_eq!(TopicPattern::any().as_topic(), None);
    }
}
