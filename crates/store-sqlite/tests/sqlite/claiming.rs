//! Claims and settlements on a real file.

use std::time::Duration;

use outbox_store::{AfterDeath, DeathReason, OutboxStore, Outcome};

use crate::scratch::{Scratch, deliveries, message, positions, request, retry, settlements};

#[tokio::test]
async fn what_was_saved_comes_back_byte_for_byte_and_in_order() {
    let scratch = Scratch::new().await;
    let mut messages = vec![
        message(Some("a"), b"".to_vec()),
        message(Some("a"), vec![0, 1, 0]),
        message(Some("a"), vec![0xFF, 0xFE]),
    ];
    messages[1] = messages[1]
        .clone()
        .with_header("n", "v\n…")
        .unwrap()
        .with_header("n", "\u{1}\"\\")
        .unwrap()
        .with_content_type("text/plain")
        .unwrap();
    scratch.save(&messages).await;
    let claim = scratch.claim(10).await;
    let got: Vec<_> = deliveries(&claim).map(|d| d.message.clone()).collect();
    assert_eq!(got, messages);
    let settled = scratch.settle(&claim, &Outcome::Published).await;
    assert!(!settled[0].lost && settled[0].missed.is_empty());
    assert_eq!(
        scratch.count("SELECT count(*) FROM outbox_message").await,
        0
    );
    assert!(scratch.claim(10).await.lanes.is_empty());
}

#[tokio::test]
async fn o6_a_retry_holds_its_key_and_only_its_key() {
    let scratch = Scratch::new().await;
    scratch
        .save(&[
            message(Some("a"), "1"),
            message(Some("a"), "2"),
            message(Some("b"), "3"),
        ])
        .await;
    let mut seen = Vec::new();
    for _ in 0..3 {
        let claim = scratch.claim(10).await;
        seen.extend(positions(&claim));
        let lanes = settlements(&claim, |position| match position.0 {
            1 => retry(60),
            3 => Outcome::Published,
            _ => Outcome::Release,
        });
        scratch.store.settle(&lanes).await.unwrap();
    }
    seen.sort_unstable();
    assert_eq!(seen, [1, 2, 3]);
    assert_eq!(
        scratch.count("SELECT count(*) FROM outbox_waiting").await,
        2
    );
    let claim = scratch.claim(10).await;
    assert!(claim.entries.is_empty());
    assert!(claim.next_due.unwrap() > Duration::from_secs(50));
    scratch.sql("UPDATE outbox_blocked_key SET until = 0").await;
    let claim = scratch.claim(10).await;
    assert_eq!(positions(&claim), [1, 2]);
    assert_eq!(deliveries(&claim).next().unwrap().attempts, 1);
    scratch.settle(&claim, &Outcome::Published).await;
    assert_eq!(
        scratch
            .count("SELECT count(*) FROM outbox_blocked_key")
            .await,
        0
    );
}

#[tokio::test]
async fn case_45_a_busy_key_steps_aside_for_its_neighbor() {
    let scratch = Scratch::new().await;
    let mut messages: Vec<_> = (0..500)
        .map(|n| message(Some("hot"), n.to_string()))
        .collect();
    scratch.save(&messages).await;
    messages.clear();
    // A neighbor of the same lane.
    scratch.save(&[message(None, "neighbor")]).await;
    scratch
        .sql(
            "UPDATE outbox_message SET lane = (SELECT lane FROM outbox_message WHERE position = 1)",
        )
        .await;
    let mut rounds = 0;
    loop {
        let claim = scratch.claim(100).await;
        rounds += 1;
        let found = deliveries(&claim).any(|d| &d.message.payload[..] == b"neighbor");
        scratch.settle(&claim, &Outcome::Published).await;
        if found {
            break;
        }
    }
    assert_eq!(rounds, 2);
    let rest = scratch.drain(100).await;
    let expected: Vec<_> = (500 - rest.len()..500)
        .map(|n| n.to_string().into_bytes())
        .collect();
    assert_eq!(rest, expected);
    assert_eq!(
        scratch
            .count("SELECT count(*) FROM outbox_blocked_key")
            .await,
        0
    );
}

#[tokio::test]
async fn o9_a_dead_letter_under_hold_blocks_its_key() {
    let scratch = Scratch::new().await;
    scratch
        .save(&[message(Some("a"), "1"), message(Some("a"), "2")])
        .await;
    let claim = scratch.claim(10).await;
    let lanes = settlements(&claim, |position| match position.0 {
        1 => Outcome::Dead {
            reason: DeathReason::Permanent,
            error: "too large".into(),
            after: AfterDeath::Hold,
        },
        _ => Outcome::Release,
    });
    scratch.store.settle(&lanes).await.unwrap();
    let claim = scratch.store.claim(&request(10)).await.unwrap();
    assert_eq!((claim.entries.len(), claim.moved), (0, 1));
    let claim = scratch.claim(10).await;
    assert_eq!(
        (claim.entries.len(), claim.moved, claim.next_due),
        (0, 0, None)
    );
}
