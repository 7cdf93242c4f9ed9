//! Two routes, of which one is down for six hundred probes, as many as there are in ten minutes; the short form takes fewer. The other goes on, the order of
//! what was set aside is kept, no attempt is spent.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use outbox::{Key, RelayConfig, publisher::PublishErrorKind::Unavailable};
use outbox_testkit::ScriptedPublisher;

use super::TRACES;
use crate::{
    dice::{report, soak},
    shop::{Shop, message, message_to, until},
};

const KEYS: usize = 100;
const ORDERS: usize = 100;

fn config() -> RelayConfig {
    RelayConfig {
        transient_delay: Duration::from_millis(5),
        poll_min: Duration::from_millis(1),
        poll_max: Duration::from_millis(20),
        ..RelayConfig::default()
    }
}

/// So many messages to the mail server, a tenth of them without a key.
async fn save_mail(shop: &Shop, count: usize) {
    let mail: Vec<_> = (0..count)
        .map(|n| {
            let key = (!n.is_multiple_of(10)).then(|| format!("key-{}", n % KEYS));
            message_to("mail", Key::from(key.as_deref()), &format!("mail-{n}"))
        })
        .collect();
    for mail in mail.chunks(1_000) {
        shop.save(mail).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f3_one_of_two_routes_is_down_for_as_many_probes_as_ten_minutes_have_and_the_other_goes_on()
{
    let (count, probes) = if soak() { (20_000, 600) } else { (2_000, 60) };
    let mut shop = Shop::open().await;
    shop.broker = ScriptedPublisher::new().route("mail", "mail server");
    let alone = drain_orders(&shop, "alone").await;
    shop.broker.down("mail server", Unavailable);
    save_mail(&shop, count).await;
    let relay = shop.start(config()).await;
    until("all of it is set aside", async || {
        shop.schema
            .count("SELECT count(*) FROM outbox.message")
            .await
            == 0
    })
    .await;

    let before = shop.broker.confirmed().len();
    for n in 0..ORDERS {
        shop.save([&message(n % 7, &format!("order-{n}"))]).await;
        // Each is confirmed before the next is saved: nothing of the other route is waited for.
        shop.broker.confirmations(before + n + 1).await;
    }
    shop.begun(before + ORDERS + probes).await;
    let beside = drain_orders(&shop, "beside").await;
    let status = shop.status().await;
    assert_eq!((status.pending(), status.dead), (count as u64, 0));
    assert_eq!(status.stopped.len(), 1);

    shop.broker.up("mail server");
    until("everything is published", async || {
        shop.status().await.pending() == 0
    })
    .await;
    until("no trace is left", async || {
        shop.schema.count(TRACES).await == 0
    })
    .await;
    assert_eq!(relay.stop().await.dead, 0);
    let handed = shop.broker.handed();
    assert!(handed.iter().all(|handed| handed.attempts == 0));
    let mut last: BTreeMap<usize, usize> = BTreeMap::new();
    for id in shop.broker.received() {
        let Some(n) = id.strip_prefix("mail-") else {
            continue;
        };
        let n: usize = n.parse().unwrap();
        if !n.is_multiple_of(10) {
            let before = last.insert(n % KEYS, n);
            assert!(before < Some(n), "{before:?} before {n}");
        }
    }
    if soak() {
        report(&format!(
            "5,000 messages of the other route took {alone:?}, and {beside:?} beside {count} that were set aside"
        ));
    }
}

/// How long messages of the route that is up take, in the long form.
async fn drain_orders(shop: &Shop, name: &str) -> Duration {
    if soak() {
        let orders: Vec<_> = (0..5_000)
            .map(|n| message(n % 500, &format!("{name}-{n}")))
            .collect();
        for orders in orders.chunks(1_000) {
            shop.save(orders).await;
        }
    }
    let begun = Instant::now();
    until("the orders are published", async || {
        shop.drain(config()).await;
        let left = "SELECT (SELECT count(*) FROM outbox.message WHERE topic = 'orders')
            + (SELECT count(*) FROM outbox.waiting WHERE topic = 'orders')";
        shop.schema.count(left).await == 0
    })
    .await;
    begun.elapsed()
}
