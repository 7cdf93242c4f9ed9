//! The sections about the envelope itself: decoding, encoding again, making, and what encoding refuses.

use outbox_envelope::{
    DeadLetter, DeadLetterReason, DecodeError, Decoded, Envelope, EnvelopeError,
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::suite::{
    Suite, Verdict, at, encoded, equal, integer, items, members, parse, text, truth,
};

pub(crate) fn decoded(suite: &Suite, case: &Value) -> Verdict {
    let envelope = Envelope::decode(suite.fixture(case)?)
        .ok()
        .filter(Envelope::accepts);
    equal("valid", envelope.is_some(), truth(case, "/valid")?)?;
    let Some(envelope) = envelope else {
        return Ok(());
    };
    let read = encoded(&envelope)?;
    equal("urn", envelope.urn(), Some(text(case, "/expect/urn")?))?;
    equal("data", &parse(&envelope.data())?, at(case, "/expect/data")?)?;
    equal(
        "attempts",
        envelope.attempts(),
        integer(case, "/expect/attempts")?,
    )?;
    equal("lang", at(&read, "/meta/lang")?, at(case, "/expect/lang")?)?;
    equal(
        "schema_version",
        at(&read, "/meta/schema_version")?,
        at(case, "/expect/schema_version")?,
    )?;
    for (name, expected) in members(case, "/expect/dead_letter") {
        let pointer = format!("/dead_letter/{name}");
        equal(&pointer, at(&read, &pointer)?, expected)?;
    }
    Ok(())
}

pub(crate) fn reencoded(suite: &Suite, case: &Value) -> Verdict {
    let Decoded { envelope, warnings } = lenient(&suite.fixture(case)?)?;
    equal("accepts", envelope.accepts(), true)?;
    equal("warnings", warnings.len(), 0)?;
    let attempts = envelope.attempts() + 1;
    let mut envelope = envelope.with_attempts(attempts);
    if let Some(apply) = case.pointer("/apply_dead_letter") {
        let reason = match text(apply, "/reason")? {
            "failed" => DeadLetterReason::Failed,
            "unknown_urn" => DeadLetterReason::UnknownUrn,
            "poison" => DeadLetterReason::Poison,
            other => return Err(format!("unknown reason {other}")),
        };
        let queue = text(apply, "/original_queue")?;
        envelope = envelope.dead_letter(&DeadLetter::new(reason, queue, attempts, 7));
    }
    let read = encoded(&envelope)?;
    equal(
        "attempts",
        integer(&read, "/attempts")?,
        integer(case, "/expect_attempts")?,
    )?;
    for (name, expected) in members(case, "/expect_dead_letter") {
        let pointer = format!("/dead_letter/{name}");
        equal(&pointer, at(&read, &pointer)?, expected)?;
    }
    kept(&read, case)
}

pub(crate) fn shape_of_data(suite: &Suite, case: &Value) -> Verdict {
    match text(case, "/mode")? {
        "encode" => {
            let envelope = made(case)?;
            equal(
                "data",
                envelope.data().as_str(),
                text(case, "/expect_encoded_data_json")?,
            )
        }
        "decode" => {
            let envelope = Envelope::decode(suite.fixture(case)?);
            let valid = envelope.is_ok_and(|envelope| envelope.accepts());
            equal("valid", valid, truth(case, "/valid")?)
        }
        other => Err(format!("unknown mode {other}")),
    }
}

pub(crate) fn forbidden(suite: &Suite, case: &Value) -> Verdict {
    equal("expect", text(case, "/expect")?, "warn")?;
    let Decoded { envelope, warnings } = lenient(&suite.fixture(case)?)?;
    let forbidden = text(case, "/forbidden_key")?;
    let named = warnings
        .iter()
        .any(|warning| warning.pointer() == forbidden && warning.to_string().contains(forbidden));
    equal("warned", named, true)?;
    kept(&encoded(&envelope)?, case)
}

pub(crate) fn extended(_: &Suite, case: &Value) -> Verdict {
    let mut envelope = made(case)?;
    for (name, value) in members(case, "/meta") {
        envelope = envelope.meta(name, value).map_err(display)?;
    }
    let first = encoded(&envelope)?;
    let again = Envelope::decode(first.to_string()).map_err(display)?;
    let attempts = again.attempts() + 1;
    let second = encoded(&again.with_attempts(attempts))?;
    for (pointer, expected) in members(case, "/expect_envelope") {
        equal(pointer, at(&first, pointer)?, expected)?;
        equal(pointer, at(&second, pointer)?, expected)?;
    }
    equal("attempts", integer(&second, "/attempts")?, 1)
}

pub(crate) fn refused(_: &Suite, case: &Value) -> Verdict {
    equal("expect", text(case, "/expect")?, "reject")?;
    let made = made(case)?;
    match refused_of(made, case) {
        Err(EnvelopeError::Key { pointer } | EnvelopeError::KeySet { pointer }) => {
            equal("pointer", pointer.as_str(), text(case, "/offending_key")?)
        }
        other => Err(format!("expected an error, got {other:?}")),
    }
}

fn refused_of(mut envelope: Envelope, case: &Value) -> Result<String, EnvelopeError> {
    for (name, value) in members(case, "/meta") {
        envelope = envelope.meta(name, value)?;
    }
    for entry in items(case, "/meta_entries") {
        let name = entry[0].as_str().unwrap_or_default();
        envelope = envelope.meta(name, &entry[1])?;
    }
    let mut frame: Value = serde_json::from_str(&envelope.encode()?).expect("it is JSON");
    for (name, value) in members(case, "/extras_top") {
        frame[name] = value.clone();
    }
    for (name, value) in members(case, "/extras_meta") {
        frame["meta"][name] = value.clone();
    }
    Envelope::from_frame(&frame)?.encode()
}

pub(crate) fn trimmed(suite: &Suite, case: &Value) -> Verdict {
    match text(case, "/mode")? {
        "make" => trimmed_when_made(case),
        "decode" => identified(suite, case),
        "reemit" => reencoded(suite, case),
        "accepts" => {
            let envelope = Envelope::decode(suite.fixture(case)?);
            equal(
                "decoded",
                envelope.is_ok(),
                truth(case, "/expect_decode_ok")?,
            )?;
            let accepts = envelope.is_ok_and(|envelope| envelope.accepts());
            equal("accepts", accepts, truth(case, "/expect_accepts")?)
        }
        other => Err(format!("unknown mode {other}")),
    }
}

fn trimmed_when_made(case: &Value) -> Verdict {
    let trace_id = case.pointer("/trace_id").and_then(Value::as_str);
    let job = text(case, "/urn")?;
    let made = Envelope::make_at(0, || Uuid::from_u128(7), job, &json!({}), trace_id);
    if case.pointer("/expect") == Some(&json!("reject")) {
        return equal(
            "refused",
            matches!(made, Err(EnvelopeError::BlankJob)),
            true,
        );
    }
    let read = encoded(&made.map_err(display)?)?;
    for (name, expected) in members(case, "/expect") {
        let pointer = format!("/{name}");
        equal(&pointer, at(&read, &pointer)?, expected)?;
    }
    Ok(())
}

pub(crate) fn identified(suite: &Suite, case: &Value) -> Verdict {
    let raw = suite.fixture(case)?;
    let envelope = Envelope::decode(&raw);
    if !truth(case, "/valid")? {
        return equal("decoded", envelope, Err(DecodeError::NoIdentity));
    }
    equal(
        "urn",
        envelope.map_err(display)?.urn(),
        Some(text(case, "/expect/urn")?),
    )?;
    let warnings = lenient(&raw)?.warnings;
    equal(
        "warned",
        !warnings.is_empty(),
        truth(case, "/expect_warning")?,
    )
}

/// Whether what a case wants to be kept is there, and what it wants to be gone is not.
fn kept(read: &Value, case: &Value) -> Verdict {
    for (pointer, expected) in members(case, "/expect_preserved") {
        equal(pointer, at(read, pointer)?, expected)?;
    }
    for pointer in items(case, "/expect_absent_after_reencode") {
        let pointer = pointer.as_str().ok_or("a pointer is no string")?;
        equal(pointer, read.pointer(pointer), None::<&Value>)?;
    }
    Ok(())
}

fn made(case: &Value) -> Result<Envelope, String> {
    let made = Envelope::make(text(case, "/urn")?, at(case, "/data")?).map_err(display)?;
    Ok(made.queue(text(case, "/queue")?))
}

fn lenient(raw: &[u8]) -> Result<Decoded, String> {
    Envelope::decode_lenient(raw).map_err(display)
}

fn display(error: impl std::error::Error) -> String {
    error.to_string()
}
