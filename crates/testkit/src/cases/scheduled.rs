//! Messages scheduled for later: when they join the line, and where (O1, O8).

use std::time::Duration;

use outbox_message::Position;
use outbox_store::{ClaimRequest, Due, Outcome, Save};

use crate::{
    Harness,
    scene::{Scene, ask, message, numbered, rounds, secs},
    taken::{Taken, retry},
};

/// O1, O8: a scheduled message joins when it is due, never early.
pub async fn o1_a_scheduled_message_joins_when_due_never_early<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.schedule("k", "a", secs(60)).await;
    assert!(s.claim().await.is_empty());
    s.advance(secs(40)).await;
    assert!(s.claim().await.is_empty());
    s.advance(secs(20)).await;
    assert_eq!(s.drain().await, ["a"]);
    s.assert_empty().await;
}

/// O1: of several scheduled messages of a lane only those that are due join.
pub async fn o1_a_message_that_is_due_takes_no_other_along<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.schedule("k", "later", secs(90)).await;
    s.schedule("k", "due", secs(60)).await;
    s.advance(secs(60)).await;
    let taken = s.claim().await;
    assert_eq!(
        (taken.payloads(), taken.moved()),
        (vec!["due".to_owned()], 1)
    );
    s.publish(&taken).await;
    assert!(s.drain().await.is_empty());
    s.advance(secs(30)).await;
    assert_eq!(s.drain().await, ["later"]);
}

/// O8: scheduled and never tried, it does not hold its key back, though its position is smaller.
pub async fn o8_a_scheduled_message_does_not_hold_its_key<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.schedule("k", "later", secs(60)).await;
    s.save("k", "now").await;
    assert_eq!(s.drain().await, ["now"]);
    s.advance(secs(60)).await;
    assert_eq!(s.drain().await, ["later"]);
}

/// O8: when it joins it takes its place by position, before messages of its key that are not claimed yet.
pub async fn o8_a_message_that_joins_takes_its_place_by_position<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "a").await;
    let b = s.schedule("k", "b", secs(60)).await;
    s.save("k", "c").await;
    s.advance(secs(60)).await;
    let taken = s.claim().await;
    assert_eq!(taken.payloads(), ["a", "b", "c"]);
    assert_eq!(taken.of("b").position, b, "its position is that of saving");
    assert_eq!((taken.of("b").attempts, taken.of("b").tries), (0, 0));
}

/// O3, O8: what joins while a later message of its key is held goes out after it was settled.
pub async fn o3_a_message_that_joins_waits_for_the_holder_of_its_key<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.schedule("k", "early", secs(10)).await;
    s.save("k", "held").await;
    let held = s.claim().await;
    assert_eq!(held.payloads(), ["held"]);
    s.advance(secs(10)).await;
    assert!(s.claim().await.is_empty());
    s.publish(&held).await;
    assert_eq!(s.drain().await, ["early"]);
}

/// O1: an absolute time in the past is at once; one in the future is kept.
pub async fn o8_an_absolute_time_is_kept_and_a_past_one_is_now<H: Harness>() {
    let s = Scene::<H>::new().await;
    let now = s.harness.now_ms().await;
    let (past, ancient, future) = (
        message("p", "past"),
        message("q", "ancient"),
        message("r", "future"),
    );
    let at = |message, ms| Save {
        due: Some(Due::AtUnixMs(ms)),
        ..Save::from(message)
    };
    s.try_save(at(&past, now - 1)).await;
    s.try_save(at(&ancient, i64::MIN)).await;
    s.try_save(at(&future, now + 60_000)).await;
    let mut out = s.drain().await;
    out.sort();
    assert_eq!(out, ["ancient", "past"]);
    let next = s.claim().await.claim.next_due.expect("one is scheduled");
    assert!(next <= secs(60) && next > secs(30), "{next:?}");
    s.advance(secs(60)).await;
    assert_eq!(s.drain().await, ["future"]);
}

/// O1: no delay at all is at once.
pub async fn o8_a_delay_of_zero_is_at_once<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.schedule("k", "a", Duration::ZERO).await;
    assert_eq!(s.drain().await, ["a"]);
}

/// A delay of any length is taken, and clamped to a year.
pub async fn o8_the_longest_delay_is_a_year<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.schedule("k", "after", Duration::MAX).await;
    let at = message("k", "at");
    s.try_save(Save {
        due: Some(Due::AtUnixMs(i64::MAX)),
        ..Save::from(&at)
    })
    .await;
    s.advance(secs(364 * 24 * 3600)).await;
    assert!(s.claim().await.is_empty());
    s.advance(secs(24 * 3600)).await;
    assert_eq!(
        s.claim().await.payloads().first().map(String::as_str),
        Some("after")
    );
}

