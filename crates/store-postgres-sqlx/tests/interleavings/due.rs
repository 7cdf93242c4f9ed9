//! Much that falls due at once, before relays that claim at once (cases 37 and 38).

use std::collections::HashMap;

use outbox_store::ClaimRequest;

use crate::{
    relay::{Relay, retry},
    scene::{Scene, keys_beside, secs},
};

/// Takes turns until nothing is ready; answers what went out, in order.
async fn in_turns(s: &Scene, relays: &[Relay], limit: usize) -> Vec<String> {
    let (mut out, mut idle) = (Vec::new(), 0);
    for relay in relays.iter().cycle() {
        let ask = ClaimRequest {
            limit,
            ..relay.ask()
        };
        let taken = relay.claiming(ask).await;
        assert!(taken.payloads().len() <= limit);
        idle = if taken.is_empty() && taken.0.moved == 0 {
            idle + 1
        } else {
            0
        };
        if idle == relays.len() {
            break;
        }
        out.extend(taken.payloads());
        if !taken.is_empty() {
            relay.publish(&taken).await;
        }
        s.check().await;
    }
    out
}

#[tokio::test]
async fn case37_of_two_hundred_that_fall_due_at_once_each_takes_its_place_when_it_joins() {
    let keys = keys_beside("k", 199);
    for first in [true, false] {
        let s = Scene::new().await;
        if first {
            s.schedule("k", "older", secs(60)).await;
        }
        for key in &keys {
            s.schedule(key, "other", secs(60)).await;
        }
        if !first {
            s.schedule("k", "older", secs(60)).await;
        }
        s.save("k", "newer").await;
        s.pass(secs(61)).await;
        let relays = [s.relay("a"), s.relay("b")];
        let out = in_turns(&s, &relays, 10).await;
        assert_eq!(out.len(), 201);
        let at = |payload| out.iter().position(|other| other == payload).unwrap();
        // Ten join a claim, by the time they were due at, and take their places before what was saved later.
        assert!(at("older") < at("newer"), "{}", at("older"));
        assert_eq!(at("older") < 10, first);
        s.check_empty().await;
    }
}

#[tokio::test]
async fn case38_two_thousand_due_keys_of_ten_messages_each_go_in_order_and_overfill_no_claim() {
    let s = Scene::new().await;
    s.run(
        "WITH key AS (SELECT 'key-' || n AS key FROM generate_series(1, 2000) AS n),
              saved AS (
                SELECT outbox.next_position() AS position, key, m
                FROM (SELECT key, m FROM generate_series(1, 10) AS m CROSS JOIN key) AS all_of_them
              ),
              blocked AS (
                INSERT INTO outbox.blocked_key (position, until, lane, topic, key, reason)
                SELECT min(position), now(), outbox.lane_of('orders', key), 'orders', key, 'retry'
                FROM saved
                GROUP BY key
              )
         INSERT INTO outbox.waiting (position, attempts, tries, saved_at, lane, id, topic, key, payload)
         SELECT position, 1, 1, now(), outbox.lane_of('orders', key), position, 'orders', key,
                convert_to(key || '/' || m, 'UTF8')
         FROM saved",
    )
    .await;
    s.check().await;
    let relays = [s.relay("a"), s.relay("b"), s.relay("c")];
    let out = in_turns(&s, &relays, 500).await;
    assert_eq!(out.len(), 20_000);
    let mut next: HashMap<&str, u32> = HashMap::new();
    for payload in &out {
        let (key, number) = payload.split_once('/').unwrap();
        let expected = next.entry(key).or_insert(1);
        assert_eq!(number, expected.to_string(), "{key}");
        *expected += 1;
    }
    s.check_empty().await;
}

/// A key falls due while another relay holds its lane, and again while that one settles: nothing is served twice.
#[tokio::test]
async fn o6_a_key_that_falls_due_while_its_lane_is_held_waits_for_the_holder() {
    let s = Scene::new().await;
    let (a, b) = (s.relay("a"), s.relay("b"));
    let beside = keys_beside("k", 1).remove(0);
    s.save("k", "1").await;
    s.save(&beside, "beside").await;
    let taken = a.claim().await;
    a.settle(taken.part(&[("1", retry(60))])).await;
    s.pass(secs(61)).await;
    assert!(b.claim().await.is_empty(), "two relays hold one lane");
    let settle = a.settling(taken.whole(&[], &outbox_store::Outcome::Published));
    let settle = a.hold(crate::paused::Point::Commit, settle).await;
    assert!(b.claim().await.is_empty());
    settle.go().await;
    s.check().await;
    assert!(
        b.drain().await.is_empty(),
        "the broker confirmed it after all"
    );
    s.check_empty().await;
}
