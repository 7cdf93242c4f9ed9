//! What is written to dead-letter queues, byte for byte as the reference writes it: records of what is poison, and blocks in
//! envelopes. The vectors were generated as those of `reference.rs`.

use base64::{Engine, engine::general_purpose::STANDARD};
use outbox_envelope::{DeadLetter, DeadLetterReason, Envelope};
use serde::Deserialize;

#[derive(Deserialize)]
struct Records {
    block: Block,
    cases: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Block {
    reason: String,
    error: Option<String>,
    exception: Option<String>,
    failed_at: i64,
    original_queue: String,
    attempts: i64,
    lang: String,
}

impl Block {
    fn dead_letter(&self) -> DeadLetter<'_> {
        let reasons = [
            DeadLetterReason::Failed,
            DeadLetterReason::UnknownUrn,
            DeadLetterReason::Poison,
        ];
        let reason = reasons
            .into_iter()
            .find(|reason| reason.as_str() == self.reason);
        let reason = reason.expect("the reason is known");
        let mut dead_letter =
            DeadLetter::new(reason, &self.original_queue, self.attempts, self.failed_at);
        dead_letter.error = self.error.as_deref();
        dead_letter.exception = self.exception.as_deref();
        dead_letter.lang = &self.lang;
        dead_letter
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    body: Option<String>,
    body_base64: Option<String>,
    record: String,
}

#[test]
fn every_poison_record_has_the_bytes_of_the_reference() {
    let records: Records = serde_json::from_str(include_str!("vectors/poison_record.json"))
        .expect("the vectors have the shape of the struct");
    assert_eq!(records.cases.len(), 25, "no entry may get lost");
    for entry in &records.cases {
        let name = &entry.name;
        let body = match (&entry.body, &entry.body_base64) {
            (Some(text), None) => text.as_bytes().to_vec(),
            (None, Some(encoded)) => STANDARD.decode(encoded).unwrap(),
            _ => panic!("{name} has no body"),
        };
        let record = records.block.dead_letter().record(body);
        assert_eq!(record, entry.record, "{name}");
    }
}

#[derive(Deserialize)]
struct Case {
    name: String,
    encoded: Option<String>,
}

fn cases() -> Vec<Case> {
    serde_json::from_str(include_str!("vectors/cases.json"))
        .expect("the vectors have the shape of the struct")
}

#[derive(Deserialize)]
struct Dead {
    dead_letter: Block,
}

#[test]
fn every_block_of_a_dead_letter_is_written_as_the_reference_writes_it() {
    let mut count = 0;
    for case in cases() {
        let Some(encoded) = case.encoded else {
            continue;
        };
        let Some((alive, _)) = encoded.split_once(",\"dead_letter\":") else {
            continue;
        };
        let Dead { dead_letter } = serde_json::from_str(&encoded).unwrap();
        let envelope = Envelope::decode(format!("{alive}}}")).unwrap();
        let dead = envelope.dead_letter(&dead_letter.dead_letter());
        assert_eq!(dead.encode().unwrap(), encoded, "{}", case.name);
        // A second death takes the place of the first.
        let other = DeadLetter::new(DeadLetterReason::Failed, "other", 9, 9);
        let again = dead
            .dead_letter(&other)
            .dead_letter(&dead_letter.dead_letter());
        assert_eq!(again.encode().unwrap(), encoded, "{}", case.name);
        count += 1;
    }
    assert_eq!(count, 7, "no entry may get lost");
}
