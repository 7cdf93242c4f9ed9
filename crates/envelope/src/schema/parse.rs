//! Reading a schema. What is not understood is passed over, as the reference does.

use std::borrow::Cow;

use thiserror::Error;

use super::{Kind, MAX_SCHEMA_DEPTH, Node, Schema};
use crate::{
    Malformed,
    json::{self, Number, Reader, canonical, skip},
};

/// A schema that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidSchema {
    /// It is not one JSON object.
    #[error("the schema is malformed")]
    Malformed(#[from] Malformed),
    /// There are too many levels of `properties` and `items` in it.
    #[error("the schema has more than {MAX_SCHEMA_DEPTH} levels, at {path}")]
    TooDeep {
        /// Where.
        path: String,
    },
}

impl Schema {
    /// Reads a schema.
    ///
    /// # Errors
    ///
    /// [`InvalidSchema`] if `text` is not one JSON object within the limits of this crate, or has more than
    /// [`MAX_SCHEMA_DEPTH`] levels.
    pub fn parse(text: &str) -> Result<Self, InvalidSchema> {
        let text = text.trim_matches(json::SPACE);
        let mut reader = Reader::new(text);
        skip(&mut reader, 0)?;
        reader.end()?;
        let root = Node::parse(text, String::new(), 0)?;
        Ok(Self { root })
    }
}

impl Node {
    /// `text` is JSON; it is an error here only if it is no object.
    fn parse(text: &str, path: String, depth: usize) -> Result<Self, InvalidSchema> {
        if depth > MAX_SCHEMA_DEPTH {
            return Err(InvalidSchema::TooDeep { path });
        }
        let mut node = Self::default();
        for (name, value) in members(text)? {
            match &*name {
                "const" => node.constant = Some(canonical(value, 0)?),
                "enum" => node.one_of = texts(value)?,
                "type" => node.kind = string(value).and_then(|name| Kind::named(&name)),
                "required" => {
                    let names = items(value)?.into_iter().flatten();
                    let names = names.filter_map(string);
                    node.required = names.map(Cow::into_owned).collect();
                }
                "properties" if value.starts_with('{') => {
                    for (name, schema) in members(value)? {
                        if schema.starts_with('{') {
                            let path = join(&path, &name);
                            let property = Self::parse(schema, path, depth + 1)?;
                            node.properties.insert(name.into_owned(), property);
                        }
                    }
                }
                "additionalProperties" => node.is_closed = value == "false",
                "items" if value.starts_with('{') => {
                    let items = Self::parse(value, format!("{path}[]"), depth + 1)?;
                    node.items = Some(Box::new(items));
                }
                "minLength" => node.min_length = double(value).map(f64::trunc),
                "minimum" => node.minimum = double(value),
                "x-gdpr-sensitive" => node.sensitive = mark(value),
                _ => {}
            }
        }
        node.path = path;
        Ok(node)
    }
}

impl Kind {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "object" => Self::Object,
            "array" => Self::Array,
            "string" => Self::String,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            "null" => Self::Null,
            _ => return None,
        })
    }
}

/// The members of an object, with their values as they are written. Of a repeated name the last counts.
pub(super) fn members(text: &str) -> Result<Vec<(Cow<'_, str>, &str)>, Malformed> {
    let mut members = Vec::new();
    json::members(text, |reader, name| {
        let place = reader.place();
        skip(reader, 1)?;
        members.push((name, reader.since(place)));
        Ok::<_, Malformed>(())
    })?;
    Ok(json::last_wins(members))
}

/// The items of an array, as they are written; `None` if it is something else.
fn items(text: &str) -> Result<Option<Vec<&str>>, Malformed> {
    if !text.starts_with('[') {
        return Ok(None);
    }
    let mut items = Vec::new();
    Reader::new(text).items(|reader| {
        let place = reader.place();
        skip(reader, 1)?;
        items.push(reader.since(place));
        Ok::<_, Malformed>(())
    })?;
    Ok(Some(items))
}

/// The canonical texts of the items of an array.
fn texts(text: &str) -> Result<Option<Vec<String>>, Malformed> {
    let texts = items(text)?.map(|items| items.into_iter().map(|item| canonical(item, 0)));
    texts.map(Iterator::collect).transpose()
}

fn string(text: &str) -> Option<Cow<'_, str>> {
    Reader::new(text).text()?.ok()
}

/// The double nearest to a number.
pub(super) fn double(text: &str) -> Option<f64> {
    let number: Number = Reader::new(text).number()?.ok()?;
    number.to_string().parse().ok()
}

/// The category of a mark: a string that says something, or `true`.
fn mark(text: &str) -> Option<String> {
    match string(text) {
        Some(category) if !category.is_empty() => Some(category.into_owned()),
        _ => (text == "true").then(String::new),
    }
}

pub(super) fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}
