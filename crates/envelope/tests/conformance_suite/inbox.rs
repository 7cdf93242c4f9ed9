//! The section about handling each message once, with the inbox and a store in memory.

use outbox_envelope::Received;
use outbox_inbox::Inbox;
use outbox_message::MessageId;
use outbox_store::Consumer;
use outbox_store_memory::MemoryStore;
use serde_json::Value;
use tokio::runtime::Builder;

use crate::suite::{Suite, Verdict, equal, integer, items, text};

pub(crate) fn key(suite: &Suite, case: &Value) -> Verdict {
    equal("key", text(case, "/key_field")?, "meta.id")?;
    let raw = suite.file(text(case, "/envelope_file")?)?;
    let received = Received::read(&raw).map_err(|error| error.to_string())?;
    equal(
        "id",
        received.id.as_deref(),
        Some(text(case, "/expected_key")?),
    )
}

pub(crate) fn sequence(_: &Suite, case: &Value) -> Verdict {
    let runtime = Builder::new_current_thread().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(deliver(case))
}

/// Delivers one message after another, each in a transaction that a handler which fails rolls back.
async fn deliver(case: &Value) -> Verdict {
    let store = MemoryStore::new();
    let inbox = Inbox::new(store.clone());
    let consumer = Consumer::new("billing").map_err(|error| error.to_string())?;
    let mut effects = 0;
    for delivery in items(case, "/deliveries") {
        let id = text(delivery, "/meta_id")?;
        let mut tx = store.begin();
        if delivery.pointer("/forget_before") == Some(&Value::Bool(true)) {
            let id = MessageId::new(id).map_err(|error| error.to_string())?;
            let forgotten = inbox.forget(&mut tx, &consumer, &id).await;
            equal(
                "forgotten",
                forgotten.map_err(|error| error.to_string())?,
                true,
            )?;
            tx.commit();
            tx = store.begin();
        }
        let once = inbox.once(&mut tx, &consumer, id).await;
        let is_duplicate = once.map_err(|error| error.to_string())?.is_duplicate();
        let effect = if is_duplicate { "skip" } else { "run" };
        equal("effect", effect, text(delivery, "/expect_effect")?)?;
        if is_duplicate {
            continue;
        }
        effects += 1;
        match text(delivery, "/outcome")? {
            "ok" => tx.commit(),
            "throw" => drop(tx),
            other => return Err(format!("unknown outcome {other}")),
        }
    }
    // What the suite counts are the calls of the handler, those that failed too.
    equal("effects", effects, integer(case, "/expected_effects")?)
}