/// The claim tells when the next scheduled message falls due, and a nearer one counts.
pub async fn o8_the_next_due_time_of_a_scheduled_message_is_told<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.schedule("k", "far", secs(600)).await;
    s.schedule("l", "near", secs(60)).await;
    let next = s.claim().await.claim.next_due.expect("two are scheduled");
    assert!(next <= secs(60) && next > secs(30), "{next:?}");
}

/// O8, P3: what joins while its key waits is set aside like any other, and takes its place there.
pub async fn o6_a_message_that_joins_a_waiting_key_is_set_aside<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "head").await;
    let scheduled = s.schedule("k", "joins", secs(10)).await;
    let taken = s.claim().await;
    s.settle(&taken, &[("head", retry(60))]).await;
    s.save("k", "last").await;
    s.advance(secs(10)).await;
    assert!(s.drain().await.is_empty());
    s.advance(secs(50)).await;
    let taken = s.claim().await;
    assert_eq!(taken.payloads(), ["head", "joins", "last"]);
    assert_eq!(taken.of("joins").position, scheduled);
}

/// An unkeyed message that waits for a retry comes back at its time with its counters, and blocks nobody.
pub async fn o8_an_unkeyed_retry_comes_back_at_its_time<H: Harness>() {
    let s = Scene::<H>::new().await;
    let position = s.save(None::<&str>, "a").await;
    let taken = s.claim().await;
    s.settle(&taken, &[("a", retry(60))]).await;
    let waiting = s.claim().await;
    assert!(waiting.is_empty());
    assert!(waiting.claim.next_due.is_some_and(|due| due <= secs(60)));
    assert_eq!(s.status().await.blocked, 0);
    s.advance(secs(60)).await;
    let taken = s.claim().await;
    assert_eq!(taken.of("a").position, position);
    assert_eq!((taken.of("a").attempts, taken.of("a").tries), (1, 1));
    s.publish(&taken).await;
    s.assert_empty().await;
}

/// Case 37: of many that fall due at once the claims keep precedence as each claim saw the line, and none is early or lost.
pub async fn case37_many_scheduled_messages_fall_due_at_once<H: Harness>() {
    let s = Scene::<H>::new().await;
    let lane = s.lane("k0");
    let keys: Vec<_> = s.keys_in(lane).take(200).collect();
    let mut all: Vec<Position> = Vec::new();
    for key in &keys[..199] {
        all.push(s.schedule(key, "scheduled", secs(60)).await);
    }
    all.push(s.schedule(&keys[199], "scheduled before", secs(60)).await);
    all.push(s.save(&keys[199], "in line").await);
    s.advance(secs(60)).await;
    let mut handed: Vec<(Taken, usize)> = Vec::new();
    let mut claims = 0;
    for () in rounds() {
        let taken = s.claim_up_to(10).await;
        claims += 1;
        if taken.is_empty() && taken.moved() == 0 {
            break;
        }
        s.publish(&taken).await;
        handed.push((taken, claims));
        assert!(claims < 100, "joining is late by a bounded time");
    }
    let when = |payload: &str| {
        handed
            .iter()
            .find(|(taken, _)| taken.payloads().iter().any(|p| p == payload))
            .map(|(_, claim)| *claim)
            .expect("it went out")
    };
    // It may be late: not joined yet when the later one was claimed. Once joined it is not overtaken by a claim.
    let (before, after) = (when("scheduled before"), when("in line"));
    let mut positions: Vec<_> = handed.iter().flat_map(|(t, _)| t.positions()).collect();
    positions.sort_unstable();
    assert_eq!(positions, all, "each went out once");
    if before > after {
        let seen = handed.iter().filter(|(_, claim)| *claim <= after);
        let joined: usize = seen.map(|(taken, _)| taken.moved()).sum();
        assert!(joined < 200, "it had joined and was overtaken");
    }
}

/// O1: joining is bounded work: a claim promotes and serves in the same breath.
pub async fn o1_what_falls_due_is_handed_out_by_the_claim_that_promotes_it<H: Harness>() {
    let s = Scene::<H>::new().await;
    for payload in numbered("m", 5) {
        s.schedule("k", &payload, secs(10)).await;
    }
    s.advance(secs(10)).await;
    let taken = s.claim().await;
    assert_eq!(taken.payloads(), numbered("m", 5));
    assert_eq!(taken.moved(), 5);
    s.settle_all(&taken, &[], &Outcome::Release).await;
    let again = s
        .claim_with(ClaimRequest {
            max_lanes: 1,
            ..ask()
        })
        .await;
    assert_eq!(again.payloads(), numbered("m", 5));
    assert_eq!(again.moved(), 0, "each joins once");
}
