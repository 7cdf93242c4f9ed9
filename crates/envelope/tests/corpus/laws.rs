//! What holds for every body, whatever its bytes. The test `corpus` holds committed bodies to it, and the programs of the
//! folder `fuzz` those that libFuzzer makes up. `serde_json` gives a second opinion where it has one. Leaves out which
//! verdict is right for which body: the vectors say that.

use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use outbox_envelope::{
    DeadLetter, DeadLetterReason, DecodeError, Decoded, Envelope, Malformed, Poison, Received,
    redrive,
};
use serde_json::{Value, value::RawValue};

/// What this crate refuses and the grammar of JSON allows.
const STRICTER: [&str; 3] = [
    "nesting is too deep",
    "an integer has too many digits",
    "a surrogate escape is not paired",
];

/// A body is read by both decoders or by none, as far as it is JSON to others, and what was read is written so that it is
/// read again as the same, with the same values for others.
pub fn decode(raw: &[u8]) {
    let strict = Envelope::decode(raw);
    match Envelope::decode_lenient(raw) {
        Err(malformed) => {
            assert!(malformed.offset <= raw.len());
            let is_object = opinion(raw).is_some_and(|json| json.starts_with('{'));
            assert!(!is_object || STRICTER.contains(&malformed.reason));
            assert_eq!(strict, Err(DecodeError::Malformed(malformed)));
        }
        Ok(decoded) => {
            let json = opinion(raw).expect("what is decoded is JSON");
            assert!(json.starts_with('{'));
            match strict {
                Ok(envelope) => assert_eq!(envelope, decoded.envelope),
                Err(error) => {
                    assert_eq!(error, DecodeError::NoIdentity);
                    assert_eq!(decoded.envelope.urn(), None);
                }
            }
            written(json, &decoded);
        }
    }
}

fn written(json: &str, decoded: &Decoded) {
    let envelope = &decoded.envelope;
    let encoded = envelope.encode().expect("nothing forbidden is left");
    let again = Envelope::decode_lenient(&encoded).expect("what is encoded is decoded");
    assert_eq!(&again.envelope, envelope);
    assert_eq!(
        again.envelope.encode().expect("it was encoded before"),
        encoded
    );
    let others = opinion(encoded.as_bytes()).expect("what is encoded is JSON");
    assert_eq!(others, encoded, "there is no white space around it");
    let data = envelope.data();
    assert_eq!(opinion(data.as_bytes()), Some(&*data));

    // Where nothing had to be dropped or moved, nothing is. Too deep or too large for `serde_json` is no matter here.
    let (Ok(before), Ok(after)) = (
        serde_json::from_str::<Value>(json),
        serde_json::from_str::<Value>(&encoded),
    ) else {
        return;
    };
    let was_moved = before.get("urn").is_some();
    assert!(was_moved || !decoded.warnings.is_empty() || same(&before, &after));
    assert!(data == "null" || same(&after["data"], &serde_json::from_str(&data).expect("read")));
}

/// The verdict says the same as the decoders about what both look at, and looks at nothing but the body itself.
pub fn poison(raw: &[u8]) {
    let verdict = Envelope::poison(raw);
    let decoded = Envelope::decode(raw);
    assert!(decoded.is_ok() || verdict.is_some());
    match &verdict {
        Some(Poison::Malformed(malformed)) => match decoded {
            // Of what is no object they tell something else.
            Err(DecodeError::Malformed(other)) => {
                let first = raw.iter().find(|byte| !b" \t\n\r".contains(byte));
                assert!(other == *malformed || first != Some(&b'{'));
            }
            _ => panic!("what is malformed is not decoded"),
        },
        Some(Poison::BeyondDouble { offset }) => {
            assert!(matches!(raw[*offset], b'-' | b'0'..=b'9'));
        }
        Some(Poison::NoIdentity) => assert!(decoded.is_err()),
        Some(_) => {}
        None => {
            let envelope = decoded.expect("what is not poison is decoded");
            taken(raw, &envelope);
        }
    }
    assert_eq!(Envelope::poison([b" ", raw].concat()), verdict.map(shifted));
}

fn taken(raw: &[u8], envelope: &Envelope) {
    let received = Received::read(raw).expect("it is not poison");
    assert_eq!(Some(&*received.urn), envelope.urn());
    assert_eq!(received.trace.as_deref(), envelope.trace());
    assert_eq!(received.id.as_deref(), envelope.id());
    assert_eq!(
        received.queue.as_deref().unwrap_or("default"),
        envelope.topic()
    );
    assert_eq!(received.attempts, envelope.attempts());
    let has_data = received.data.starts_with('{');
    assert!(has_data || received.data == "null");
    if envelope.accepts() {
        assert_eq!(received.schema_version, Some(1));
        assert!(has_data && received.trace.is_some());
    }

    let encoded = envelope.encode().expect("nothing forbidden is left");
    let again = Received::read(encoded.as_bytes()).expect("what is encoded is no more poison");
    let data = envelope.data();
    let mut cleaned = received;
    cleaned.data = &data;
    assert_eq!(again, cleaned);

    let body = raw.trim_ascii();
    for part in [&body[..body.len() - 1], &body[..body.len() / 2]] {
        assert!(Envelope::poison(part).is_some(), "a part is not the whole");
    }
    assert_eq!(Envelope::poison([raw, b"\r\n"].concat()), None);
    assert!(Envelope::poison([raw, raw].concat()).is_some());
}

