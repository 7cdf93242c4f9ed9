//! An operator at work while relays run.

use std::collections::BTreeMap;

use outbox::{
    RelayConfig,
    store::{DeadFilter, DeadPage, OutboxOperator},
};

use crate::{
    dice::{report, soak},
    shop::{Shop, until},
};

const KEYS: usize = 50;

#[tokio::test(flavor = "multi_thread")]
async fn o9_case_22_dead_letters_are_redriven_in_bounded_steps_while_relays_run() {
    let letters: usize = if soak() { 50_000 } else { 5_000 };
    let shop = Shop::open().await;
    // A tenth has no key.
    shop.schema
        .run(&format!(
            "INSERT INTO outbox.dead (position, attempts, tries, saved_at, died_at, lane, id, topic, key, reason, error, after, payload)
             SELECT outbox.next_position(), 6, 9, now(), now(), coalesce(outbox.lane_of('orders', d.key), d.n % 64), d.n::text, 'orders', d.key, 'exhausted', 'refused', 'skip', ''
             FROM (
               SELECT n, CASE WHEN n % 10 > 0 THEN 'order-' || n % {KEYS} END AS key
               FROM generate_series(1, {letters}) AS n
             ) AS d
             ORDER BY d.n"
        ))
        .await;
    let mut relays = Vec::new();
    for n in 0..2 {
        let name = format!("relay-{n}").into();
        relays.push(
            shop.start(RelayConfig {
                name,
                ..RelayConfig::default()
            })
            .await,
        );
    }

    let filter = DeadFilter::default();
    let (count, upto) = shop.store.count_dead(&filter).await.unwrap();
    assert_eq!(count, letters as u64, "first it is counted");
    let mut page = DeadPage {
        filter,
        after: None,
        upto,
        limit: 500,
    };
    let (mut redriven, mut out_of_order, mut steps) = (0, 0, 0);
    loop {
        let stepped = shop.store.redrive(&page).await.unwrap();
        assert!(stepped.count <= page.limit, "a step is bounded");
        redriven += stepped.count;
        out_of_order += stepped.out_of_order;
        let Some(last) = stepped.last else { break };
        page.after = Some(last);
        steps += 1;
    }
    assert_eq!((redriven, out_of_order), (letters, letters * 9 / 10));
    assert_eq!(steps, letters / 500);
    page.after = None;
    let again = shop.store.redrive(&page).await.unwrap();
    assert_eq!(again.count, 0, "a second time there is nothing to do");

    until("all of them are published", async || {
        shop.status().await.pending() == 0
    })
    .await;
    for relay in relays {
        relay.stop().await;
    }
    let handed = shop.broker.handed();
    assert_eq!(handed.len(), letters, "once each");
    assert!(handed.iter().all(|handed| handed.attempts == 0));
    let mut last: BTreeMap<usize, usize> = BTreeMap::new();
    for id in shop.broker.received() {
        let n: usize = id.parse().unwrap();
        if !n.is_multiple_of(10) {
            let before = last.insert(n % KEYS, n);
            assert!(before < Some(n), "{before:?} before {n}");
        }
    }
    if soak() {
        report(&format!(
            "{letters} dead letters redriven in {steps} steps and published once"
        ));
    }
}
