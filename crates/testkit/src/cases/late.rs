//! Settlements and renewals that come late, twice, or from a relay that outlived a failover (D2, S6, S7, cases 12, 34 and 35).

use outbox_message::MessageId;
use outbox_store::{AfterDeath, ClaimRequest, LaneSettled, Outcome};

use crate::{
    Harness,
    scene::{PAST_LEASE, Scene, ask, numbered, secs},
    taken::{dead, retry, retry_in_place},
};

/// Case 12, D2: a settlement after the lease was taken over records no failure, kills nothing, releases nothing, and is reported as lost.
pub async fn case12_a_late_settlement_changes_nothing_and_is_reported<H: Harness>() {
    for outcome in [
        retry(10),
        retry_in_place(),
        dead(AfterDeath::Hold),
        Outcome::Release,
    ] {
        let s = Scene::<H>::new().await;
        let position = s.save("k", "a").await;
        let stale = s.claim().await;
        s.advance(PAST_LEASE).await;
        let held = s.claim().await;
        let settled = s.settle(&stale, &[("a", outcome.clone())]).await;
        assert!(settled[0].lost, "{outcome:?}");
        if outcome != Outcome::Release {
            assert_eq!(settled[0].missed, [position], "{outcome:?}");
        }
        assert!(s.claim().await.is_empty(), "the lane is still held");
        assert!(s.extend(&held).await.is_empty());
        assert!(s.dead().await.is_empty());
        s.release(&held).await;
        let again = s.claim().await;
        assert_eq!((again.of("a").attempts, again.of("a").tries), (0, 0));
    }
}

/// D2: a settlement after the lease ran out but before anybody took it over: the token still holds or is lost, and nothing is in between.
pub async fn d2_a_settlement_after_the_lease_is_applied_whole_or_not_at_all<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save_run("k", &numbered("m", 2)).await;
    let late = s.claim().await;
    s.advance(PAST_LEASE).await;
    let settled = s
        .settle(&late, &[("m1", retry(60)), ("m2", Outcome::Release)])
        .await;
    let next = s.claim().await;
    if settled[0].lost {
        assert_eq!(next.payloads(), ["m1"], "careful, nothing recorded");
    } else {
        assert!(next.is_empty(), "the failure is recorded");
    }
}

/// D2: what a late settlement saw confirmed is removed, by position and id.
pub async fn d2_a_late_confirmation_removes_the_message<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save_run("k", &numbered("m", 2)).await;
    let stale = s.claim().await;
    s.advance(PAST_LEASE).await;
    let held = s.claim().await;
    assert_eq!(held.payloads(), ["m1"], "careful");
    let settled = s
        .settle(&stale, &[("m1", Outcome::Published), ("m2", retry(60))])
        .await;
    assert!(settled[0].lost);
    let status = s.status().await;
    assert_eq!(status.pending(), 1);
    // The new holder's own outcome finds its message gone, and breaks nothing.
    let settled = s.settle(&held, &[("m1", Outcome::Published)]).await;
    assert!(!settled[0].lost);
    assert_eq!(s.drain().await, ["m2"]);
    s.assert_empty().await;
}

/// Case 34: a relay that outlived a failover removes no message it did not publish, and frees no lease of another.
pub async fn case34_a_settlement_removes_only_the_message_it_published<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save_run("k", &numbered("m", 2)).await;
    let taken = s.claim().await;
    // What the old primary had at these positions: other messages, under a token of the same number.
    let mut lanes = taken.settlements_of_all(&[], &Outcome::Published);
    lanes[0].token.holder = "a holder that the failover lost".into();
    for settlement in &mut lanes[0].outcomes {
        settlement.target.id = MessageId::new("another").ok();
    }
    let settled = s.settle_raw(&lanes).await;
    assert!(settled[0].lost);
    assert_eq!(settled[0].missed, taken.positions());
    assert_eq!(s.status().await.pending(), 2);
    assert!(s.claim().await.is_empty(), "the lease stands");
    s.publish(&taken).await;
    s.assert_empty().await;
}