/// The same cause one byte further on.
fn shifted(mut poison: Poison) -> Poison {
    if let Poison::Malformed(Malformed { offset, .. }) | Poison::BeyondDouble { offset } =
        &mut poison
    {
        *offset += 1;
    }
    poison
}

/// A record for a dead-letter queue is one JSON object with the block, and every byte of the body is in it. So it is with what
/// is annotated, and a redrive gives that back.
pub fn splice(raw: &[u8]) {
    let error = String::from_utf8_lossy(raw);
    let mut dead_letter = DeadLetter::new(DeadLetterReason::Poison, "orders", 3, 1_749_132_730_000);
    dead_letter.error = Some(&error);
    let record = dead_letter.record(raw);
    Envelope::decode_lenient(&record).expect("a record can be read");
    let members = members(&record).expect("a record is an object");
    let block = members["dead_letter"].get();
    let said: Value = serde_json::from_str(block).expect("the block is not deep");
    assert_eq!(said["error"], *error);
    assert_eq!(said["reason"], "poison");

    match spliceable(raw) {
        Some("{") => assert_eq!(record, format!("{{\"dead_letter\":{block}}}")),
        Some(body) => assert_eq!(record, format!("{body},\"dead_letter\":{block}}}")),
        None => wrapped(raw, &members),
    }
    if let Ok(envelope) = Envelope::decode(raw) {
        annotated(&envelope, &dead_letter, block);
    }
    dead_letter.reason = DeadLetterReason::Failed;
    redriven(raw, &dead_letter);
}

/// What is annotated comes back by a redrive: an envelope without its block and its attempts, and anything else as it was.
fn redriven(raw: &[u8], dead_letter: &DeadLetter<'_>) {
    let annotated = dead_letter.annotate(raw);
    let again = redrive(annotated.as_bytes()).expect("what is annotated can be redriven");
    assert_eq!(again.original_queue.as_deref(), Some("orders"));
    assert_eq!(again.reason.as_deref(), Some("failed"));
    let Ok(envelope) = Envelope::decode(raw) else {
        assert_eq!(again.payload, raw);
        return;
    };
    assert_eq!(again.urn.as_deref(), envelope.urn());
    assert_eq!(again.id.as_deref(), envelope.id());
    let reset = Envelope::decode(&again.payload).expect("it is an envelope still");
    assert_eq!(
        (reset.urn(), reset.data()),
        (envelope.urn(), envelope.data())
    );
    assert_eq!(reset.attempts(), 0);
    let text = str::from_utf8(&again.payload).expect("it was text");
    assert!(
        !members(text)
            .expect("it is an object")
            .contains_key("dead_letter")
    );

    // Nothing is left to change, so that not a byte is.
    let next = dead_letter.annotate(&again.payload);
    let next = redrive(next.as_bytes()).expect("what is annotated can be redriven");
    assert_eq!(next.payload, again.payload);
    let at_once = redrive(&again.payload).expect("an envelope without a block is taken too");
    assert_eq!(at_once.payload, again.payload);
}

/// The body without its last brace, if it is an object that has no block yet.
fn spliceable(raw: &[u8]) -> Option<&str> {
    Envelope::decode_lenient(raw).ok()?;
    let body = opinion(raw)?;
    if members(body)?.contains_key("dead_letter") {
        return None;
    }
    let body = body.strip_suffix('}')?;
    let is_empty = body.trim_end_matches([' ', '\t', '\n', '\r']) == "{";
    Some(if is_empty { "{" } else { body })
}

fn wrapped(raw: &[u8], members: &BTreeMap<String, &RawValue>) {
    let text: String = serde_json::from_str(members["raw"].get()).expect("raw is a string");
    if let Some(encoding) = members.get("raw_encoding") {
        assert_eq!(encoding.get(), "\"base64\"");
        assert!(str::from_utf8(raw).is_err());
        assert_eq!(STANDARD.decode(text).expect("it is base64"), raw);
        assert_eq!(members.len(), 3);
    } else {
        assert_eq!(text.as_bytes(), raw);
        assert_eq!(members.len(), 2);
    }
}

fn annotated(envelope: &Envelope, dead_letter: &DeadLetter<'_>, block: &str) {
    let dead = envelope.clone().dead_letter(dead_letter);
    let encoded = dead.encode().expect("the block is not forbidden");
    assert_eq!(Envelope::decode(&encoded).as_ref(), Ok(&dead));
    let members = members(&encoded).expect("an envelope is an object");
    assert_eq!(members["dead_letter"].get(), block);
    assert_eq!(
        (dead.urn(), dead.id(), dead.data()),
        (envelope.urn(), envelope.id(), envelope.data())
    );
}

/// The one JSON value that fills `raw` but for white space, as `serde_json` sees it, at any depth.
fn opinion(raw: &[u8]) -> Option<&str> {
    serde_json::from_slice::<&RawValue>(raw)
        .ok()
        .map(RawValue::get)
}

fn members(object: &str) -> Option<BTreeMap<String, &RawValue>> {
    serde_json::from_str(object).ok()
}

/// Whether two values are equal. Doubles may be a little apart, as `serde_json` does not round them exactly.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(name, value)| other.get(name).is_some_and(|other| same(value, other)))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(value, other)| same(value, other))
        }
        (Value::Number(one), Value::Number(other)) if one.is_f64() || other.is_f64() => {
            let (one, other) = (
                one.as_f64().expect("any number"),
                other.as_f64().expect("any number"),
            );
            (one - other).abs() <= (one.abs() * 1e-9).max(1e-300)
        }
        _ => one == other,
    }
}
