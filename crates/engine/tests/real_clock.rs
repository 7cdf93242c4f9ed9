//! The relay on the real clock and several threads, where no two moments are the same.

use std::sync::Arc;

use outbox_engine::{Gate, Relay, RelayConfig};
use outbox_message::Message;
use outbox_publisher::PublishErrorKind::Rejected;
use outbox_store::OutboxOperator;
use outbox_store_memory::MemoryStore;
use outbox_testkit::{Reply, ScriptedPublisher};

async fn saved(count: usize) -> MemoryStore {
    let store = MemoryStore::new();
    let mut tx = store.begin();
    for index in 0..count {
        let message =
            Message::new("orders", "").and_then(|message| message.with_id(format!("m-{index}")));
        let message = message
            .and_then(|message| message.with_key(index % 97))
            .expect("a valid message");
        store.save(&mut tx, &message).await.expect("it is saved");
    }
    tx.commit();
    store
}

fn config(name: &str) -> RelayConfig {
    RelayConfig {
        name: Arc::from(name),
        gate: Gate::new(),
        ..RelayConfig::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drain_publishes_everything_and_ends() {
    let (store, broker) = (saved(2_000).await, ScriptedPublisher::new());
    broker.on("m-50", [Reply::Fail(Rejected)]);
    let relay =
        Relay::with_config(store.clone(), broker.clone(), config("relay")).expect("valid settings");
    let report = relay.drain().await.expect("a drain");
    let behind = (50..2_000).step_by(97).fold(0, |count, _| count + 1);
    assert_eq!((report.published, report.retried), (2_000 - behind, 1));
    assert_eq!(store.status().await.expect("a status").pending(), behind);
}

#[tokio::test(flavor = "multi_thread")]
async fn o3_two_relays_share_the_work_and_keep_each_key_in_order() {
    let (store, broker) = (saved(2_000).await, ScriptedPublisher::new());
    let relays = ["a", "b"].map(|name| {
        let relay = Relay::with_config(store.clone(), broker.clone(), config(name))
            .expect("valid settings");
        tokio::spawn(async move { relay.drain().await })
    });
    let mut published = 0;
    for relay in relays {
        published += relay.await.expect("no panic").expect("a drain").published;
    }
    // One of the two may end its drain while the other still holds what is left.
    assert_eq!((published, broker.confirmed().len()), (2_000, 2_000));
    let mut last = [None; 97];
    for id in broker.confirmed() {
        let index: usize = id[2..].parse().expect("an index");
        assert!(
            last[index % 97] < Some(index),
            "{index} came after {:?}",
            last[index % 97]
        );
        last[index % 97] = Some(index);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d4_a_running_relay_stops_when_it_is_told() {
    let (store, broker) = (saved(500).await, ScriptedPublisher::new());
    let relay =
        Relay::with_config(store.clone(), broker.clone(), config("relay")).expect("valid settings");
    let until_done = {
        let broker = broker.clone();
        async move { broker.confirmations(500).await }
    };
    let report = relay.run(until_done).await.expect("a report");
    assert_eq!((report.published, report.left), (500, 0));
}