/// Case 34 with the lease held: position alone never removes a message.
pub async fn case34_a_held_lease_removes_by_id_too<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "a").await;
    let taken = s.claim().await;
    let mut lanes = taken.settlements_of_all(&[], &Outcome::Published);
    lanes[0].outcomes[0].target.id = MessageId::new("another").ok();
    let settled = s.settle_raw(&lanes).await;
    assert!(!settled[0].lost);
    assert_eq!(settled[0].missed, taken.positions());
    assert_eq!(s.drain().await, ["a"]);
}

/// Case 34 for messages that were set aside: the waiting line is searched by position and id as well.
pub async fn case34_a_late_confirmation_finds_its_message_in_the_waiting_line<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "a").await;
    let stale = s.claim().await;
    s.advance(PAST_LEASE).await;
    let held = s.claim().await;
    s.settle(&held, &[("a", retry(60))]).await;
    let mut wrong = stale.settlements_of_all(&[], &Outcome::Published);
    wrong[0].outcomes[0].target.id = MessageId::new("another").ok();
    s.settle_raw(&wrong).await;
    assert_eq!(s.status().await.waiting, 1);
    let settled = s.settle(&stale, &[("a", Outcome::Published)]).await;
    assert!(settled[0].lost);
    assert_eq!(s.status().await.pending(), 0);
    // The block has nothing to wait for; it may stay until it is due, and not longer.
    s.save("k", "b").await;
    s.advance(secs(60)).await;
    assert_eq!(s.drain().await, ["b"]);
    s.save("k", "c").await;
    let next = s.claim().await;
    assert_eq!((next.payloads(), next.moved()), (vec!["c".to_owned()], 0));
}

/// Case 34 for unkeyed messages: a late confirmation finds its message among those that wait for their retry.
pub async fn case34_a_late_confirmation_finds_an_unkeyed_retry<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save(None::<&str>, "a").await;
    let stale = s.claim().await;
    s.advance(PAST_LEASE).await;
    let held = s.claim().await;
    s.settle(&held, &[("a", retry(60))]).await;
    let mut wrong = stale.settlements_of_all(&[], &Outcome::Published);
    wrong[0].outcomes[0].target.id = MessageId::new("another").ok();
    s.settle_raw(&wrong).await;
    assert_eq!(s.status().await.scheduled, 1);
    let settled = s.settle(&stale, &[("a", Outcome::Published)]).await;
    assert!(settled[0].lost && settled[0].missed.is_empty());
    s.assert_empty_after_claim().await;
}

/// A late confirmation of the last message of a waiting key leaves no block for ever, though nothing of the key comes again.
pub async fn o6_a_block_without_messages_does_not_last<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(2);
    s.save(&keys[0], "a").await;
    let stale = s.claim().await;
    s.advance(PAST_LEASE).await;
    let held = s.claim().await;
    s.settle(&held, &[("a", retry(60))]).await;
    s.settle(&stale, &[("a", Outcome::Published)]).await;
    s.advance(secs(60)).await;
    s.save(&keys[1], "neighbor").await;
    assert_eq!(s.drain().await, ["neighbor"]);
    s.assert_empty().await;
}

/// Trap 9: a claim that only removed a block made progress, and says so: what else is due must not wait for a poll.
pub async fn o7_a_claim_that_only_removed_a_block_made_progress<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "a").await;
    let stale = s.claim().await;
    s.advance(PAST_LEASE).await;
    let held = s.claim().await;
    s.settle(&held, &[("a", retry(60))]).await;
    s.settle(&stale, &[("a", Outcome::Published)]).await;
    let mut others = s.keys_apart();
    others.retain(|key| s.lane(key) != s.lane("k"));
    // They are served once before, so that the next claim takes the lane of the block, which has nothing to give.
    for _ in 0..2 {
        for key in &others {
            s.save(key, "due").await;
        }
        let out = s
            .drain_with(ClaimRequest {
                max_lanes: 1,
                ..ask()
            })
            .await;
        assert_eq!(out.len(), others.len());
        s.advance(secs(60)).await;
    }
    s.assert_empty_after_claim().await;
}

