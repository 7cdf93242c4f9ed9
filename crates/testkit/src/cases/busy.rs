//! Keys with more messages than a claim holds, and their neighbors (O4, O7, cases 9 and 45).

use outbox_store::{ClaimRequest, Outcome};

use crate::{
    Harness,
    scene::{Scene, ask, numbered, only, rounds, secs},
    taken::retry,
};

/// Case 9: a lone key with 20,000 messages is handed out in full claims, in order, and never moved.
pub async fn case9_a_lone_long_key_stays_in_the_line<H: Harness>() {
    let s = Scene::<H>::new().await;
    let all = numbered("m", 20_000);
    s.save_run("k", &all).await;
    let mut out = Vec::new();
    for _ in 0..40 {
        let taken = s.claim_up_to(500).await;
        assert_eq!((taken.payloads().len(), taken.moved()), (500, 0));
        out.extend(taken.payloads());
        s.publish(&taken).await;
    }
    assert_eq!(out, all);
    s.assert_empty().await;
}

/// Case 45: a neighbor behind a hot key waits for a few bounded runs, not for the key.
pub async fn case45_a_neighbor_of_a_hot_key_waits_for_a_few_runs<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(2);
    let hot = numbered("h", 20_000);
    s.save_run(&keys[0], &hot).await;
    s.save(&keys[1], "neighbor").await;
    let mut out = Vec::new();
    let mut claims = 0;
    while !out.contains(&"neighbor".to_owned()) {
        let taken = s.claim_up_to(100).await;
        out.extend(taken.payloads());
        s.publish(&taken).await;
        claims += 1;
        assert!(claims <= 5, "the neighbor is not served");
    }
    assert!(out.len() <= 200, "{} before the neighbor", out.len());
    out.retain(|p| p != "neighbor");
    out.extend(
        s.drain_with(ClaimRequest {
            limit: 1_000,
            ..ask()
        })
        .await,
    );
    assert_eq!(out, hot, "the hot key kept its order");
    s.assert_empty().await;
}

/// Case 45 for claims of two messages, the smallest in which a key and its neighbor can meet.
pub async fn case45_a_neighbor_is_served_by_claims_of_two<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(2);
    s.save_run(&keys[0], &numbered("h", 100)).await;
    s.save(&keys[1], "neighbor").await;
    let out = s.drain_with(ClaimRequest { limit: 2, ..ask() }).await;
    let at = out.iter().position(|p| p == "neighbor");
    assert!(at.is_some_and(|at| at <= 6), "the neighbor is at {at:?}");
    let hot: Vec<_> = out.into_iter().filter(|p| p != "neighbor").collect();
    assert_eq!(hot, numbered("h", 100));
}

/// O7: unkeyed messages of a hot key's lane are not kept waiting for it either.
pub async fn o7_unkeyed_messages_pass_a_hot_key<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save_run("hot", &numbered("h", 500)).await;
    let unkeyed: Vec<_> = (0..40)
        .map(|_| crate::scene::message(None::<&str>, "unkeyed"))
        .collect();
    s.put_all(&unkeyed).await;
    let out = s
        .drain_with(ClaimRequest {
            limit: 20,
            ..only(s.lane("hot"))
        })
        .await;
    let last = out.iter().rposition(|p| p == "unkeyed");
    assert!(last.is_none_or(|last| last < 200), "unkeyed at {last:?}");
    let hot: Vec<_> = out.into_iter().filter(|p| p != "unkeyed").collect();
    assert_eq!(hot, numbered("h", 500));
}

/// O7: a busy key is not blocked: it does not show, and all of it is ready.
pub async fn o7_a_busy_key_does_not_show_as_blocked<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(2);
    s.save_run(&keys[0], &numbered("h", 50)).await;
    s.save(&keys[1], "neighbor").await;
    let taken = s.claim_up_to(10).await;
    s.release(&taken).await;
    let status = s.status().await;
    assert_eq!(status.pending(), 51);
    assert_eq!((status.ready, status.blocked, status.held), (51, 0, 0));
    assert!(status.blocked_keys.is_empty());
}

/// O6, O7: when the head of a busy key fails, the key waits like any other, and its neighbors flow.
pub async fn o6_a_busy_key_whose_head_fails_waits<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(2);
    let hot = numbered("h", 50);
    s.save_run(&keys[0], &hot).await;
    s.save_run(&keys[1], &numbered("n", 3)).await;
    let taken = s.claim_up_to(10).await;
    s.settle_all(&taken, &[("h1", retry(60))], &Outcome::Release)
        .await;
    let limit_10 = || ClaimRequest { limit: 10, ..ask() };
    assert_eq!(s.drain_with(limit_10()).await, numbered("n", 3));
    assert_eq!(s.status().await.blocked, 1);
    s.advance(secs(60)).await;
    assert_eq!(s.drain_with(limit_10()).await, hot);
    s.assert_empty().await;
}

/// O2: what is saved to a busy key while it is served follows in order, and the key flows in the line again when it caught up.
pub async fn o2_a_busy_key_keeps_its_order_while_it_grows<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(3);
    let hot = numbered("h", 120);
    s.save_run(&keys[0], &hot[..60]).await;
    s.save(&keys[1], "n").await;
    let mut out = Vec::new();
    let mut saved = 60;
    for () in rounds() {
        let taken = s.claim_up_to(10).await;
        if taken.is_empty() && taken.moved() == 0 {
            break;
        }
        out.extend(taken.payloads());
        if saved < hot.len() {
            s.save_run(&keys[0], &hot[saved..saved + 4]).await;
            s.save(&keys[2], "n").await;
            saved += 4;
        }
        s.publish(&taken).await;
    }
    out.retain(|p| p != "n");
    assert_eq!(out, hot);
    s.assert_empty().await;
    s.save(&keys[0], "again").await;
    let next = s.claim().await;
    assert_eq!(
        (next.payloads(), next.moved()),
        (vec!["again".to_owned()], 0)
    );
}

/// O8, O7: a message that joins a lone long key with a smaller position goes first; one of another key, in the midst of what was
/// looked through before, makes the key share.
pub async fn o8_what_joins_beside_a_long_key_is_seen<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(2);
    s.schedule(&keys[0], "early", secs(10)).await;
    let hot = numbered("h", 300);
    s.save_run(&keys[0], &hot[..200]).await;
    s.schedule(&keys[1], "neighbor", secs(10)).await;
    s.save_run(&keys[0], &hot[200..]).await;
    let first = s.claim_up_to(20).await;
    assert_eq!(first.payloads(), hot[..20]);
    s.publish(&first).await;
    s.advance(secs(10)).await;
    let out = s.drain_with(ClaimRequest { limit: 20, ..ask() }).await;
    let at = |payload: &str| out.iter().position(|p| p == payload);
    assert!(at("early") < at("h21"));
    assert!(at("neighbor").is_some_and(|at| at <= 40));
    assert_eq!(out.len(), 282);
}

/// A crash in the middle of a busy key loses nothing and breaks no order.
pub async fn d1_a_busy_key_survives_a_crash<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(2);
    let hot = numbered("h", 60);
    s.save_run(&keys[0], &hot).await;
    s.save(&keys[1], "neighbor").await;
    let taken = s.claim_up_to(8).await;
    s.crash(taken).await;
    let mut out = s.drain_with(ClaimRequest { limit: 8, ..ask() }).await;
    out.retain(|p| p != "neighbor");
    assert_eq!(out, hot);
}
