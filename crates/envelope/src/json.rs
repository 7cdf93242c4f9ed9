//! JSON as the reference encoder sees it: members in order, integers of any size, floats as doubles. Leaves out
//! everything about envelopes. Reading is not left to `serde_json`: without its optional features, which would unify
//! into the user's program, it loses order, large integers and deep nesting.
//!
//! What an envelope is asked for stands in its first two levels, outside its data; everything else is kept as text, already
//! in its final form. So nothing recurses into what may be deep, and no input can overflow a stack.

mod canonical;
mod finite;
mod nested;
mod number;
mod object;
mod reader;
mod skip;
mod splice;
mod string;

use std::{borrow::Cow, fmt::Write};

use serde::Serialize;

pub(crate) use canonical::canonical;
pub(crate) use number::Number;
pub(crate) use object::{Object, last_wins};
pub(crate) use reader::Reader;
pub(crate) use skip::skip;
pub(crate) use splice::{Edit, splice, splice_items};
pub(crate) use string::write as write_string;

use crate::{EnvelopeError, Malformed};

/// A JSON value in an envelope.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    /// The frame, or an object in it, but for its data.
    Object(Object),
    /// Any array, or another object, as it is written.
    Nested(String),
}

/// A part of an envelope that an application gives.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    /// As errors call it.
    pub(crate) name: &'static str,
    /// How many containers it stands in.
    pub(crate) outer: usize,
}

/// The text that `raw` is.
pub(crate) fn utf8(raw: &[u8]) -> Result<&str, Malformed> {
    str::from_utf8(raw).map_err(|error| Malformed {
        offset: error.valid_up_to(),
        reason: "the text is not UTF-8",
    })
}

/// Reads one JSON value that fills `text`, but for white space around it, and that is to stand inside `outer` containers.
pub(crate) fn read(text: &str, outer: usize) -> Result<Value, Malformed> {
    let mut reader = Reader::new(text);
    reader.skip_space();
    let value = Value::read(&mut reader, outer)?;
    reader.skip_space();
    reader.end()?;
    Ok(value)
}

/// Reads the one object that fills `text`, but for white space around it, as the frame of an envelope.
pub(crate) fn read_frame(text: &str) -> Result<Object, Malformed> {
    let mut reader = Reader::new(text);
    reader.skip_space();
    let object = Object::read(&mut reader, 0)?;
    reader.skip_space();
    reader.end()?;
    Ok(object)
}

/// Reads the one object that fills `text`, but for white space around it, and builds nothing: `value` reads each member's
/// value, given its name.
pub(crate) fn members<'a, E: From<Malformed>>(
    text: &'a str,
    value: impl FnMut(&mut Reader<'a>, Cow<'a, str>) -> Result<(), E>,
) -> Result<(), E> {
    let mut reader = Reader::new(text);
    reader.skip_space();
    reader.members(value)?;
    reader.skip_space();
    Ok(reader.end()?)
}

/// The white space of JSON, fewer characters than that of the envelope format.
pub(crate) const SPACE: [char; 4] = [' ', '\t', '\n', '\r'];

impl Value {
    /// Serializes what an application gives for `part`.
    pub(crate) fn of<T: Serialize + ?Sized>(part: Part, value: &T) -> Result<Self, EnvelopeError> {
        let refused = |source| EnvelopeError::Serialize {
            part: part.name,
            source,
        };
        let text = finite::check(value)
            .and_then(|()| serde_json::to_string(value))
            .map_err(|error| refused(error.into()))?;
        read(&text, part.outer).map_err(|error| refused(error.into()))
    }

    /// The same, for a part that must be an object.
    pub(crate) fn object_of<T: Serialize + ?Sized>(
        part: Part,
        value: &T,
    ) -> Result<Self, EnvelopeError> {
        let value = Self::of(part, value)?;
        if value.is_object() {
            Ok(value)
        } else {
            Err(EnvelopeError::NotAnObject { part: part.name })
        }
    }

    /// Reads the value that comes next, inside `outer` containers.
    #[inline]
    fn read(reader: &mut Reader<'_>, outer: usize) -> Result<Self, Malformed> {
        match reader.peek() {
            Some(b'{') if outer == 0 => Object::read(reader, outer).map(Self::Object),
            Some(b'{' | b'[') => nested::rewrite(reader, outer).map(Self::Nested),
            _ => reader.scalar(),
        }
    }

    pub(crate) fn write(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(true) => out.push_str("true"),
            Self::Bool(false) => out.push_str("false"),
            Self::Number(number) => write!(out, "{number}").expect("a string takes any text"),
            Self::String(text) => string::write(text, out),
            Self::Object(object) => object.write(out),
            Self::Nested(text) => out.push_str(text),
        }
    }

    /// About how many bytes it takes when it is written.
    fn length(&self) -> usize {
        match self {
            Self::Null | Self::Bool(_) => 5,
            Self::Number(_) => 20,
            Self::String(text) => text.len() + 2,
            Self::Object(object) => object.length(),
            Self::Nested(text) => text.len(),
        }
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// Whether it is an object, of whatever level.
    pub(crate) fn is_object(&self) -> bool {
        match self {
            Self::Object(_) => true,
            Self::Nested(text) => text.starts_with('{'),
            _ => false,
        }
    }

    /// The members of an object in the frame that is not its data.
    pub(crate) fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<Option<&str>> for Value {
    fn from(text: Option<&str>) -> Self {
        text.map_or(Self::Null, Self::from)
    }
}

impl From<i64> for Value {
    fn from(integer: i64) -> Self {
        Self::Number(Number::Integer(integer))
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        Self::Object(object)
    }
}
