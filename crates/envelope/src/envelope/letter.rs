//! What stands in a dead letter, read in one pass that builds no envelope. It is as strict as decoding about JSON, and takes
//! members of other types for missing, as decoding does.

use std::borrow::Cow;

use super::{DEAD_LETTER, is_blank};
use crate::{
    Malformed,
    json::{self, Reader, skip},
};

/// The name of the member that holds the text of what is no envelope.
pub(crate) const RAW: &str = "raw";

/// The name of the member that says how that text is encoded, if it is.
pub(crate) const RAW_ENCODING: &str = "raw_encoding";

/// The encoding of bytes that are no text.
pub(crate) const BASE64: &str = "base64";

/// The members of a dead letter that decide what becomes of it. Of a repeated one the last counts.
#[derive(Debug, Default)]
pub(crate) struct Letter<'a> {
    job: Option<Cow<'a, str>>,
    alias: Option<Cow<'a, str>>,
    pub(crate) trace: Option<Cow<'a, str>>,
    pub(crate) id: Option<Cow<'a, str>>,
    pub(crate) queue: Option<Cow<'a, str>>,
    pub(crate) has_attempts: bool,
    /// Whether there is a member for the block, whatever it is.
    pub(crate) has_block: bool,
    pub(crate) reason: Option<Cow<'a, str>>,
    pub(crate) error: Option<Cow<'a, str>>,
    pub(crate) original_queue: Option<Cow<'a, str>>,
    pub(crate) raw: Option<Cow<'a, str>>,
    pub(crate) raw_encoding: Option<Cow<'a, str>>,
}

impl<'a> Letter<'a> {
    pub(crate) fn read(object: &'a str) -> Result<Self, Malformed> {
        let mut letter = Self::default();
        json::members(object, |reader, name| {
            match &*name {
                "job" => letter.job = string(reader, 1)?.filter(|job| !is_blank(job)),
                "urn" => letter.alias = string(reader, 1)?.filter(|urn| !is_blank(urn)),
                "trace_id" => letter.trace = text(reader, 1)?,
                "meta" => letter.read_meta(reader)?,
                "attempts" => {
                    letter.has_attempts = true;
                    skip(reader, 1)?;
                }
                DEAD_LETTER => letter.read_block(reader)?,
                RAW => letter.raw = string(reader, 1)?,
                RAW_ENCODING => letter.raw_encoding = text(reader, 1)?,
                _ => drop(skip(reader, 1)?),
            }
            Ok::<_, Malformed>(())
        })?;
        Ok(letter)
    }

    /// The identity: without one it is no envelope.
    pub(crate) fn urn(&self) -> Option<&Cow<'a, str>> {
        self.job.as_ref().or(self.alias.as_ref())
    }

    fn read_meta(&mut self, reader: &mut Reader<'a>) -> Result<(), Malformed> {
        (self.id, self.queue) = (None, None);
        object(reader, |reader, name| {
            match name {
                "id" => self.id = text(reader, 2)?,
                "queue" => self.queue = text(reader, 2)?,
                _ => drop(skip(reader, 2)?),
            }
            Ok(())
        })
    }

    fn read_block(&mut self, reader: &mut Reader<'a>) -> Result<(), Malformed> {
        self.has_block = true;
        (self.reason, self.error, self.original_queue) = (None, None, None);
        object(reader, |reader, name| {
            match name {
                "reason" => self.reason = text(reader, 2)?,
                "error" => self.error = text(reader, 2)?,
                "original_queue" => self.original_queue = text(reader, 2)?,
                _ => drop(skip(reader, 2)?),
            }
            Ok(())
        })
    }
}

/// The string that comes next; anything else is passed over. It stands inside `outer` containers.
fn string<'a>(reader: &mut Reader<'a>, outer: usize) -> Result<Option<Cow<'a, str>>, Malformed> {
    match reader.text() {
        Some(text) => text.map(Some),
        None => skip(reader, outer).map(|_| None),
    }
}

/// The same, unless it is empty.
fn text<'a>(reader: &mut Reader<'a>, outer: usize) -> Result<Option<Cow<'a, str>>, Malformed> {
    Ok(string(reader, outer)?.filter(|text| !text.is_empty()))
}

/// Reads the object that comes next; anything else is passed over.
fn object<'a>(
    reader: &mut Reader<'a>,
    mut value: impl FnMut(&mut Reader<'a>, &str) -> Result<(), Malformed>,
) -> Result<(), Malformed> {
    if reader.peek() == Some(b'{') {
        reader.members(|reader, name| value(reader, &name))
    } else {
        skip(reader, 1).map(drop)
    }
}
