//! Whether bytes are poison, and what most consumers need of those that are not. Both are one pass over the bytes that
//! builds no envelope: types are checked where a member is met, so that of a repeated member each occurrence counts.

use std::borrow::Cow;

use super::{Envelope, is_blank};
use crate::{
    Poison,
    json::{self, Number, Reader, skip},
};

/// What a consumer needs of an envelope that is not poison, borrowed from its bytes. Only a string with escapes in it is
/// copied.
///
/// ```
/// use outbox_envelope::Received;
///
/// let raw = br#"{"job":"urn:babel:orders:created","data":{"id": 1042},"meta":{"id":"m-1"}}"#;
/// let received = Received::read(raw)?;
/// assert_eq!((&*received.urn, received.id.as_deref()), ("urn:babel:orders:created", Some("m-1")));
/// assert_eq!(received.data, r#"{"id": 1042}"#);
/// # Ok::<(), outbox_envelope::Poison>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Received<'a> {
    /// The identity, as [`Envelope::urn`] has it. Not trimmed.
    pub urn: Cow<'a, str>,
    /// `trace_id`, unless it is blank.
    pub trace: Option<Cow<'a, str>>,
    /// `meta.id`, by which consumers drop duplicates, unless it is empty.
    pub id: Option<Cow<'a, str>>,
    /// `meta.queue`, unless it is empty.
    pub queue: Option<Cow<'a, str>>,
    /// `meta.schema_version`. A consumer that is not strict takes any, and none.
    pub schema_version: Option<i64>,
    /// `attempts`, 0 if it is missing or null.
    pub attempts: i64,
    /// The application's data, byte for byte as it came: one JSON object, or `null` if it is missing or null. Members of
    /// repeated names are still in it; [`Envelope::data`] leaves the last.
    pub data: &'a str,
}

/// What stands in `meta`.
#[derive(Default)]
struct Meta<'a> {
    id: Option<Cow<'a, str>>,
    queue: Option<Cow<'a, str>>,
    schema_version: Option<i64>,
}

impl Envelope {
    /// Why no consumer may hand `raw` to a handler; `None` if it may be handled.
    ///
    /// This is the verdict that every consumer goes by, strict or not. What is not poison can be [decoded](Self::decode),
    /// but need not be [accepted](Self::accepts), and the reverse: an accepted envelope may be poison.
    pub fn poison(raw: impl AsRef<[u8]>) -> Option<Poison> {
        Received::read(raw.as_ref()).err()
    }
}

impl<'a> Received<'a> {
    /// Reads what is not poison.
    ///
    /// It is not poison if all of this holds:
    ///
    /// * it is one JSON object in UTF-8 within the limits of this crate;
    /// * it has an identity: `job` or `urn` is a string that is not blank. Of a repeated one the last counts;
    /// * `data`, `meta` and `dead_letter` are objects, missing, or null;
    /// * so are, as strings, `trace_id`, `meta.id`, `meta.queue`, `meta.lang`, `dead_letter.reason`, `dead_letter.error`,
    ///   `dead_letter.exception`, `dead_letter.original_queue` and `dead_letter.lang`;
    /// * and, as integers of 64 bits without fraction and exponent, `attempts`, `meta.schema_version`, `meta.created_at`,
    ///   `dead_letter.failed_at` and `dead_letter.attempts`;
    /// * every number in `data` is within the range of a double.
    ///
    /// Types and ranges hold for every occurrence of a repeated member. Members of other names may be anything.
    ///
    /// # Errors
    ///
    /// [`Poison`]: the first cause that is met.
    pub fn read(raw: &'a [u8]) -> Result<Self, Poison> {
        let text = json::utf8(raw)?;
        if text.trim_matches(json::SPACE) == "null" {
            return Err(Poison::NoIdentity);
        }
        let (mut job, mut urn, mut trace, mut attempts) = (None, None, None, None);
        let mut meta = Meta::default();
        let mut data = "null";
        json::members(text, |reader, name| {
            match &*name {
                "job" => job = identity(reader)?,
                "urn" => urn = identity(reader)?,
                "trace_id" => trace = string(reader, "/trace_id")?,
                "data" => data = object_of_doubles(reader)?,
                "meta" => meta = Meta::read(reader)?,
                "attempts" => attempts = integer(reader, "/attempts")?,
                "dead_letter" => check_dead_letter(reader)?,
                _ => pass(reader, 1)?,
            }
            Ok::<_, Poison>(())
        })?;
        let usable = |text: &Cow<'_, str>| !is_blank(text);
        let not_empty = |text: &Cow<'_, str>| !text.is_empty();
        let urn = job.filter(usable).or_else(|| urn.filter(usable));
        Ok(Self {
            urn: urn.ok_or(Poison::NoIdentity)?,
            trace: trace.filter(usable),
            id: meta.id.filter(not_empty),
            queue: meta.queue.filter(not_empty),
            schema_version: meta.schema_version,
            attempts: attempts.unwrap_or(0),
            data,
        })
    }
}

