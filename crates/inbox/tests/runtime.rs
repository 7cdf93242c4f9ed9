//! What the reference's consumer does with a body, vector by vector, and where this one differs on purpose. The vectors were generated as those of
//! `reference.rs` of the envelope crate.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]
#![allow(
    clippy::unused_async,
    reason = "a handler is async, whether it waits for anything or not"
)]

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use outbox_backoff::Backoff;
use outbox_engine::{Gate, Relay, RelayConfig};
use outbox_inbox::{Delivered, Dispatcher, HandlerError, Incoming, Intake, Processor, UnknownUrn};
use outbox_store::{DeadFilter, OutboxOperator};
use outbox_store_memory::{MemoryStore, MemoryTx};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Vector {
    name: String,
    body: String,
    headers: BTreeMap<String, String>,
    handler: String,
    options: Options,
    processed: u64,
    handled: Vec<Handled>,
    queues_after: BTreeMap<String, Vec<String>>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Options {
    #[serde(rename = "dead_letter")]
    _dead_letter: bool,
    max_attempts: Option<u32>,
    on_unknown_urn: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Handled {
    data: Value,
    is_replay: bool,
    bypassed: Option<String>,
}

/// The reference drops these: without a dead-letter queue, or because it was told to delete what it does not know. Here a message that cannot be handled is
/// always kept, as a dead letter of the store that it was saved in.
const KEPT: [&str; 3] = ["raise-retries-then-drop", "poison-off", "poison-delete"];

/// The reference tries poison again when it has no dead-letter queue. Here no retry is spent on it.
const AT_ONCE: [&str; 1] = ["poison-off"];

struct Service {
    handled: Arc<Mutex<Vec<Handled>>>,
    raises: bool,
}

impl Service {
    async fn handle(&self, _: &mut MemoryTx, it: Delivered<Value>) -> Result<(), HandlerError> {
        self.handled.lock().unwrap().push(Handled {
            is_replay: it.is_replay(),
            bypassed: it.bypass_external_effects(|| "ran".to_owned()),
            data: it.data,
        });
        if self.raises {
            return Err(HandlerError::new("boom"));
        }
        Ok(())
    }
}

#[tokio::test]
async fn a_body_is_handled_as_often_as_by_the_reference_and_ends_where_it_ends_there() {
    let vectors = include_str!("vectors/runtime.json");
    let vectors: Vec<Vector> = serde_json::from_str(vectors).unwrap();
    assert_eq!(vectors.len(), 15);
    for vector in &vectors {
        play(vector).await;
    }
    let names: Vec<&str> = vectors.iter().map(|it| it.name.as_str()).collect();
    assert!(KEPT.iter().chain(&AT_ONCE).all(|it| names.contains(it)));
}

async fn play(vector: &Vector) {
    let name = &vector.name;
    let (incoming, database) = (MemoryStore::new(), MemoryStore::new());
    let delivery = Incoming::new("orders", vector.body.clone());
    let delivery = vector
        .headers
        .iter()
        .fold(delivery, |it, (name, value)| it.header(name, value));
    let intake = Intake::new(incoming.clone());
    intake.take(delivery).await.unwrap();

    let handled = Arc::default();
    let service = Service {
        handled: Arc::clone(&handled),
        raises: match vector.handler.as_str() {
            "ok" => false,
            "raise" => true,
            other => panic!("{name}: an unknown handler: {other}"),
        },
    };
    let unknown_urn = match vector.options.on_unknown_urn.as_deref() {
        None => UnknownUrn::Fail,
        Some("delete") => UnknownUrn::Delete,
        Some("dead_letter") => UnknownUrn::DeadLetter,
        Some(other) => panic!("{name}: an unknown strategy: {other}"),
    };
    let dispatcher = Dispatcher::new(service)
        .on("urn:babel:orders:created", Service::handle)
        .unknown_urn(unknown_urn);
    let processor = Processor::new(database, "reference".parse().unwrap(), dispatcher);
    let config = RelayConfig {
        max_attempts: vector.options.max_attempts.unwrap_or(3),
        backoff: Backoff::fixed(Duration::ZERO),
        gate: Gate::new(),
        ..RelayConfig::default()
    };
    let relay = Relay::with_config(incoming.clone(), processor, config).unwrap();
    let report = relay.drain().await.unwrap();

    let processed = report.published + report.retried + report.dead;
    let expected = if AT_ONCE.contains(&name.as_str()) {
        1
    } else {
        vector.processed
    };
    assert_eq!(processed, expected, "{name}");
    assert_eq!(*handled.lock().unwrap(), vector.handled, "{name}");
    let (dead, _) = incoming.count_dead(&DeadFilter::default()).await.unwrap();
    let is_dead = !vector.queues_after.is_empty() || KEPT.contains(&name.as_str());
    assert_eq!(dead, u64::from(is_dead), "{name}");
}
