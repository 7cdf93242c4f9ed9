//! Claims by several processes at once, claims that are dropped midway, and claims of payloads that are large.

use std::{
    collections::HashSet,
    pin::pin,
    task::{Context, Waker},
};

use outbox_message::Position;
use outbox_store::{ClaimRequest, OutboxStore, Outcome};

use crate::scratch::{Scratch, deliveries, message, positions, request, retry, settlements};

#[tokio::test(flavor = "multi_thread")]
async fn o3_processes_that_claim_at_once_share_no_lane() {
    let scratch = Scratch::new().await;
    let messages: Vec<_> = (0..400)
        .map(|n| message(Some(&format!("key-{}", n % 40)), n.to_string()))
        .collect();
    scratch.save(&messages).await;
    let mut relays = Vec::new();
    for _ in 0..4 {
        let store = scratch.another().await;
        relays.push(tokio::spawn(async move {
            store.claim(&request(100)).await.unwrap()
        }));
    }
    let mut lanes = HashSet::new();
    let mut handed_out = HashSet::new();
    for relay in relays {
        let claim = relay.await.unwrap();
        assert_eq!(
            claim.lanes.len(),
            2,
            "each relay got its two of the eight lanes"
        );
        for lease in &claim.lanes {
            assert!(lanes.insert(lease.token.lane));
        }
        for position in positions(&claim) {
            assert!(handed_out.insert(position));
        }
    }
    let claim = scratch.claim(100).await;
    assert!(claim.lanes.is_empty() && claim.leased_elsewhere);
}

#[tokio::test]
async fn d2_a_lease_renewed_between_the_look_and_the_lock_is_not_taken() {
    let scratch = Scratch::new().await;
    scratch.save(&[message(Some("a"), "1")]).await;
    let held = scratch.claim(10).await;
    scratch
        .sql("UPDATE outbox_lane SET lease_until = 1 WHERE holder IS NOT NULL")
        .await;

    // The other relay has seen the lapsed lease, and waits for the write lock that this transaction holds.
    let other = scratch.another().await;
    let writer = scratch.pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
    let request = request(10);
    let mut claim = pin!(other.claim(&request));
    let mut pending = true;
    for _ in 0..200 {
        pending = claim
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_pending();
        tokio::task::yield_now().await;
    }
    assert!(pending);
    drop(writer);
    let tokens: Vec<_> = held.lanes.iter().map(|lease| lease.token.clone()).collect();
    // Both go on: whoever has the lock must get to its end.
    let (lost, claimed) = tokio::join!(scratch.store.extend(&tokens, request.lease), claim);
    let (lost, claimed) = (lost.unwrap(), claimed.unwrap());
    // Whichever of the two came first, the other one knows.
    assert_eq!(lost.len() + usize::from(claimed.lanes.is_empty()), 1);
}

#[tokio::test]
async fn a_claim_that_is_dropped_midway_leaves_no_lock_and_no_lease() {
    let scratch = Scratch::new().await;
    scratch
        .save(&[message(Some("a"), "1"), message(Some("b"), "2")])
        .await;
    let mut claimed = 0;
    // With each number of polls the claim is dropped at another place.
    for polls in 0..60 {
        let request = ClaimRequest {
            lease: std::time::Duration::from_millis(1),
            ..request(10)
        };
        let done = {
            let mut claim = pin!(scratch.store.claim(&request));
            let mut done = None;
            for _ in 0..polls {
                let mut context = Context::from_waker(Waker::noop());
                if let std::task::Poll::Ready(claim) = claim.as_mut().poll(&mut context) {
                    done = Some(claim.unwrap());
                    break;
                }
                // The connection's own thread is given time to answer.
                std::thread::yield_now();
                tokio::task::yield_now().await;
            }
            done
        };
        // A transaction left open would keep this writer out, and its pool would hand it on.
        let mut tx = scratch.pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
        let depth: i64 = sqlx::query_scalar("SELECT count(*) FROM outbox_message")
            .fetch_one(&mut *tx)
            .await
            .unwrap();
        assert_eq!(depth, 2);
        tx.rollback().await.unwrap();
        if let Some(claim) = done {
            claimed += 1;
            scratch.settle(&claim, &Outcome::Release).await;
        } else {
            // It committed at most as a whole: a lease that nobody knows of runs out.
            let half = "SELECT count(*) FROM outbox_lane WHERE (holder IS NULL) <> (relay IS NULL)";
            assert_eq!(scratch.count(half).await, 0);
            scratch
                .sql("UPDATE outbox_lane SET holder = NULL, relay = NULL, lease_until = 0, careful = 0")
                .await;
        }
    }
    assert_eq!(
        scratch.drain(10).await.len(),
        2,
        "after {claimed} whole claims"
    );
}