impl<'a> Meta<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, Poison> {
        let mut meta = Self::default();
        object(reader, "/meta", |reader, name| {
            match name {
                "id" => meta.id = string(reader, "/meta/id")?,
                "queue" => meta.queue = string(reader, "/meta/queue")?,
                "lang" => drop(string(reader, "/meta/lang")?),
                "schema_version" => {
                    meta.schema_version = integer(reader, "/meta/schema_version")?;
                }
                "created_at" => drop(integer(reader, "/meta/created_at")?),
                _ => pass(reader, 2)?,
            }
            Ok(())
        })?;
        Ok(meta)
    }
}

fn check_dead_letter(reader: &mut Reader<'_>) -> Result<(), Poison> {
    object(reader, "/dead_letter", |reader, name| {
        match name {
            "reason" => drop(string(reader, "/dead_letter/reason")?),
            "error" => drop(string(reader, "/dead_letter/error")?),
            "exception" => drop(string(reader, "/dead_letter/exception")?),
            "original_queue" => drop(string(reader, "/dead_letter/original_queue")?),
            "lang" => drop(string(reader, "/dead_letter/lang")?),
            "failed_at" => drop(integer(reader, "/dead_letter/failed_at")?),
            "attempts" => drop(integer(reader, "/dead_letter/attempts")?),
            _ => pass(reader, 2)?,
        }
        Ok(())
    })
}

/// A string, or anything else, which is no identity and no reason to refuse the envelope.
fn identity<'a>(reader: &mut Reader<'a>) -> Result<Option<Cow<'a, str>>, Poison> {
    match reader.text() {
        Some(text) => Ok(Some(text?)),
        None => pass(reader, 1).map(|()| None),
    }
}

fn string<'a>(
    reader: &mut Reader<'a>,
    pointer: &'static str,
) -> Result<Option<Cow<'a, str>>, Poison> {
    match reader.text() {
        Some(text) => Ok(Some(text?)),
        None => null(reader, pointer, "a string").map(|()| None),
    }
}

fn integer(reader: &mut Reader<'_>, pointer: &'static str) -> Result<Option<i64>, Poison> {
    let expected = "an integer of 64 bits";
    match reader.number() {
        Some(number) => match number? {
            Number::Integer(integer) => Ok(Some(integer)),
            _ => Err(Poison::WrongType { pointer, expected }),
        },
        None => null(reader, pointer, expected).map(|()| None),
    }
}

fn object<'a>(
    reader: &mut Reader<'a>,
    pointer: &'static str,
    mut value: impl FnMut(&mut Reader<'a>, &str) -> Result<(), Poison>,
) -> Result<(), Poison> {
    if reader.peek() == Some(b'{') {
        reader.members(|reader, name| value(reader, &name))
    } else {
        null(reader, pointer, "an object")
    }
}

/// `data`, as it is written.
fn object_of_doubles<'a>(reader: &mut Reader<'a>) -> Result<&'a str, Poison> {
    let place = reader.place();
    if reader.peek() != Some(b'{') {
        null(reader, "/data", "an object")?;
    } else if let Some(offset) = skip(reader, 1)? {
        return Err(Poison::BeyondDouble { offset });
    }
    Ok(reader.since(place))
}

fn null(
    reader: &mut Reader<'_>,
    pointer: &'static str,
    expected: &'static str,
) -> Result<(), Poison> {
    if reader.word("null") {
        Ok(())
    } else {
        Err(Poison::WrongType { pointer, expected })
    }
}

/// Passes over a value that may be anything, inside `outer` containers.
fn pass(reader: &mut Reader<'_>, outer: usize) -> Result<(), Poison> {
    skip(reader, outer)?;
    Ok(())
}
