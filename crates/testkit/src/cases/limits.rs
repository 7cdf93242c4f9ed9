//! What bounds a claim: messages, bytes, lanes, over both of its reads (P4). The bounds themselves are checked in every claim of the suite.

use outbox_store::{ClaimRequest, Outcome};

use crate::{
    Harness,
    scene::{Scene, ask, message, numbered, rounds, secs},
    taken::retry,
};

/// P4: the limit of messages holds over all lanes of a claim together, and nothing is left behind by it.
pub async fn p4_the_limit_of_messages_holds_over_all_lanes<H: Harness>() {
    for limit in [1, 2, 3, 7, 10] {
        let s = Scene::<H>::new().await;
        let keys = s.keys_apart();
        for key in &keys {
            s.save_run(key, &numbered(key, 5)).await;
        }
        let out = s.drain_with(ClaimRequest { limit, ..ask() }).await;
        assert_eq!(out.len(), keys.len() * 5, "limit {limit}");
        s.assert_empty().await;
    }
}

/// P4: the limit of bytes holds, for the line and for retries, and everything goes out in the end.
pub async fn p4_the_limit_of_bytes_holds_in_both_reads<H: Harness>() {
    let s = Scene::<H>::new().await;
    let lane = s.lane("k0");
    let keys: Vec<_> = s.keys_in(lane).take(20).collect();
    let messages: Vec<_> = keys
        .iter()
        .map(|key| message(key, vec![b'x'; 1_000]))
        .collect();
    s.put_all(&messages[..10]).await;
    let taken = s.claim().await;
    s.settle_all(&taken, &[], &retry(10)).await;
    s.put_all(&messages[10..]).await;
    s.advance(secs(10)).await;
    let request = || ClaimRequest {
        max_bytes: 4_000,
        ..ask()
    };
    let first = s.claim_with(request()).await;
    assert!(first.payloads().len() > 1, "the limit is used");
    s.release(&first).await;
    assert_eq!(s.drain_with(request()).await.len(), 20);
    s.assert_empty().await;
}

/// P4: the first message is always taken, whatever its size, and then it is the only one.
pub async fn p4_the_first_message_is_always_taken<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.put_all(&[
        message("k", vec![b'a'; 10_000]),
        message("k", vec![b'b'; 10_000]),
        message("k", "small"),
    ])
    .await;
    let request = || ClaimRequest {
        max_bytes: 1,
        ..ask()
    };
    for _ in 0..3 {
        let taken = s.claim_with(request()).await;
        assert_eq!(taken.payloads().len(), 1);
        s.publish(&taken).await;
    }
    s.assert_empty().await;
}

/// P4, O6: a waiting head over the limit of bytes is taken when it is first.
pub async fn p4_a_large_waiting_head_is_taken<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.put(&message("k", vec![b'a'; 10_000])).await;
    let taken = s.claim().await;
    s.settle_all(&taken, &[], &retry(10)).await;
    s.save("k", "behind").await;
    s.advance(secs(10)).await;
    let out = s
        .drain_with(ClaimRequest {
            max_bytes: 100,
            ..ask()
        })
        .await;
    assert_eq!(out.len(), 2);
    assert_eq!(out[1], "behind");
}

/// O7, P4: a lane whose head is too large for its share of a claim comes first in one of the next claims.
pub async fn o7_a_large_head_does_not_starve_beside_small_ones<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_apart();
    s.put(&message(&keys[0], vec![b'L'; 5_000])).await;
    let mut claims = 0;
    for () in rounds() {
        for key in &keys[1..] {
            s.save(key, "small").await;
        }
        let taken = s
            .claim_with(ClaimRequest {
                max_bytes: 1_000,
                ..ask()
            })
            .await;
        claims += 1;
        let large = taken.payloads().iter().any(|p| p.len() == 5_000);
        s.publish(&taken).await;
        if large {
            break;
        }
        assert!(claims <= 2 * keys.len(), "the large message starves");
    }
}

/// P3, P4: messages that a waiting key's rows stand before are reached: rows that are set aside do not count in the limit.
pub async fn p3_rows_set_aside_do_not_fill_a_claim<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(2);
    s.save(&keys[0], "head").await;
    let taken = s.claim().await;
    s.settle_all(&taken, &[("head", retry(600))], &Outcome::Release)
        .await;
    s.save_run(&keys[0], &numbered("behind", 300)).await;
    s.save(&keys[1], "free").await;
    let taken = s.claim_up_to(10).await;
    assert_eq!(taken.payloads(), ["free"]);
    assert_eq!(taken.moved(), 300);
}
