//! A consumer of one queue, with the decisions of this toolkit, beside what the reference's consumer does with the same message.
//! The vectors were generated as those of `reference.rs`.

use std::collections::{BTreeMap, VecDeque};

use outbox_envelope::{
    DeadLetter, DeadLetterReason, Envelope, Received,
    settlement::{DeadLetters, Policy, Settlement, UnknownUrn},
};
use outbox_inbox::bypass_external_effects;
use outbox_message::Headers;
use serde::Deserialize;
use serde_json::{Value, json};

/// The queue that is consumed.
const QUEUE: &str = "orders";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    name: String,
    body: String,
    headers: BTreeMap<String, String>,
    handler: String,
    options: Options,
    processed: usize,
    handled: Vec<Value>,
    queues_after: BTreeMap<String, Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    #[serde(default)]
    dead_letter: bool,
    max_attempts: Option<i64>,
    on_unknown_urn: Option<String>,
}

impl Options {
    fn policy(&self) -> Policy {
        let mut policy = Policy::default();
        policy.max_attempts = self.max_attempts.unwrap_or(policy.max_attempts);
        if !self.dead_letter {
            policy.dead_letters = DeadLetters::Dropped;
        }
        policy.unknown_urn = match self.on_unknown_urn.as_deref() {
            None | Some("fail") => UnknownUrn::Fail,
            Some("delete") => UnknownUrn::Delete,
            Some("release") => UnknownUrn::Release,
            Some("dead_letter") => UnknownUrn::DeadLetter,
            Some(other) => panic!("unknown strategy {other}"),
        };
        policy
    }
}

/// What a consumer did.
#[derive(Default)]
struct Consumed {
    processed: usize,
    handled: Vec<Value>,
    dead: Vec<String>,
}

/// Consumes until nothing is left. A message that is poison keeps its bytes, so the broker counts its deliveries.
fn consume(run: &Run) -> Consumed {
    let policy = run.options.policy();
    let pairs = run.headers.iter();
    let headers = Headers::from_pairs(pairs.map(|(name, value)| (name.as_str(), value.as_str())))
        .expect("headers are valid");
    let mut consumed = Consumed::default();
    let mut queue = VecDeque::from([(run.body.clone(), 0)]);
    while let Some((body, deliveries)) = queue.pop_front() {
        consumed.processed += 1;
        let (reason, attempts) = match Received::read(body.as_bytes()) {
            Err(_) => (DeadLetterReason::Poison, deliveries),
            Ok(received) if received.urn != "urn:babel:orders:created" => {
                (DeadLetterReason::UnknownUrn, received.attempts)
            }
            Ok(received) => {
                let data: Option<Value> = serde_json::from_str(received.data).expect("it is JSON");
                let ran = bypass_external_effects(&headers, || "ran");
                consumed.handled.push(json!({
                    "data": data.unwrap_or_else(|| json!({})),
                    "is_replay": ran.is_none(),
                    "bypassed": ran,
                }));
                if run.handler == "ok" {
                    continue;
                }
                (DeadLetterReason::Failed, received.attempts)
            }
        };
        match policy.settle(reason, attempts) {
            Settlement::Retry { attempts } => {
                let again = Envelope::decode(&body).map(|envelope| {
                    let counted = envelope.with_attempts(attempts).encode();
                    counted.expect("nothing in it is forbidden")
                });
                queue.push_back((again.unwrap_or(body), attempts));
            }
            Settlement::DeadLetter { attempts } => {
                consumed.dead.push(dead(run, &body, reason, attempts));
            }
            Settlement::Drop => {}
            other => panic!("unexpected {other:?}"),
        }
    }
    consumed
}

/// The dead letter, with the words of the reference for what went wrong.
fn dead(run: &Run, body: &str, reason: DeadLetterReason, attempts: i64) -> String {
    let expected = &run.queues_after["orders.dlq"][0];
    let expected: Value = serde_json::from_str(expected).expect("it is JSON");
    let block = &expected["dead_letter"];
    let envelope = Envelope::decode(body).ok();
    let queue = envelope
        .as_ref()
        .map_or(QUEUE, |envelope| match envelope.topic() {
            "default" => QUEUE,
            queue => queue,
        });
    let mut dead_letter = DeadLetter::new(reason, queue, attempts, 1_749_132_730_000);
    dead_letter.error = block["error"].as_str();
    dead_letter.exception = block["exception"].as_str();
    dead_letter.lang = "python";
    match &envelope {
        Some(envelope) => {
            let dead = envelope.clone().with_attempts(attempts);
            let dead = dead.dead_letter(&dead_letter).encode();
            dead.expect("nothing in it is forbidden")
        }
        None => dead_letter.record(body),
    }
}

#[test]
fn every_message_is_handled_retried_and_given_up_on_as_by_the_reference() {
    let runs: Vec<Run> = serde_json::from_str(include_str!("vectors/runtime.json"))
        .expect("the vectors have the shape of the struct");
    assert_eq!(runs.len(), 15, "no entry may get lost");
    for run in &runs {
        let name = &run.name;
        let consumed = consume(run);
        assert_eq!(consumed.processed, run.processed, "{name}");
        assert_eq!(consumed.handled, run.handled, "{name}");
        let dead = run.queues_after.get("orders.dlq").cloned();
        assert_eq!(consumed.dead, dead.unwrap_or_default(), "{name}");
        assert!(
            run.queues_after.keys().all(|queue| queue == "orders.dlq"),
            "{name}"
        );
    }
}
