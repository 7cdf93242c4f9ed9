//! Careful service of a lane whose holder vanished: one message at a time, its starts counted (F6).

use outbox_store::{OutboxStore, Outcome};

use crate::{
    Harness,
    scene::{PAST_LEASE, Scene, message, numbered, secs},
    taken::{retry, transient},
};

/// S9, F6: after a lease ran out the lane gives one message at a time.
pub async fn f6_a_lapsed_lane_gives_one_message_at_a_time<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(2);
    s.save_run(&keys[0], &numbered("a", 2)).await;
    s.save_run(&keys[1], &numbered("b", 2)).await;
    let lost = s.claim().await;
    assert!(!lost.is_careful());
    s.crash(lost).await;
    for expected in ["a1", "a2", "b1", "b2"] {
        let taken = s.claim().await;
        assert!(taken.is_careful());
        assert_eq!(taken.payloads(), [expected]);
        s.start(&taken).await;
        assert!(s.claim().await.is_empty(), "the lane is held");
        s.publish(&taken).await;
    }
    s.assert_empty_after_claim().await;
}

/// F6: careful service meets the smallest position of the lane first, again and again until it completes, whether it stands in the
/// line or waits for its retry: otherwise its starts would not add up.
pub async fn f6_careful_service_goes_by_position_over_line_and_retries<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(3);
    s.save(&keys[0], "first").await;
    s.save_run(&keys[1], &["retried".to_owned(), "behind it".to_owned()])
        .await;
    s.save(&keys[2], "last").await;
    let taken = s.claim().await;
    s.settle_all(&taken, &[("retried", retry(10))], &Outcome::Release)
        .await;
    let taken = s.claim().await;
    assert_eq!((taken.payloads().len(), taken.moved()), (2, 1));
    // Its lease runs out, and the retry falls due.
    s.crash(taken).await;
    for expected in ["first", "retried", "behind it", "last"] {
        for starts in 0..3 {
            let taken = s.claim_up_to(10).await;
            assert!(taken.is_careful());
            assert_eq!(
                (taken.payloads(), taken.moved()),
                (vec![expected.to_owned()], 0)
            );
            assert_eq!(taken.of(expected).starts, starts);
            s.start(&taken).await;
            s.crash(taken).await;
        }
        let taken = s.claim_up_to(10).await;
        assert_eq!(taken.payloads(), [expected]);
        s.publish(&taken).await;
    }
    s.assert_empty_after_claim().await;
}

/// F6: a long run of one key does not step aside while its lane is served carefully, for then another message would come next.
pub async fn f6_careful_service_sets_no_busy_key_aside<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(2);
    s.save_run(&keys[0], &numbered("busy", 5)).await;
    s.save(&keys[1], "neighbor").await;
    let taken = s.claim().await;
    s.crash(taken).await;
    for starts in 0..2 {
        let taken = s.claim_up_to(2).await;
        assert!(taken.is_careful());
        assert_eq!((taken.payloads(), taken.moved()), (numbered("busy", 1), 0));
        assert_eq!(taken.of("busy1").starts, starts);
        s.start(&taken).await;
        s.crash(taken).await;
    }
    let status = s.status().await;
    assert_eq!((status.line, status.waiting), (6, 0));
}

/// F6: careful service ends when as many messages went well as the claim could hold.
pub async fn f6_careful_service_ends_after_a_claims_worth_of_completions<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save_run("k", &numbered("m", 10)).await;
    s.claim_up_to(3).await;
    s.advance(PAST_LEASE).await;
    for n in 1..=3 {
        let taken = s.claim_up_to(3).await;
        assert!(taken.is_careful(), "message {n}");
        assert_eq!(taken.payloads(), [format!("m{n}")]);
        s.start(&taken).await;
        s.publish(&taken).await;
    }
    let usual = s.claim_up_to(3).await;
    assert!(!usual.is_careful());
    assert_eq!(usual.payloads(), ["m4", "m5", "m6"]);
}

