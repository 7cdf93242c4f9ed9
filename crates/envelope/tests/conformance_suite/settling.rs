//! The sections about what a consumer does with what it could not handle.

use outbox_envelope::{
    DeadLetterReason,
    projection::{SchemaVersion, pulsar as topics},
    settlement::{DeadLetters, Gated, Policy, Settlement, UnknownUrn},
};
use serde_json::Value;

use crate::suite::{Suite, Verdict, at, equal, integer, items, text};

fn reason(name: &str) -> Result<DeadLetterReason, String> {
    match name {
        "failed" => Ok(DeadLetterReason::Failed),
        "unknown_urn" => Ok(DeadLetterReason::UnknownUrn),
        "poison" => Ok(DeadLetterReason::Poison),
        other => Err(format!("unknown reason {other}")),
    }
}

/// The policy of a case, in which `off` is what it means that no dead letters are written.
fn policy(case: &Value, off: DeadLetters) -> Result<Policy, String> {
    let mut policy = Policy::default();
    policy.dead_letters = match at(case, "/dead_letter")? {
        Value::Bool(true) => DeadLetters::Written,
        Value::Bool(false) => off,
        Value::String(on) if on == "on" => DeadLetters::Written,
        Value::String(on) if on == "off" => off,
        other => return Err(format!("unknown setting {other}")),
    };
    policy.unknown_urn = match case.pointer("/on_unknown_urn").and_then(Value::as_str) {
        None | Some("fail") => UnknownUrn::Fail,
        Some("delete") => UnknownUrn::Delete,
        Some("release") => UnknownUrn::Release,
        Some("dead_letter") => UnknownUrn::DeadLetter,
        Some(other) => return Err(format!("unknown strategy {other}")),
    };
    if case.pointer("/max_attempts").is_some() {
        policy.max_attempts = integer(case, "/max_attempts")?;
    }
    Ok(policy)
}

pub(crate) fn pulsar_exhausted(_: &Suite, case: &Value) -> Verdict {
    let kind = text(case, "/kind")?;
    let body = case.pointer("/body_attempts").and_then(Value::as_i64);
    let property = case.pointer("/bq_attempts").and_then(Value::as_str);
    let count = integer(case, "/redelivery_count")?;
    let attempts = topics::attempts(body.unwrap_or(0), property, count);
    let settled = policy(case, DeadLetters::Dropped)?.settle(reason(kind)?, attempts);
    let outcome = match settled {
        Settlement::Retry { .. } => "retry",
        Settlement::DeadLetter { .. } => "dlq",
        Settlement::Drop => "drop",
        other => return Err(format!("unexpected {other:?}")),
    };
    equal("outcome", outcome, text(case, "/expect/outcome")?)?;
    if let Settlement::DeadLetter { attempts } = settled {
        equal("reason", kind, text(case, "/expect/reason")?)?;
        if case.pointer("/expect/dead_letter_attempts").is_some() {
            let expected = integer(case, "/expect/dead_letter_attempts")?;
            equal("attempts", attempts, expected)?;
        }
    }
    Ok(())
}

pub(crate) fn gated_pulsar(suite: &Suite, case: &Value) -> Verdict {
    gated(suite, case, "version_gate_pulsar", DeadLetters::Dropped)
}

pub(crate) fn gated_artemis(suite: &Suite, case: &Value) -> Verdict {
    gated(suite, case, "version_gate_artemis", DeadLetters::Dropped)
}

pub(crate) fn gated_sqs(suite: &Suite, case: &Value) -> Verdict {
    gated(suite, case, "version_gate_sqs", DeadLetters::Native)
}

pub(crate) fn gated_asb(suite: &Suite, case: &Value) -> Verdict {
    gated(suite, case, "version_gate_asb", DeadLetters::Native)
}

/// A consumer that meets a version it does not read: what it writes where, and whether it acknowledges.
fn gated(suite: &Suite, case: &Value, section: &str, off: DeadLetters) -> Verdict {
    equal("read", SchemaVersion::Text("2").is_read(), false)?;
    let write_fails = case.pointer("/dlq_write").and_then(Value::as_str) == Some("fails");
    let bodies = format!("/{section}/incoming_bodies");
    for body in items(&suite.manifest, &bodies) {
        let body = text(body, "/body")?;
        // As the documentation of the decision says.
        let (outcome, record) = match policy(case, off)?.settle_gated() {
            Gated::DeadLetter if write_fails => ("unsettled", None),
            Gated::DeadLetter => ("dlq_raw", Some(body)),
            Gated::Drop => ("ack", None),
            Gated::Native => ("native", None),
            other => return Err(format!("unknown decision {other:?}")),
        };
        equal("outcome", outcome, text(case, "/expect/outcome")?)?;
        if record.is_some() {
            equal("record", text(case, "/expect/record")?, "incoming_body")?;
        }
    }
    Ok(())
}
