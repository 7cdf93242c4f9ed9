//! Keys whose head waits: set aside once, served at the key's due time, complete up to the frontier (O6, P3).

use outbox_store::{AfterDeath, ClaimRequest, OutboxOperator, Outcome};

use crate::{
    Harness,
    scene::{Scene, ask, message, numbered, ordering_key, rounds, secs},
    taken::{retry, retry_in_place},
};

/// Case 3, O6: nothing behind a waiting head goes out before it, in any relay.
pub async fn case3_nothing_passes_a_waiting_head<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "a").await;
    let taken = s.claim().await;
    s.settle(&taken, &[("a", retry(60))]).await;
    s.save("k", "b").await;
    for _ in 0..3 {
        assert!(s.claim().await.is_empty());
        s.advance(secs(19)).await;
    }
    s.advance(secs(3)).await;
    assert_eq!(s.drain().await, ["a", "b"]);
    s.assert_empty().await;
}

/// O6: a waiting head that failed again in its retry still holds its key.
pub async fn o6_a_head_that_fails_again_holds_on<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save_run("k", &numbered("m", 3)).await;
    for attempts in 0..4 {
        let taken = s.claim().await;
        assert_eq!(taken.payloads(), numbered("m", 3));
        assert_eq!(taken.of("m1").attempts, attempts);
        s.settle_all(&taken, &[("m1", retry(10))], &Outcome::Release)
            .await;
        assert!(s.claim().await.is_empty());
        s.advance(secs(10)).await;
    }
    assert_eq!(s.drain().await, numbered("m", 3));
}

/// O6: a message with a smaller position that joins while the head waits goes first, at the key's next due time.
pub async fn o6_a_smaller_position_that_arrives_goes_first_at_the_due_time<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.schedule("k", "early", secs(5)).await;
    s.save("k", "head").await;
    let taken = s.claim().await;
    assert_eq!(taken.payloads(), ["head"]);
    s.settle(&taken, &[("head", retry(60))]).await;
    s.advance(secs(10)).await;
    assert!(
        s.drain().await.is_empty(),
        "the key waits, whatever its order"
    );
    s.advance(secs(50)).await;
    assert_eq!(s.drain().await, ["early", "head"]);
}

/// P3: what waits behind a head is set aside once, and later claims do not meet it.
pub async fn p3_a_message_is_set_aside_once<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "head").await;
    let taken = s.claim().await;
    s.settle(&taken, &[("head", retry(600))]).await;
    s.save_run("k", &numbered("m", 20)).await;
    let first = s.claim().await;
    assert!(first.is_empty());
    assert_eq!(first.moved(), 20);
    for _ in 0..3 {
        assert_eq!(s.claim().await.moved(), 0);
    }
    assert_eq!(s.status().await.waiting, 21);
}

/// P3: a claim that hands out nothing leases nothing.
pub async fn p3_a_lane_that_gives_nothing_is_given_back_in_the_claim<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "head").await;
    let taken = s.claim().await;
    s.settle(&taken, &[("head", retry(600))]).await;
    s.save("k", "behind").await;
    assert!(s.claim().await.is_empty());
    assert!(s.status().await.lanes.is_empty(), "no lane is held");
    let neighbor = s.keys_together(2).remove(1);
    s.save(&neighbor, "free").await;
    assert_eq!(s.claim().await.payloads(), ["free"]);
}

/// Case 36: an earlier message of a waiting key that stands behind what the limit shows goes out before the key's head.
pub async fn case36_a_hidden_earlier_message_is_not_overtaken_by_its_head<H: Harness>() {
    let s = Scene::<H>::new().await;
    let lane = s.lane("k0");
    let keys: Vec<_> = s.keys_in(lane).take(201).collect();
    let (own, others) = keys.split_first().expect("there are keys");
    let fillers: Vec<_> = others.iter().map(|key| message(key, "filler")).collect();
    s.put_all(&fillers).await;
    // It has the smaller position, and joins the line behind the fillers while the head waits.
    s.schedule(own, "earlier", secs(5)).await;
    s.save(own, "head").await;
    let everything = s.claim_up_to(500).await;
    s.settle_all(&everything, &[("head", retry(20))], &Outcome::Release)
        .await;
    s.advance(secs(20)).await;
    let out = s.drain_with(ClaimRequest { limit: 10, ..ask() }).await;
    let at = |payload: &str| out.iter().position(|p| p == payload);
    assert_eq!(out.len(), 202);
    assert!(at("earlier") < at("head"), "the head overtook");
}