/// F6: a release completes nothing, so it does not bring the end of careful service nearer.
pub async fn f6_a_release_completes_nothing<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save_run("k", &numbered("m", 3)).await;
    s.claim_up_to(1).await;
    s.advance(PAST_LEASE).await;
    for _ in 0..3 {
        let taken = s.claim_up_to(1).await;
        assert!(taken.is_careful());
        assert_eq!(taken.payloads(), ["m1"]);
        s.release(&taken).await;
    }
    let taken = s.claim_up_to(1).await;
    s.start(&taken).await;
    s.publish(&taken).await;
    assert!(!s.claim_up_to(2).await.is_careful());
}

/// F6: careful service ends when nothing of the lane is due.
pub async fn f6_careful_service_ends_when_nothing_is_due<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "a").await;
    let lost = s.claim().await;
    s.crash(lost).await;
    let taken = s.claim().await;
    s.start(&taken).await;
    s.publish(&taken).await;
    s.assert_empty_after_claim().await;
    s.save_run("k", &numbered("m", 2)).await;
    let usual = s.claim().await;
    assert!(!usual.is_careful());
    assert_eq!(usual.payloads(), ["m1", "m2"]);
}

/// F6: a lane that was given back in time is not careful.
pub async fn f6_a_lane_that_was_given_back_is_not_careful<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save_run("k", &numbered("m", 2)).await;
    let taken = s.claim().await;
    s.release(&taken).await;
    s.advance(PAST_LEASE).await;
    let again = s.claim().await;
    assert!(!again.is_careful());
    assert_eq!(again.payloads(), ["m1", "m2"]);
}

/// F6: each start that ended with its process counts, and recording one twice counts once.
pub async fn f6_starts_that_ended_with_the_process_add_up<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "a").await;
    let lost = s.claim().await;
    s.crash(lost).await;
    for starts in 0..4 {
        let taken = s.claim().await;
        assert_eq!(taken.of("a").starts, starts);
        assert_eq!((taken.of("a").attempts, taken.of("a").tries), (0, 0));
        s.start(&taken).await;
        s.start(&taken).await;
        s.crash(taken).await;
    }
}

/// F6: a relay that died before the hand-over leaves no start.
pub async fn f6_a_claim_without_a_start_counts_nothing<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "a").await;
    for _ in 0..5 {
        let taken = s.claim().await;
        assert_eq!(taken.of("a").starts, 0);
        s.crash(taken).await;
    }
}

/// F6: a completion in the lane clears every start, for nothing is in a row any more; a failure is a completion as well.
pub async fn f6_a_completion_clears_all_starts_of_the_lane<H: Harness>() {
    for outcome in [retry(10), transient(10)] {
        let s = Scene::<H>::new().await;
        s.save("k", "a").await;
        let lost = s.claim().await;
        s.crash(lost).await;
        let taken = s.claim().await;
        s.start(&taken).await;
        s.crash(taken).await;
        let taken = s.claim().await;
        assert_eq!(taken.of("a").starts, 1);
        s.start(&taken).await;
        s.settle(&taken, &[("a", outcome)]).await;
        s.advance(secs(10)).await;
        assert_eq!(s.claim().await.of("a").starts, 0);
    }
}

/// F6: the success of one message clears the starts of another one of its lane.
pub async fn f6_one_message_that_goes_well_clears_the_starts_of_its_neighbors<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(2);
    s.save(&keys[0], "a").await;
    s.save(&keys[1], "b").await;
    let lost = s.claim().await;
    s.crash(lost).await;
    // The neighbor is in front for a while: it joins with a smaller position.
    let taken = s.claim().await;
    assert_eq!(taken.payloads(), ["a"]);
    s.start(&taken).await;
    s.crash(taken).await;
    let taken = s.claim().await;
    assert_eq!(taken.of("a").starts, 1);
    // Both marks stand until something is completed: a's, after which b is in front.
    s.start(&taken).await;
    s.settle(&taken, &[("a", retry(10))]).await;
    let taken = s.claim().await;
    assert_eq!(
        (taken.payloads(), taken.of("b").starts),
        (vec!["b".to_owned()], 0)
    );
    s.start(&taken).await;
    s.publish(&taken).await;
    s.advance(secs(10)).await;
    assert_eq!(s.claim().await.of("a").starts, 0);
}

