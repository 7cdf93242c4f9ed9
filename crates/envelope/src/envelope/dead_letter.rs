//! What is written to a dead-letter queue: an envelope with a block that says why, or a record that keeps every byte of what
//! is none. Where it goes, and when a message is given up on, is for consumers to say; the way back is in `redrive`.

use base64::{Engine, engine::general_purpose::STANDARD};

use super::{
    DEAD_LETTER, Envelope,
    letter::{BASE64, Letter, RAW, RAW_ENCODING},
};
use crate::{
    Malformed,
    json::{Edit, Number, Object, SPACE, Value, splice, utf8, write_string},
};

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

    /// What goes to a dead-letter queue for `raw`, whatever `raw` is.
    ///
    /// An envelope keeps its bytes and gets the block, in the place of one that is there, or last. Anything else is wrapped:
    /// it is text in a new object, `{"raw":"..","dead_letter":{..}}`, in base64 if it is not UTF-8:
    /// `{"raw":"..","raw_encoding":"base64","dead_letter":{..}}`. Both ways [`redrive`](crate::redrive) gives `raw` back, but
    /// for the attempts of an envelope, which are 0 then.
    pub fn annotate(&self, raw: impl AsRef<[u8]>) -> String {
        let raw = raw.as_ref();
        let letter = utf8(raw).and_then(|text| Ok((text, Letter::read(text)?)));
        match letter {
            Ok((text, letter)) if letter.urn().is_some() => self.into_envelope(text, &letter),
            _ => self.wrapped(raw),
        }
    }

    /// The record for a dead-letter queue of `raw`, which is poison and cannot be an envelope.
    ///
    /// A JSON object without a member `dead_letter` keeps its bytes, but for white space around it, and gets the block as its
    /// last member. Anything else, beyond a limit of this crate too, is wrapped as [`annotate`](Self::annotate) says.
    pub fn record(&self, raw: impl AsRef<[u8]>) -> String {
        let raw = raw.as_ref();
        let mut has_block = false;
        let note = |name: &str, _: &str| {
            has_block |= name == DEAD_LETTER;
            Ok(Edit::Keep)
        };
        let spliced =
            utf8(raw).and_then(|text| splice(text.trim_matches(SPACE), note, &self.member()));
        match spliced {
            Ok(record) if !has_block => record,
            _ => self.wrapped(raw),
        }
    }

    fn into_envelope(self, text: &str, letter: &Letter<'_>) -> String {
        let mut block = String::new();
        self.block().write(&mut block);
        let mut is_first = true;
        let edit = |name: &str, _: &str| {
            Ok::<_, Malformed>(match name {
                DEAD_LETTER if is_first => {
                    is_first = false;
                    Edit::Replace(block.clone())
                }
                DEAD_LETTER => Edit::Drop,
                _ => Edit::Keep,
            })
        };
        let last = self.member();
        let last = if letter.has_block { "" } else { &last };
        splice(text, edit, last).expect("what was read as an object is one")
    }

    fn wrapped(&self, raw: &[u8]) -> String {
        let mut record = "{".to_owned();
        let mut member = |name, value: &str| {
            write_string(name, &mut record);
            record.push(':');
            write_string(value, &mut record);
            record.push(',');
        };
        if let Ok(text) = str::from_utf8(raw) {
            member(RAW, text);
        } else {
            member(RAW, &STANDARD.encode(raw));
            member(RAW_ENCODING, BASE64);
        }
        record.push_str(&self.member());
        record.push('}');
        record
    }

    /// The block with its name.
    fn member(&self) -> String {
        let mut member = String::new();
        write_string(DEAD_LETTER, &mut member);
        member.push(':');
        self.block().write(&mut member);
        member
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
            Some(Value::Number(Number::Integer(attempts))) => *attempts,
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
