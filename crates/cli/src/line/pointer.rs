//! JSON pointers (RFC 6901) into a line, without turning its numbers into floating point: a key of thirty digits stays one.

use std::{collections::HashMap, str::FromStr};

use serde_json::value::RawValue;
use thiserror::Error;

use super::BadLine;

/// A pointer to a value, such as `/data/order/id`.
#[derive(Debug, Clone)]
pub(crate) struct Pointer {
    text: String,
    steps: Vec<String>,
}

/// Why a text is no pointer.
#[derive(Debug, Error)]
#[error(
    "{0:?} is no JSON pointer; write it as /data/order_id, with ~1 for a slash in a name and ~0 for a tilde"
)]
pub(crate) struct BadPointer(String);

impl FromStr for Pointer {
    type Err = BadPointer;

    fn from_str(text: &str) -> Result<Self, BadPointer> {
        let bad = || BadPointer(text.to_owned());
        let steps = text.strip_prefix('/').ok_or_else(bad)?;
        let unescape = |step: &str| {
            let rest = step.replace("~0", "").replace("~1", "");
            (!rest.contains('~')).then(|| step.replace("~1", "/").replace("~0", "~"))
        };
        Ok(Self {
            text: text.to_owned(),
            steps: steps
                .split('/')
                .map(unescape)
                .collect::<Option<_>>()
                .ok_or_else(bad)?,
        })
    }
}

impl Pointer {
    /// The key at this place of `json`: a string, or a number as it is written there. `null` is no key.
    pub(super) fn key_in(&self, json: &str) -> Result<Option<String>, BadLine> {
        let bad = |found| BadLine::Key {
            pointer: self.text.clone(),
            found,
        };
        let mut at = serde_json::from_str(json).map_err(BadLine::Json)?;
        for step in &self.steps {
            at = child(at, step).ok_or_else(|| bad("missing"))?;
        }
        key_text(at).map_err(bad)
    }
}

/// The value as a key, or what it is instead.
pub(super) fn key_text(value: &RawValue) -> Result<Option<String>, &'static str> {
    let text = value.get();
    match text.as_bytes().first() {
        Some(b'"') => serde_json::from_str(text)
            .map(Some)
            .map_err(|_| "no valid string"),
        Some(b'n') => Ok(None),
        Some(b't' | b'f') => Err("a boolean"),
        Some(b'[') => Err("an array"),
        Some(b'{') => Err("an object"),
        _ => Ok(Some(text.to_owned())),
    }
}

fn child<'a>(value: &'a RawValue, step: &str) -> Option<&'a RawValue> {
    if value.get().starts_with('[') {
        let items: Vec<&RawValue> = serde_json::from_str(value.get()).ok()?;
        return items.get(step.parse::<usize>().ok()?).copied();
    }
    let mut members: HashMap<String, &RawValue> = serde_json::from_str(value.get()).ok()?;
    members.remove(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rfc_6901_is_a_pointer() {
        for bad in ["", "data", "data/id", "/a~", "/a~2b"] {
            assert!(bad.parse::<Pointer>().is_err(), "{bad}");
        }
        let pointer: Pointer = "/~01/".parse().unwrap();
        assert_eq!(pointer.steps, ["~1", ""]);
    }
}
