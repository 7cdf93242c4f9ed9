//! What is wrong with a line that looks like a BabelQueue envelope and is not accepted as one. Whether it is accepted is
//! decided elsewhere.

use std::collections::HashMap;

use outbox::envelope::Envelope;
use serde_json::{Value, value::RawValue};

/// What a strict consumer misses; `None` if the line does not look like an envelope.
pub(super) fn refusal(text: &str) -> Option<String> {
    let frame: HashMap<String, &RawValue> = serde_json::from_str(text).ok()?;
    if !frame.contains_key("job") && !frame.contains_key("urn") {
        return None;
    }
    let envelope = match Envelope::decode_lenient(text) {
        Ok(decoded) => decoded.envelope,
        Err(malformed) => return Some(malformed.to_string()),
    };
    let needs = [
        (envelope.urn().is_some(), "job, a text that is not blank"),
        (
            envelope.trace().is_some(),
            "trace_id, a text that is not blank",
        ),
        (envelope.data().starts_with('{'), "data, an object"),
        (is_version_one(&frame), "meta.schema_version 1"),
        (
            frame.get("attempts").is_some_and(|raw| is_integer(raw)),
            "attempts, an integer",
        ),
    ];
    let missing: Vec<&str> = needs
        .into_iter()
        .filter(|(has, _)| !has)
        .map(|(_, need)| need)
        .collect();
    Some(format!("it needs {}", missing.join("; ")))
}

fn is_version_one(frame: &HashMap<String, &RawValue>) -> bool {
    let meta = frame.get("meta").map(|raw| raw.get()).unwrap_or_default();
    let meta: HashMap<String, Value> = serde_json::from_str(meta).unwrap_or_default();
    match meta.get("schema_version") {
        Some(Value::Number(number)) => number.as_f64() == Some(1.0),
        Some(Value::Bool(yes)) => *yes,
        _ => false,
    }
}

/// By its literal: `1.0` is none.
fn is_integer(raw: &RawValue) -> bool {
    let digits = raw.get().strip_prefix('-').unwrap_or(raw.get());
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_a_strict_consumer_misses_is_named() {
        assert_eq!(
            refusal(
                r#"{"job":" ","trace_id":7,"data":[],"meta":{"schema_version":2},"attempts":"0"}"#
            )
            .unwrap(),
            "it needs job, a text that is not blank; trace_id, a text that is not blank; data, an object; \
             meta.schema_version 1; attempts, an integer"
        );
        assert_eq!(
            refusal(r#"{"urn":"urn:a","trace_id":"t","data":{},"meta":{"schema_version":1},"attempts":1e0}"#)
                .unwrap(),
            "it needs attempts, an integer"
        );
        assert_eq!(
            refusal(r#"{"job":"urn:a","trace_id":"t","data":{},"meta":[],"attempts":-1}"#).unwrap(),
            "it needs meta.schema_version 1"
        );
    }

    #[test]
    fn what_no_envelope_may_hold_is_told_by_its_place() {
        let deep = format!("{}{}", "[".repeat(2000), "]".repeat(2000));
        let refused = refusal(&format!(r#"{{"job":"urn:a","x":{deep}}}"#)).unwrap();
        assert!(refused.contains(" at byte "), "{refused}");
    }

    #[test]
    fn a_line_without_job_and_urn_is_no_envelope() {
        assert_eq!(refusal(r#"{"topic":"t","payload":{"job":1}}"#), None);
        assert_eq!(refusal("{"), None);
    }
}
