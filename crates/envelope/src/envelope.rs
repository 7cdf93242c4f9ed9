//! The envelope as a value: what it holds and how a strict consumer judges it. How it comes about is in the modules
//! below, and what brokers show of it in `projection`.

mod dead_letter;
mod decode;
mod encode;
mod letter;
mod make;
mod message;
mod received;

pub use dead_letter::{DeadLetter, DeadLetterReason};
pub use decode::{Decoded, Warning};
pub use received::Received;

pub(crate) use letter::{BASE64, Letter};

use crate::json::{Object, Value};

/// A BabelQueue envelope: a JSON object whose members keep the order and the values they came with, known or not.
///
/// It is made by [`make`](Self::make), read by [`decode`](Self::decode), and taken as it stands by
/// [`from_frame`](Self::from_frame).
#[derive(Debug, Clone, PartialEq)]
pub struct Envelope {
    frame: Object,
}

impl Envelope {
    /// The identity: `job`, or the alias `urn` if `job` is not a string with something in it. It is not trimmed.
    pub fn urn(&self) -> Option<&str> {
        self.text("job").or_else(|| self.text("urn"))
    }

    /// The trace id, unless it is blank or no string.
    pub fn trace(&self) -> Option<&str> {
        self.text("trace_id")
    }

    /// `meta.id`, by which consumers drop duplicates, unless it is empty or no string.
    pub fn id(&self) -> Option<&str> {
        self.meta_text("id")
    }

    /// Where it is to be published: `meta.queue`, or `default` if that is empty or no string.
    pub fn topic(&self) -> &str {
        self.meta_text("queue").unwrap_or("default")
    }

    /// The application's data as JSON text, ready for any deserializer. `null` if there is none.
    ///
    /// `serde_json` reads a double exactly only with its feature `float_roundtrip`, and an integer beyond 64 bits only
    /// where the type asks for one.
    pub fn data(&self) -> String {
        let mut text = String::new();
        self.frame
            .get("data")
            .unwrap_or(&Value::Null)
            .write(&mut text);
        text
    }

    /// Whether a strict consumer takes it: an identity, `meta.schema_version` equal to 1, an object as `data`, an
    /// integer as `attempts`, a trace id that is not blank. Many consumers never ask, and dispatch without.
    pub fn accepts(&self) -> bool {
        let version_is_one = match self.meta_member("schema_version") {
            Some(Value::Number(number)) => number.is_one(),
            // The reference compares loosely, and an envelope it accepts is accepted here.
            Some(Value::Bool(yes)) => *yes,
            _ => false,
        };
        let attempts_is_integer = match self.frame.get("attempts") {
            Some(Value::Number(number)) => number.is_integer(),
            _ => false,
        };
        let data_is_object = self.frame.get("data").is_some_and(Value::is_object);
        let (has_urn, has_trace) = (self.urn().is_some(), self.trace().is_some());
        has_urn && version_is_one && data_is_object && attempts_is_integer && has_trace
    }

    /// The same envelope with other data.
    pub(crate) fn with_data(mut self, data: Value) -> Self {
        self.frame.set("data", data);
        self
    }

    /// A member of the frame that is a string and not blank.
    fn text(&self, name: &str) -> Option<&str> {
        self.frame
            .get(name)?
            .as_str()
            .filter(|text| !is_blank(text))
    }

    fn meta_member(&self, name: &str) -> Option<&Value> {
        self.frame.get("meta")?.as_object()?.get(name)
    }

    /// A member of `meta` that is a string and not empty.
    fn meta_text(&self, name: &str) -> Option<&str> {
        self.meta_member(name)?
            .as_str()
            .filter(|text| !text.is_empty())
    }
}

/// The name of the block that says why a message was given up on.
pub(crate) const DEAD_LETTER: &str = "dead_letter";

/// The white space of the format: six ASCII characters, fewer than Unicode's and one more than `u8::is_ascii_whitespace` knows.
const SPACE: [char; 6] = [' ', '\t', '\n', '\u{b}', '\u{c}', '\r'];

pub(crate) fn is_blank(text: &str) -> bool {
    text.trim_matches(SPACE).is_empty()
}

/// The members of `meta` that no producer may write, with their JSON pointers, in the order in which they are looked for.
const FORBIDDEN_IN_META: [(&str, &str); 4] = [
    ("max_retries", "/meta/max_retries"),
    ("attempts", "/meta/attempts"),
    ("source", "/meta/source"),
    ("ts", "/meta/ts"),
];