#[tokio::test]
async fn case_33_large_payloads_come_in_claims_of_bounded_size() {
    let scratch = Scratch::new().await;
    let size = 1 << 20;
    for _ in 0..12 {
        scratch.save(&[message(None, vec![7; size])]).await;
    }
    let request = ClaimRequest {
        max_bytes: 4 * size,
        ..request(100)
    };
    let mut left = 12;
    while left > 0 {
        let claim = scratch.store.claim(&request).await.unwrap();
        let bytes: usize = deliveries(&claim).map(|d| d.message.weight()).sum();
        assert!((1..=4 * size).contains(&bytes), "{bytes}");
        left -= claim.entries.len();
        scratch.settle(&claim, &Outcome::Published).await;
    }
}

#[tokio::test]
async fn o7_a_hot_key_of_large_payloads_steps_aside_too() {
    let scratch = Scratch::new().await;
    let mut messages: Vec<_> = (0..40)
        .map(|_| message(Some("hot"), vec![7; 1 << 16]))
        .collect();
    messages.push(message(None, "neighbor"));
    scratch.save(&messages).await;
    scratch
        .sql(
            "UPDATE outbox_message SET lane = (SELECT lane FROM outbox_message WHERE position = 1)",
        )
        .await;
    let request = ClaimRequest {
        max_bytes: 1 << 18,
        ..request(100)
    };
    for round in 1.. {
        let claim = scratch.store.claim(&request).await.unwrap();
        let found = deliveries(&claim).any(|d| &d.message.payload[..] == b"neighbor");
        scratch.settle(&claim, &Outcome::Published).await;
        if found {
            assert!(round <= 3, "{round}");
            break;
        }
    }
}

#[tokio::test]
async fn o7_several_busy_keys_do_not_starve_the_line_behind_them() {
    let scratch = Scratch::new().await;
    let mut messages: Vec<_> = (0..900)
        .map(|n| message(Some(&format!("hot-{}", n / 100)), "hot"))
        .collect();
    messages.push(message(None, "neighbor"));
    scratch.save(&messages).await;
    // Whatever lanes the keys have, their line is full of keys that were set aside before.
    let lanes = "SELECT count(DISTINCT lane) FROM outbox_message";
    assert!(scratch.count(lanes).await > 1);
    let mut rounds = 0;
    while scratch
        .count("SELECT count(*) FROM outbox_message WHERE payload = CAST('neighbor' AS BLOB)")
        .await
        > 0
    {
        let claim = scratch.claim(8).await;
        scratch.settle(&claim, &Outcome::Published).await;
        rounds += 1;
    }
    assert!(rounds < 150, "{rounds}");
}

#[tokio::test]
async fn a_lone_key_is_never_moved_and_its_line_is_not_read_again() {
    let scratch = Scratch::new().await;
    let messages: Vec<_> = (0..1_000)
        .map(|n| message(Some("a"), n.to_string()))
        .collect();
    scratch.save(&messages).await;
    let claim = scratch.claim(100).await;
    assert_eq!((claim.entries.len(), claim.moved), (100, 0));
    let ahead = "SELECT max(ahead) FROM outbox_lane";
    assert_eq!(scratch.count(ahead).await, 1_000);
    scratch.settle(&claim, &Outcome::Published).await;
    assert_eq!(scratch.drain(100).await.len(), 900);
}

#[tokio::test]
async fn d2_a_stale_confirmation_lets_the_key_go_on_that_waits_for_it() {
    let scratch = Scratch::new().await;
    scratch
        .save(&[message(Some("a"), "1"), message(Some("a"), "2")])
        .await;
    let first = scratch.claim(10).await;
    scratch
        .sql("UPDATE outbox_lane SET lease_until = 1 WHERE holder IS NOT NULL")
        .await;
    let second = scratch.claim(10).await;
    let failed = settlements(&second, |_| retry(60));
    scratch.store.settle(&failed).await.unwrap();
    let late = settlements(&first, |position| match position.0 {
        1 => Outcome::Published,
        _ => Outcome::Release,
    });
    let settled = scratch.store.settle(&late).await.unwrap();
    assert!(settled[0].lost);
    assert_eq!(settled[0].missed, [Position(2)]);
    assert_eq!(scratch.drain(10).await, [b"2"]);
    assert_eq!(
        scratch
            .count("SELECT count(*) FROM outbox_blocked_key")
            .await,
        0
    );
}

#[tokio::test]
async fn a_settlement_of_thousands_is_one_call() {
    let scratch = Scratch::new().await;
    let messages: Vec<_> = (0..5_000).map(|n| message(None, n.to_string())).collect();
    scratch.save(&messages).await;
    let mut out = 0;
    while out < 5_000 {
        let claim = scratch.claim(10_000).await;
        out += claim.entries.len();
        for settled in scratch.settle(&claim, &Outcome::Published).await {
            assert!(settled.missed.is_empty());
        }
    }
}