/// Case 35, D2: a late renewal prolongs no lease but its own.
pub async fn case35_a_stale_renewal_prolongs_nobodys_lease<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "a").await;
    let stale = s.claim().await;
    s.advance(PAST_LEASE).await;
    let held = s.claim().await;
    s.advance(secs(20)).await;
    assert_eq!(s.extend(&stale).await, [stale.token().clone()]);
    s.advance(secs(11)).await;
    let next = s.claim().await;
    assert_eq!(next.payloads(), ["a"], "the lease ran out");
    assert_eq!(s.extend(&held).await, [held.token().clone()]);
}

/// Case 35, D2: release changes the token: a late renewal leases nothing for nobody.
pub async fn case35_a_renewal_after_the_release_leases_nothing<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save_run("k", &numbered("m", 2)).await;
    let taken = s.claim().await;
    s.release(&taken).await;
    let lost = s.extend(&taken).await;
    assert_eq!(lost, [taken.token().clone()]);
    assert_eq!(s.claim().await.payloads(), numbered("m", 2));
}

/// Case 35: a renewal after everything of the lane was published leases nothing.
pub async fn case35_a_renewal_after_the_last_settlement_leases_nothing<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "a").await;
    let taken = s.claim().await;
    s.publish(&taken).await;
    assert_eq!(s.extend(&taken).await, [taken.token().clone()]);
    s.assert_empty().await;
    s.save("k", "b").await;
    assert_eq!(s.claim().await.payloads(), ["b"]);
}

/// Case 35: a settlement of a whole lane that is sent twice counts its failure once and is reported as lost.
pub async fn case35_a_settlement_sent_twice_counts_once<H: Harness>() {
    for outcome in [retry_in_place(), retry(10)] {
        let s = Scene::<H>::new().await;
        s.save("k", "a").await;
        s.save(None::<&str>, "b").await;
        for payload in ["a", "b"] {
            let taken = s.claim_until(payload).await;
            let lanes = taken.settlements_of_all(&[(payload, outcome.clone())], &Outcome::Release);
            assert!(s.settle_raw(&lanes).await.iter().all(|l| !l.lost));
            assert!(s.settle_raw(&lanes).await.iter().all(|l| l.lost));
            s.advance(secs(10)).await;
            let again = s.claim_until(payload).await;
            assert_eq!(
                (again.of(payload).attempts, again.of(payload).tries),
                (1, 1)
            );
            s.release(&again).await;
        }
    }
}

/// Case 35, S7: a settlement of part of a lane that is sent twice counts once too, for the lane is still held.
pub async fn case35_a_partial_settlement_sent_twice_counts_once<H: Harness>() {
    for outcome in [retry_in_place(), retry(10)] {
        let s = Scene::<H>::new().await;
        let keys = s.keys_together(2);
        s.save(&keys[0], "a").await;
        s.save(&keys[1], "b").await;
        let taken = s.claim().await;
        let lanes = taken.settlements(&[("a", outcome)]);
        assert!(!lanes[0].release);
        let once = s.settle_raw(&lanes).await;
        assert_eq!(once, [LaneSettled::default()]);
        let twice = s.settle_raw(&lanes).await;
        assert!(!twice[0].lost);
        assert_eq!(twice[0].missed, [taken.of("a").position]);
        s.settle(&taken, &[("b", Outcome::Published)]).await;
        s.release_lane(&taken).await;
        s.advance(secs(10)).await;
        let again = s.claim().await;
        assert_eq!(again.payloads(), ["a"]);
        assert_eq!((again.of("a").attempts, again.of("a").tries), (1, 1));
    }
}

/// S7: a death and a confirmation that are sent twice are reported as missed and do no harm.
pub async fn case35_a_death_sent_twice_makes_one_letter<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(3);
    for (key, payload) in keys.iter().zip(["a", "b", "c"]) {
        s.save(key, payload).await;
    }
    let taken = s.claim().await;
    let lanes = taken.settlements(&[("a", dead(AfterDeath::Hold)), ("b", Outcome::Published)]);
    s.settle_raw(&lanes).await;
    let twice = s.settle_raw(&lanes).await;
    let mut missed = twice[0].missed.clone();
    missed.sort_unstable();
    assert_eq!(missed, [taken.of("a").position, taken.of("b").position]);
    assert_eq!(s.dead().await.len(), 1);
    assert_eq!(s.dead().await[0].tries, 1);
    assert_eq!(s.status().await.pending(), 1);
}