/// Case 36 by bytes: the frontier counts what the limit of bytes hid, too.
pub async fn case36_a_message_hidden_by_bytes_is_not_overtaken_by_its_head<H: Harness>() {
    let s = Scene::<H>::new().await;
    let lane = s.lane("k0");
    let keys: Vec<_> = s.keys_in(lane).take(21).collect();
    let (own, others) = keys.split_first().expect("there are keys");
    let fillers: Vec<_> = others
        .iter()
        .map(|key| message(key, "x".repeat(10_000)))
        .collect();
    s.put_all(&fillers).await;
    s.schedule(own, "earlier", secs(5)).await;
    s.save(own, "head").await;
    let everything = s.claim().await;
    s.settle_all(&everything, &[("head", retry(20))], &Outcome::Release)
        .await;
    s.advance(secs(20)).await;
    let out = s
        .drain_with(ClaimRequest {
            max_bytes: 25_000,
            ..ask()
        })
        .await;
    let at = |payload: &str| out.iter().position(|p| p == payload);
    assert_eq!(out.len(), 22);
    assert!(at("earlier") < at("head"), "the head overtook");
}

/// Case 38, P4: with many keys due at once a claim keeps its limit over both reads together.
pub async fn case38_many_due_keys_do_not_overfill_a_claim<H: Harness>() {
    let s = Scene::<H>::new().await;
    let messages: Vec<_> = (0..60)
        .flat_map(|key| (0..10).map(move |n| message(key, format!("m{n}"))))
        .collect();
    s.put_all(&messages).await;
    for () in rounds() {
        let taken = s.claim_up_to(1_000).await;
        if taken.is_empty() && taken.moved() == 0 {
            break;
        }
        s.settle_all(&taken, &[], &retry(60)).await;
    }
    assert_eq!(s.status().await.waiting, 600);
    s.advance(secs(60)).await;
    let mut out = Vec::new();
    for () in rounds() {
        // The limit itself is checked in every claim.
        let taken = s.claim_up_to(20).await;
        if taken.is_empty() && taken.moved() == 0 {
            break;
        }
        out.extend(
            taken
                .deliveries()
                .map(|d| (d.ordering_key(), d.position))
                .collect::<Vec<_>>(),
        );
        s.publish(&taken).await;
    }
    assert_eq!(out.len(), 600);
    out.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(
        out.is_sorted(),
        "within its key each message went out in its place"
    );
}

/// O7: a due retry and a line longer than the limit share a claim: by position, so neither starves.
pub async fn o7_a_due_key_and_the_line_share_a_claim<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(2);
    s.save(&keys[0], "retried").await;
    let taken = s.claim().await;
    s.settle(&taken, &[("retried", retry(10))]).await;
    s.save_run(&keys[1], &numbered("m", 50)).await;
    s.advance(secs(10)).await;
    let taken = s.claim_up_to(10).await;
    assert_eq!(taken.payloads()[0], "retried");
    assert_eq!(taken.payloads()[1..], numbered("m", 9));
}

/// O6: when the head is out, its key flows again at once, and a new message needs no setting aside.
pub async fn o6_a_key_whose_head_went_out_is_free_again<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "a").await;
    let taken = s.claim().await;
    s.settle(&taken, &[("a", retry(10))]).await;
    s.advance(secs(10)).await;
    assert_eq!(s.drain().await, ["a"]);
    assert_eq!(s.status().await.blocked, 0);
    s.save("k", "b").await;
    let next = s.claim().await;
    assert_eq!(next.payloads(), ["b"]);
    assert_eq!(next.moved(), 0, "no block was left behind");
}

