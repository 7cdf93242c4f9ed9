//! A broker that is away for long.

use std::time::Duration;

use outbox::{RelayConfig, publisher::PublishErrorKind::Unavailable};

use crate::{
    dice::{report, soak},
    shop::{Shop, message, until},
};

/// The probes of half an hour, each after a transient delay that is short here; the short form takes fewer of them.
#[tokio::test(flavor = "multi_thread")]
async fn f3_case_18_an_outage_of_half_an_hour_kills_nothing_and_is_probed_one_message_at_a_time() {
    let (pending, probes) = if soak() {
        (10_000, 1_800)
    } else {
        (2_000, 100)
    };
    let shop = Shop::open().await;
    let messages: Vec<_> = (0..pending)
        .map(|n| message(n % 100, &n.to_string()))
        .collect();
    for messages in messages.chunks(1_000) {
        shop.save(messages).await;
    }
    shop.broker.down("broker", Unavailable);
    let config = RelayConfig {
        max_attempts: 5,
        transient_delay: Duration::from_millis(2),
        poll_min: Duration::from_millis(1),
        poll_max: Duration::from_millis(20),
        ..RelayConfig::default()
    };
    // What was in flight when the first failure came is no probe.
    let first = config.concurrency;
    let relay = shop.start(config).await;
    shop.begun(first + probes).await;

    // A probe that hangs is alone.
    shop.broker.hold_all();
    let in_flight = || {
        let handed = shop.broker.handed().into_iter();
        handed
            .filter(|it| it.reply.is_none() && !it.abandoned)
            .count()
    };
    until("a probe hangs", async || in_flight() > 0).await;
    for _ in 0..20 {
        let status = shop.status().await;
        assert_eq!((status.pending(), status.dead), (pending, 0));
        assert_eq!(status.circuits.len(), 1);
        assert_eq!(in_flight(), 1);
    }
    shop.broker.open();

    shop.broker.up("broker");
    until("everything is published", async || {
        shop.status().await.pending() == 0
    })
    .await;
    let done = relay.stop().await;
    assert_eq!((done.published, done.dead), (pending, 0));
    let handed = shop.broker.handed();
    assert!(handed.iter().all(|handed| handed.attempts == 0));
    assert_eq!(shop.status().await.circuits, []);
    assert_eq!(shop.broker.received().len(), messages.len());
    if soak() {
        let probes = handed.len() - messages.len();
        report(&format!(
            "{pending} messages, {probes} probes, no attempt counted"
        ));
    }
}
