//! What is published: messages of one key, of many, or of none.

use std::fmt;

use outbox::Message;

/// How messages share keys.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    OneKey,
    Keys(usize),
    Unkeyed,
}

impl Shape {
    /// So many messages of about 300 bytes.
    pub(crate) fn messages(self, topic: &str, count: usize) -> Vec<Message> {
        let message = |n: usize| {
            let payload = format!(r#"{{"number":{n},"filling":"{}"}}"#, "x".repeat(270));
            let message = Message::new(topic, payload).unwrap();
            match self {
                Self::OneKey => message.with_key("the key").unwrap(),
                Self::Keys(keys) => message.with_key(n % keys).unwrap(),
                Self::Unkeyed => message,
            }
        };
        (0..count).map(message).collect()
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OneKey => f.write_str("one key"),
            Self::Keys(keys) => write!(f, "{keys} keys"),
            Self::Unkeyed => f.write_str("no key"),
        }
    }
}
