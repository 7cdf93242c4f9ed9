//! The sections about bodies that no consumer may handle: the verdict, and the record for a dead-letter queue.

use std::collections::{BTreeMap, BTreeSet};

use base64::{Engine, engine::general_purpose::STANDARD};
use outbox_envelope::{DeadLetter, DeadLetterReason, Envelope, Poison, Received};
use serde_json::{Value, value::RawValue};

use crate::suite::{Suite, Verdict, at, equal, items, parse, text};

pub(crate) fn verdict(_: &Suite, case: &Value) -> Verdict {
    let body = text(case, "/body")?;
    let verdict = match Envelope::poison(body) {
        None => "ok",
        Some(_) => "poison",
    };
    equal("verdict", verdict, text(case, "/expect")?)?;
    // What is not poison can be decoded, to the same identity.
    match Received::read(body.as_bytes()) {
        Ok(received) => {
            let envelope = Envelope::decode(body).map_err(|error| error.to_string())?;
            equal("urn", Some(&*received.urn), envelope.urn())
        }
        Err(_) => Ok(()),
    }
}

pub(crate) fn kafka_verdict(_: &Suite, case: &Value) -> Verdict {
    let verdict = match Envelope::poison(text(case, "/body")?) {
        None => "ok",
        Some(Poison::NoIdentity) => "no_identity",
        Some(_) => "poison",
    };
    equal("verdict", verdict, text(case, "/expect")?)
}

pub(crate) fn record(suite: &Suite, case: &Value) -> Verdict {
    let body = match text(case, "/body") {
        Ok(text) => text.as_bytes().to_vec(),
        Err(_) => STANDARD
            .decode(text(case, "/body_base64")?)
            .map_err(|error| error.to_string())?,
    };
    let queue = text(&suite.manifest, "/poison_dlq/original_queue")?;
    let record = DeadLetter::new(DeadLetterReason::Poison, queue, 0, 7).record(&body);
    // Read member by member, because not every reader can represent every number.
    let mut members: BTreeMap<String, Box<RawValue>> =
        serde_json::from_str(&record).map_err(|error| format!("{record}: {error}"))?;
    let block = members.remove("dead_letter").ok_or("there is no block")?;
    let block = parse(block.get())?;
    equal("reason", text(&block, "/reason")?, "poison")?;
    equal("original_queue", text(&block, "/original_queue")?, queue)?;
    if text(case, "/expect/shape")? != "splice_or_wrapper" {
        let mut record = parse(&record)?;
        record
            .as_object_mut()
            .map(|record| record.remove("dead_letter"));
        return equal("record", &record, at(case, "/expect/record")?);
    }
    // Of the two allowed forms this crate has the one that keeps every byte.
    for literal in items(case, "/expect/splice_literals") {
        let literal = literal.as_str().ok_or("a literal is no string")?;
        equal(literal, record.contains(literal), true)?;
    }
    let names: BTreeSet<_> = members.keys().map(String::as_str).collect();
    let expected: BTreeSet<_> = items(case, "/expect/splice_keys")
        .filter_map(Value::as_str)
        .collect();
    equal("names", names, expected)
}