/// F6: a process that survived takes its own mark back with a release, and leaves those of dead ones.
pub async fn f6_a_survivor_takes_back_only_its_own_start<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "a").await;
    let lost = s.claim().await;
    s.crash(lost).await;
    let taken = s.claim().await;
    s.start(&taken).await;
    s.crash(taken).await;
    let taken = s.claim().await;
    assert_eq!(taken.of("a").starts, 1);
    s.start(&taken).await;
    s.release(&taken).await;
    let taken = s.claim().await;
    assert_eq!(taken.of("a").starts, 1);
    assert!(taken.is_careful());
}

/// F6, D2: a late settlement takes back the start of its own process, and no other.
pub async fn f6_a_late_settlement_takes_back_its_own_start<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "a").await;
    let lost = s.claim().await;
    s.crash(lost).await;
    let frozen = s.claim().await;
    s.start(&frozen).await;
    s.advance(PAST_LEASE).await;
    let second = s.claim().await;
    assert_eq!(second.of("a").starts, 1);
    s.start(&second).await;
    s.advance(PAST_LEASE).await;
    let third = s.claim().await;
    assert_eq!(third.of("a").starts, 2);
    assert!(s.settle(&frozen, &[("a", retry(10))]).await[0].lost);
    s.release(&third).await;
    let fourth = s.claim().await;
    assert_eq!(fourth.of("a").starts, 1, "the second one's mark stands");
    assert_eq!(fourth.of("a").tries, 0);
}

/// F6: a stale token cannot start anything.
pub async fn f6_a_stale_token_starts_nothing<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "a").await;
    let first = s.claim().await;
    s.advance(PAST_LEASE).await;
    let second = s.claim().await;
    let starting = s
        .store()
        .starting(first.token(), first.positions()[0])
        .await;
    assert!(!starting.expect("the store answers"));
    s.release(&second).await;
    let third = s.claim().await;
    assert_eq!(third.of("a").starts, 0);
}

/// F6, O7: while one lane is served carefully, the others are served as usual, by the same relay and by another.
pub async fn f6_careful_service_of_a_lane_leaves_the_others_as_they_are<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_apart();
    let careful = s.lane(&keys[0]);
    s.save_run(&keys[0], &numbered("a", 5)).await;
    let lost = s.claim().await;
    s.crash(lost).await;
    for key in &keys[1..] {
        s.save_run(key, &numbered(&format!("{key} "), 5)).await;
    }
    let held = s.claim_lane(careful).await;
    assert!(held.is_careful());
    let others = s.drain().await;
    assert_eq!(others.len(), (keys.len() - 1) * 5);
    s.start(&held).await;
    s.publish(&held).await;
    assert_eq!(s.drain().await, numbered("a", 5)[1..]);
    s.assert_empty_after_claim().await;
}

/// F6: a careful lane and lanes with endless work take turns.
pub async fn f6_a_careful_lane_starves_nobody_and_is_not_starved<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_apart();
    s.save_run(&keys[0], &numbered("a", 3)).await;
    let lost = s.claim().await;
    s.crash(lost).await;
    let others = keys[1..].iter();
    let more: Vec<_> = others.map(|key| message(key, "more")).collect();
    let mut careful = Vec::new();
    let mut usual = 0;
    for _ in 0..keys.len() * 4 {
        s.put_all(&more).await;
        let taken = s.claim().await;
        if taken.claim.lanes[0].careful {
            careful.extend(taken.payloads());
        } else {
            usual += taken.payloads().len();
        }
        s.publish(&taken).await;
    }
    assert_eq!(careful, numbered("a", 3));
    assert!(usual > 0);
}
