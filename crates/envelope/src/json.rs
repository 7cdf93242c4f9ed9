//! JSON as the reference encoder sees it: members in order, integers of any size, floats as doubles. Leaves out
//! everything about envelopes; `serde_json` only serializes the application's values, since without its optional
//! features it loses order, large integers and deep nesting.

mod number;
mod object;
mod read;
mod write;

use serde::Serialize;

pub(crate) use number::Number;
pub(crate) use object::Object;
pub(crate) use read::read;

use crate::EnvelopeError;

/// A JSON value. It nests no deeper than [`crate::MAX_DEPTH`], so that walking it by recursion is safe.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    Array(Vec<Value>),
    Object(Object),
}

impl Value {
    /// Serializes what an application gives for `part`.
    pub(crate) fn of<T: Serialize + ?Sized>(part: Part, value: &T) -> Result<Self, EnvelopeError> {
        let text = serde_json::to_string(value).map_err(|error| EnvelopeError::Serialize {
            part: part.name,
            source: Box::new(error),
        })?;
        read(&text, part.outer).map_err(|error| EnvelopeError::Serialize {
            part: part.name,
            source: Box::new(error),
        })
    }

    /// The same, for a part that must be an object.
    pub(crate) fn object_of<T: Serialize + ?Sized>(
        part: Part,
        value: &T,
    ) -> Result<Object, EnvelopeError> {
        match Self::of(part, value)? {
            Self::Object(object) => Ok(object),
            _ => Err(EnvelopeError::NotAnObject { part: part.name }),
        }
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }
}

/// A part of an envelope that an application gives.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    /// As errors call it.
    pub(crate) name: &'static str,
    /// How many containers it stands in.
    pub(crate) outer: usize,
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        Self::Object(object)
    }
}

impl From<i64> for Value {
    fn from(integer: i64) -> Self {
        Self::Number(Number::Integer(integer))
    }
}
