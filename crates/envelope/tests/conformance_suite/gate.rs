//! The sections about the version that a property shows, by which a payload is read or not.

use outbox_envelope::{Envelope, projection::SchemaVersion};
use serde_json::Value;

use crate::suite::{Suite, Verdict, at, equal, text};

pub(crate) fn kafka(suite: &Suite, case: &Value) -> Verdict {
    of_text(suite, case, "kafka")
}

pub(crate) fn pulsar(suite: &Suite, case: &Value) -> Verdict {
    of_text(suite, case, "pulsar")
}

pub(crate) fn sqs(suite: &Suite, case: &Value) -> Verdict {
    of_text(suite, case, "sqs")
}

pub(crate) fn artemis(suite: &Suite, case: &Value) -> Verdict {
    of_text(suite, case, "artemis")
}

fn of_text(suite: &Suite, case: &Value, section: &str) -> Verdict {
    let value = match case.pointer("/absent") {
        Some(Value::Bool(true)) => &Value::Null,
        _ => at(case, "/value")?,
    };
    if !matches!(value, Value::Null | Value::String(_)) {
        return Err(format!("the property is no text: {value}"));
    }
    gate(suite, case, section, value.as_str().into())
}

pub(crate) fn asb(suite: &Suite, case: &Value) -> Verdict {
    let is_float = case.pointer("/value_type").is_some();
    match at(case, "/value") {
        Ok(Value::Number(number)) if !is_float && number.is_i64() => {
            let long = number.as_i64().ok_or("the property is no integer")?;
            let int = i32::try_from(long).map_err(|error| error.to_string())?;
            gate(suite, case, "asb", SchemaVersion::Integer(long))?;
            gate(suite, case, "asb", SchemaVersion::Integer(int.into()))
        }
        Ok(Value::Number(_) | Value::Bool(_)) => gate(suite, case, "asb", SchemaVersion::Other),
        _ => of_text(suite, case, "asb"),
    }
}

/// Whether the fixture of the section is decoded: it always can be, so it is the gate alone that refuses it.
fn gate(suite: &Suite, case: &Value, section: &str, version: SchemaVersion<'_>) -> Verdict {
    let fixture = text(
        &suite.manifest,
        &format!("/{section}/schema_version_gate/fixture"),
    )?;
    let body = suite.file(fixture)?;
    let verdict = if version.is_read() && Envelope::decode(body).is_ok() {
        "decode"
    } else {
        "reject"
    };
    equal("verdict", verdict, text(case, "/expect")?)
}
