//! What is written to a dead-letter queue: an envelope with a block that says why, or, of what is poison, a record that keeps
//! every byte. Where it goes, and when a message is given up on, is for consumers to say.

use base64::{Engine, engine::general_purpose::STANDARD};

use super::Envelope;
use crate::{
    Malformed,
    json::{self, Object, Value, skip, write_string},
};

/// The name of the block.
const DEAD_LETTER: &str = "dead_letter";

/// Why a consumer gave up on a message: the block `dead_letter`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadLetter<'a> {
    /// What kind of failure it was.
    pub reason: DeadLetterReason,
    /// What went wrong, for people.
    pub error: Option<&'a str>,
    /// The type of the error, as the consumer's language calls it.
    pub exception: Option<&'a str>,
    /// When, in Unix milliseconds.
    pub failed_at: i64,
    /// The queue from which the message was consumed, and to which a redrive returns it.
    pub original_queue: &'a str,
    /// How often it was delivered.
    pub attempts: i64,
    /// The consumer's language tag.
    pub lang: &'a str,
}

/// The kinds of failure that the format knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeadLetterReason {
    /// The handler failed, as often as it may.
    Failed,
    /// There is no handler for its URN.
    UnknownUrn,
    /// It is [poison](crate::Poison).
    Poison,
}

impl DeadLetterReason {
    /// As it is written: `failed`, `unknown_urn` or `poison`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::UnknownUrn => "unknown_urn",
            Self::Poison => "poison",
        }
    }
}

impl<'a> DeadLetter<'a> {
    /// A message from `original_queue`, given up on after `attempts` deliveries at `failed_at`, in Unix milliseconds. The
    /// language is `rust`, and nothing is said about the error; set the fields to say more.
    pub fn new(
        reason: DeadLetterReason,
        original_queue: &'a str,
        attempts: i64,
        failed_at: i64,
    ) -> Self {
        Self {
            reason,
            error: None,
            exception: None,
            failed_at,
            original_queue,
            attempts,
            lang: "rust",
        }
    }

    /// The record for a dead-letter queue of `raw`, which is poison and cannot be an envelope.
    ///
    /// A JSON object without a member `dead_letter` keeps its bytes, but for white space around it, and gets the block as its
    /// last member. Anything else, beyond a limit of this crate too, is text in a new object: `{"raw":"..",
    /// "dead_letter":{..}}`, in base64 if it is not UTF-8: `{"raw":"..","raw_encoding":"base64","dead_letter":{..}}`.
    pub fn record(&self, raw: impl AsRef<[u8]>) -> String {
        let raw = raw.as_ref();
        let mut record = match str::from_utf8(raw) {
            Ok(text) if takes_block(text) => {
                let members = text.trim_matches(json::SPACE).strip_suffix('}');
                let members = members.expect("an object ends with a brace");
                let is_empty = members[1..].trim_matches(json::SPACE).is_empty();
                if is_empty {
                    "{".to_owned()
                } else {
                    format!("{members},")
                }
            }
            Ok(text) => {
                let mut record = "{\"raw\":".to_owned();
                write_string(text, &mut record);
                record.push(',');
                record
            }
            Err(_) => {
                let encoded = STANDARD.encode(raw);
                format!("{{\"raw\":\"{encoded}\",\"raw_encoding\":\"base64\",")
            }
        };
        write_string(DEAD_LETTER, &mut record);
        record.push(':');
        self.block().write(&mut record);
        record.push('}');
        record
    }

    fn block(&self) -> Object {
        let mut block = Object::default();
        block.set("reason", self.reason.as_str());
        block.set("error", self.error);
        block.set("exception", self.exception);
        block.set("failed_at", self.failed_at);
        block.set("original_queue", self.original_queue);
        block.set("attempts", self.attempts);
        block.set("lang", self.lang);
        block
    }
}

/// Whether `text` is an object that can get the block as one more member.
fn takes_block(text: &str) -> bool {
    let mut has_block = false;
    let object = json::members(text, |reader, name| {
        has_block |= name == DEAD_LETTER;
        skip(reader, 1)?;
        Ok::<_, Malformed>(())
    });
    object.is_ok() && !has_block
}

impl Envelope {
    /// The same envelope for a dead-letter queue: with the block `dead_letter` in the place of one that is there, or last.
    #[must_use]
    pub fn dead_letter(mut self, dead_letter: &DeadLetter<'_>) -> Self {
        self.frame.set(DEAD_LETTER, dead_letter.block());
        self
    }

    /// How often it was delivered before: `attempts`, 0 if that is missing or no integer of 64 bits.
    pub fn attempts(&self) -> i64 {
        match self.frame.get("attempts") {
            Some(Value::Number(json::Number::Integer(attempts))) => *attempts,
            _ => 0,
        }
    }

    /// The same envelope after so many attempts.
    #[must_use]
    pub fn with_attempts(mut self, attempts: i64) -> Self {
        self.frame.set("attempts", attempts);
        self
    }
}
