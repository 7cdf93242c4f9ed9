//! The suite's files, and what its checks have in common.

use std::{fmt::Debug, fs, path::PathBuf};

use outbox_envelope::Envelope;
use serde_json::Value;

/// The version whose sections the lists of `plan.rs` are about.
pub(crate) const VERSION: &str = "1.8.0";

/// Nothing, or what differs.
pub(crate) type Verdict = Result<(), String>;

pub(crate) struct Suite {
    folder: PathBuf,
    pub(crate) manifest: Value,
}

impl Suite {
    pub(crate) fn open(folder: PathBuf) -> Result<Self, String> {
        let mut suite = Self {
            folder,
            manifest: Value::Null,
        };
        let manifest = suite.file("manifest.json")?;
        suite.manifest =
            serde_json::from_slice(&manifest).map_err(|error| format!("manifest.json: {error}"))?;
        equal(
            "conformance_version",
            text(&suite.manifest, "/conformance_version")?,
            VERSION,
        )?;
        Ok(suite)
    }

    pub(crate) fn file(&self, name: &str) -> Result<Vec<u8>, String> {
        let path = self.folder.join(name);
        fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// The fixture that a case names.
    pub(crate) fn fixture(&self, case: &Value) -> Result<Vec<u8>, String> {
        self.file(text(case, "/file")?)
    }
}

pub(crate) fn equal<T: PartialEq<U> + Debug, U: Debug>(
    what: &str,
    actual: T,
    expected: U,
) -> Verdict {
    match (actual, expected) {
        (actual, expected) if actual == expected => Ok(()),
        (actual, expected) => Err(format!("{what} is {actual:?}, expected {expected:?}")),
    }
}

/// What stands at a JSON pointer.
pub(crate) fn at<'a>(value: &'a Value, pointer: &str) -> Result<&'a Value, String> {
    value
        .pointer(pointer)
        .ok_or_else(|| format!("{pointer} is missing"))
}

pub(crate) fn text<'a>(value: &'a Value, pointer: &str) -> Result<&'a str, String> {
    let found = at(value, pointer)?;
    found
        .as_str()
        .ok_or_else(|| format!("{pointer} is no string: {found}"))
}

pub(crate) fn integer(value: &Value, pointer: &str) -> Result<i64, String> {
    let found = at(value, pointer)?;
    found
        .as_i64()
        .ok_or_else(|| format!("{pointer} is no integer: {found}"))
}

pub(crate) fn truth(value: &Value, pointer: &str) -> Result<bool, String> {
    let found = at(value, pointer)?;
    found
        .as_bool()
        .ok_or_else(|| format!("{pointer} is no boolean: {found}"))
}

/// The members of the object at `pointer`; none if nothing is there.
pub(crate) fn members<'a>(
    value: &'a Value,
    pointer: &str,
) -> impl Iterator<Item = (&'a String, &'a Value)> {
    value
        .pointer(pointer)
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
}

/// The items of the array at `pointer`; none if nothing is there.
pub(crate) fn items<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> {
    value
        .pointer(pointer)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

pub(crate) fn parse(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("{text}: {error}"))
}

/// The envelope as others read it.
pub(crate) fn encoded(envelope: &Envelope) -> Result<Value, String> {
    parse(&envelope.encode().map_err(|error| error.to_string())?)
}