/// O6, step 6 of a claim: a block whose messages were deleted by hand ends when it is due; what comes later flows.
pub async fn o6_a_block_whose_messages_are_gone_does_not_last<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(2);
    let gone = s.save(&keys[0], "gone").await;
    let taken = s.claim().await;
    s.settle(&taken, &[("gone", retry(60))]).await;
    s.harness.delete(gone).await;
    s.save(&keys[1], "neighbor").await;
    s.advance(secs(60)).await;
    assert_eq!(s.drain().await, ["neighbor"]);
    assert_eq!(s.status().await.blocked, 0);
    s.save(&keys[0], "next").await;
    let next = s.claim().await;
    assert_eq!(
        (next.payloads(), next.moved()),
        (vec!["next".to_owned()], 0)
    );
    s.publish(&next).await;
    s.assert_empty().await;
}

/// O9: the block of a dead letter has no messages of its own and lasts all the same, also when those behind it were deleted by hand.
pub async fn o9_a_hold_lasts_without_messages<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(2);
    s.save(&keys[0], "dead").await;
    s.kill("dead", AfterDeath::Hold).await;
    let behind = s.save(&keys[0], "behind").await;
    assert!(s.drain().await.is_empty());
    s.harness.delete(behind).await;
    s.save(&keys[1], "neighbor").await;
    s.advance(secs(600)).await;
    assert_eq!(s.drain().await, ["neighbor"]);
    s.save(&keys[0], "later").await;
    assert!(s.drain().await.is_empty(), "the key is held");
    s.redrive().await;
    assert_eq!(s.drain().await, ["dead", "later"]);
}

/// O6: the head's success frees the messages behind it in the same claim as later ones.
pub async fn o6_the_rest_of_a_waiting_line_follows_its_head<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save_run("k", &numbered("m", 6)).await;
    let taken = s.claim().await;
    s.settle_all(&taken, &[("m1", retry(10))], &Outcome::Release)
        .await;
    s.claim().await;
    s.advance(secs(10)).await;
    let head = s.claim_up_to(1).await;
    assert_eq!(head.payloads(), ["m1"]);
    s.publish(&head).await;
    s.save("k", "m7").await;
    assert_eq!(s.drain().await, numbered("m", 7)[1..]);
    s.assert_empty().await;
}

/// F8: a second failure without a time leaves the head due, in front of its waiting line.
pub async fn f8_a_waiting_head_retried_in_place_stays_due_and_first<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save_run("k", &numbered("m", 3)).await;
    let taken = s.claim().await;
    s.settle_all(&taken, &[("m1", retry(10))], &Outcome::Release)
        .await;
    s.claim().await;
    s.advance(secs(10)).await;
    let taken = s.claim().await;
    s.settle_all(&taken, &[("m1", retry_in_place())], &Outcome::Release)
        .await;
    let again = s.claim().await;
    assert_eq!(again.payloads(), numbered("m", 3));
    assert_eq!(again.of("m1").attempts, 2);
}

/// The claim tells when the next waiting key falls due.
pub async fn o6_the_next_due_time_of_a_waiting_key_is_told<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "a").await;
    let taken = s.claim().await;
    s.settle(&taken, &[("a", retry(60))]).await;
    let next = s.claim().await.claim.next_due.expect("a key waits");
    assert!(next <= secs(60) && next > secs(30), "{next:?}");
    s.advance(secs(40)).await;
    let next = s.claim().await.claim.next_due.expect("a key waits");
    assert!(next <= secs(20), "{next:?}");
}

/// An operator makes a waiting key due now.
pub async fn o6_an_operator_makes_a_waiting_key_due<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save_run("k", &numbered("m", 2)).await;
    let taken = s.claim().await;
    s.settle_all(&taken, &[("m1", retry(600))], &Outcome::Release)
        .await;
    let retry_now = async |key| {
        s.store()
            .retry_now(&ordering_key(key))
            .await
            .expect("the store answers")
    };
    assert!(!retry_now("another").await);
    assert!(retry_now("k").await);
    assert_eq!(s.drain().await, numbered("m", 2));
    assert!(!retry_now("k").await);
}
