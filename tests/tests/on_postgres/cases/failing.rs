//! Messages that fail, alone and together.

use std::{error::Error, time::Duration};

use outbox::{
    Key, RelayConfig,
    backoff::Backoff,
    message::{Lane, Lanes},
    publisher::PublishErrorKind::{Rejected, Unavailable},
    relay::{Gate, RelayError},
    store::{DeadFilter, DeadPage, DeadPayload, OutboxOperator},
};
use outbox_testkit::{Reply, ScriptedPublisher};

use crate::shop::{Shop, message, message_to, until};

fn quick(name: &str) -> RelayConfig {
    RelayConfig {
        name: name.into(),
        transient_delay: Duration::from_millis(10),
        poll_min: Duration::from_millis(5),
        poll_max: Duration::from_millis(20),
        ..RelayConfig::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn o7_case_10_one_transient_failure_leaves_the_batch_and_other_topics_alone() {
    let mut shop = Shop::open().await;
    shop.broker = ScriptedPublisher::new().route("payments", "bank");
    shop.broker.on("a", [Reply::Fail(Unavailable)]);
    let mut messages = vec![message("order-1", "a")];
    for n in 0..50 {
        messages.push(message(format!("order-x{n}"), &format!("o{n}")));
        messages.push(message_to("payments", n, &format!("p{n}")));
    }
    shop.save(&messages).await;
    // It fails when the batch is out of the store: what is claimed while the destination is known to be down is set aside instead (F3).
    shop.broker.hold("a");
    shop.broker.hold("p49");
    let relay = shop.start(quick("relay")).await;
    shop.begun(101).await;
    shop.broker.let_go("a");
    shop.begun(102).await;
    shop.broker.let_go("p49");
    let report = relay.stop().await;
    assert_eq!((report.published, report.retried), (101, 1));
    for message in &messages {
        let id = message.id.as_str();
        assert_eq!(shop.broker.times(id), if id == "a" { 2 } else { 1 }, "{id}");
    }
    let mut handed = shop.broker.handed().into_iter();
    assert!(handed.all(|handed| handed.attempts == 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn p3_case_11_messages_behind_a_batch_that_always_fails_go_out() {
    let shop = Shop::open().await;
    let old: Vec<String> = (0..10).map(|n| format!("old-{n}")).collect();
    let new: Vec<String> = (0..10).map(|n| format!("new-{n}")).collect();
    for id in &old {
        shop.broker.on(id, [Reply::Fail(Rejected); 100]);
    }
    for id in old.iter().chain(&new) {
        let key = if id.ends_with(['0', '2', '4', '6', '8']) {
            Key::from(id)
        } else {
            Key::NONE
        };
        shop.save(&[message(key, id)]).await;
    }
    for name in ["one", "two", "three"] {
        let batch = 10;
        shop.drain(RelayConfig {
            batch,
            ..quick(name)
        })
        .await;
    }
    let mut received = shop.broker.received();
    received.sort();
    assert_eq!(received, new);
    for id in &old {
        assert_eq!(shop.broker.times(id), 1, "{id} waits for its backoff");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f1_case_16_a_payload_that_makes_the_publisher_panic_is_a_counted_failure_of_its_own() {
    let shop = Shop::open().await;
    shop.broker.on("bad", [Reply::Panic]);
    let messages: Vec<_> = ["bad", "good-1", "good-2"].map(|id| message(id, id)).into();
    shop.save(&messages).await;
    shop.drain(quick("one")).await;
    let mut received = shop.broker.received();
    received.sort();
    assert_eq!(received, ["good-1", "good-2"]);
    let attempts = "SELECT attempts FROM outbox.waiting WHERE id = 'bad'";
    assert_eq!(shop.schema.count(attempts).await, 1);

    shop.save(&[message("bad", "behind")]).await;
    shop.schema.advance(Duration::from_mins(1)).await;
    shop.drain(quick("two")).await;
    assert_eq!(shop.broker.received()[2..], ["bad", "behind"]);
}

/// The keys of a lane.
fn neighbors(key: &str) -> impl Iterator<Item = String> {
    let lane_of = |key: &str| -> Lane {
        let key = message(key, "x").ordering_key().unwrap();
        key.lane(Lanes::new(64).unwrap())
    };
    let lane = lane_of(key);
    (0..)
        .map(|n| format!("neighbor-{n}"))
        .filter(move |key| lane_of(key) == lane)
}

#[tokio::test(flavor = "multi_thread")]
async fn f6_case_16_a_message_that_ends_its_process_is_dead_after_three_starts_and_no_innocent_is()
{
    let shop = Shop::open().await;
    let mut messages = vec![message("k", "poison")];
    messages.extend(neighbors("k").take(3).map(|key| message(&key, &key)));
    shop.save(&messages).await;
    shop.broker.hold("poison");
    // Each relay is a process, and has the gate of one.
    let process = |n: usize| RelayConfig {
        gate: Gate::new(),
        ..quick(&format!("process-{n}"))
    };
    // The first end shows nothing: all four were in flight. Then the message is handed over alone, three times.
    for ends in 0..4 {
        let relay = shop.start(process(ends)).await;
        until("the poison is handed over once more", async || {
            shop.broker.times("poison") == ends + 1
        })
        .await;
        relay.kill().await;
        shop.schema.advance(Duration::from_secs(31)).await;
    }
    let starts = shop.broker.handed().into_iter();
    let starts = starts.filter(|handed| handed.id.as_str() == "poison");
    let starts: Vec<_> = starts.map(|handed| handed.starts).collect();
    assert_eq!(starts, [0, 0, 1, 2]);
    let relay = shop.start(process(4)).await;
    until("everything else is published", async || {
        let status = shop.status().await;
        (status.pending(), status.dead) == (0, 1)
    })
    .await;
    relay.stop().await;
    let page = DeadPage {
        filter: DeadFilter::default(),
        after: None,
        upto: None,
        limit: 10,
    };
    let dead = shop.store.dead_letters(&page, DeadPayload::Omit).await;
    let dead = &dead.unwrap()[0];
    assert_eq!((&*dead.id, &*dead.reason), ("poison", "poison"));
}

#[tokio::test(flavor = "multi_thread")]
async fn f7_case_17_a_database_that_refuses_a_settlement_is_an_error_and_never_a_success() {
    let shop = Shop::open().await;
    shop.save(&[message("order-1", "a")]).await;
    shop.schema
        .run(
            "CREATE FUNCTION outbox.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no room'; END $$;
             CREATE TRIGGER refuse BEFORE DELETE ON outbox.message FOR EACH ROW EXECUTE FUNCTION outbox.refuse()",
        )
        .await;
    // It gives up when its lease is over.
    let config = RelayConfig {
        lease: Duration::from_secs(2),
        renewal: Duration::from_millis(600),
        publish_timeout: Duration::from_secs(1),
        ..quick("one")
    };
    let ended = shop.relay(config).await.flush().await;
    let Err(RelayError::Unrecorded { report, source }) = ended else {
        panic!("{ended:?}");
    };
    assert_eq!((report.published, report.left), (0, 1));
    assert!(report.store_errors > 0);
    let told = source.source().unwrap().to_string();
    assert!(told.contains("no room"), "{told}");
    assert_eq!(shop.status().await.pending(), 1);

    shop.schema
        .run("DROP TRIGGER refuse ON outbox.message")
        .await;
    let relay = shop.start(quick("two")).await;
    until("it is published", async || {
        shop.status().await.pending() == 0
    })
    .await;
    assert_eq!(relay.stop().await.published, 1);
    assert_eq!(shop.broker.received(), ["a", "a"], "at least once");
}

#[tokio::test(flavor = "multi_thread")]
async fn f2_case_19_twelve_relays_try_a_failing_message_once_a_backoff() {
    let shop = Shop::open().await;
    shop.save(&[message("order-1", "a")]).await;
    shop.broker.all(Reply::Fail(Rejected));
    for minute in 1..=10 {
        let mut relays = Vec::new();
        for n in 0..12 {
            let config = RelayConfig {
                backoff: Backoff::fixed(Duration::from_mins(1)),
                max_attempts: u32::MAX,
                ..quick(&format!("relay-{n}"))
            };
            let relay = shop.relay_of_the_pool(config);
            relays.push(tokio::spawn(async move { relay.drain().await }));
        }
        for relay in relays {
            relay.await.unwrap().unwrap();
        }
        assert_eq!(shop.broker.handed().len(), minute, "one try a minute");
        // A moment before it is due nobody tries.
        shop.schema.advance(Duration::from_secs(30)).await;
        shop.drain(quick("early")).await;
        assert_eq!(shop.broker.handed().len(), minute);
        shop.schema.advance(Duration::from_secs(31)).await;
    }
}
