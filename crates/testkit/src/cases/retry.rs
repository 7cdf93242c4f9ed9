//! What a failure records: counters, times, and which of several counts (F1 to F3, F8, cases 21 and 39).

use std::time::Duration;

use outbox_store::{AfterDeath, DeathReason, MAX_DELAY, Outcome};

use crate::{
    Harness,
    scene::{Scene, message, numbered, rounds, secs},
    taken::{dead, retry, retry_in_place, transient},
};

/// F1, F3: a counted failure raises attempts and tries, a transient one only tries.
pub async fn f1_a_counted_failure_raises_attempts_and_tries<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "a").await;
    s.save(None::<&str>, "b").await;
    for (outcome, expected) in [
        (retry(10), (1, 1)),
        (transient(10), (1, 2)),
        (retry(10), (2, 3)),
    ] {
        for payload in ["a", "b"] {
            let found = s.claim_until(payload).await;
            s.settle_all(&found, &[(payload, outcome.clone())], &Outcome::Release)
                .await;
        }
        s.advance(secs(10)).await;
        for payload in ["a", "b"] {
            let found = s.claim_until(payload).await;
            let delivery = found.of(payload);
            assert_eq!((delivery.attempts, delivery.tries), expected);
            s.release(&found).await;
        }
    }
}

/// D2: a release counts nothing and changes nothing.
pub async fn f3_a_release_counts_nothing<H: Harness>() {
    let s = Scene::<H>::new().await;
    let positions = s.save_run("k", &numbered("m", 3)).await;
    for _ in 0..3 {
        let taken = s.claim().await;
        assert_eq!(taken.positions(), positions);
        assert!(taken.deliveries().all(|d| (d.attempts, d.tries) == (0, 0)));
        s.release(&taken).await;
    }
}

/// F8: a retry without a time leaves the message due, on the single path and in a batch, keyed or not.
pub async fn f8_a_retry_without_a_time_stays_due<H: Harness>() {
    for outcome in [
        retry_in_place(),
        Outcome::Retry {
            after: Some(Duration::ZERO),
            counted: true,
            error: "refused".to_owned(),
        },
    ] {
        let s = Scene::<H>::new().await;
        s.save("k", "a").await;
        s.save("k", "b").await;
        s.save(None::<&str>, "c").await;
        for payload in ["a", "c"] {
            let taken = s.claim_until(payload).await;
            s.settle_all(&taken, &[(payload, outcome.clone())], &Outcome::Release)
                .await;
        }
        let mut out = s.drain().await;
        let at = |payload: &str| out.iter().position(|p| p == payload);
        assert!(at("a") < at("b"));
        out.sort();
        assert_eq!(out, ["a", "b", "c"]);
        assert_eq!(s.status().await.blocked, 0);
    }
}

/// Case 39, S8: of several retries of one key in one settlement the smallest position counts, the others are given back untouched.
pub async fn case39_of_several_retries_of_a_key_the_smallest_position_counts<H: Harness>() {
    for reversed in [false, true] {
        let s = Scene::<H>::new().await;
        s.save_run("k", &numbered("m", 3)).await;
        let taken = s.claim().await;
        let mut lanes = taken.settlements(&[
            ("m1", retry(20)),
            ("m2", retry(600)),
            ("m3", retry_in_place()),
        ]);
        if reversed {
            lanes[0].outcomes.reverse();
        }
        let settled = s.settle_raw(&lanes).await;
        assert!(!settled[0].lost);
        assert!(s.claim().await.is_empty());
        s.advance(secs(20)).await;
        let again = s.claim().await;
        assert_eq!(again.payloads(), numbered("m", 3));
        let counts: Vec<_> = again.deliveries().map(|d| (d.attempts, d.tries)).collect();
        assert_eq!(counts, [(1, 1), (0, 0), (0, 0)]);
    }
}

/// Case 39 with keys that were waiting already.
pub async fn case39_the_smallest_position_counts_in_a_waiting_line_too<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save_run("k", &numbered("m", 3)).await;
    let taken = s.claim().await;
    s.settle_all(&taken, &[("m1", retry(10))], &Outcome::Release)
        .await;
    s.claim().await;
    s.advance(secs(10)).await;
    let taken = s.claim().await;
    assert_eq!(taken.payloads(), numbered("m", 3));
    s.settle_all(
        &taken,
        &[("m3", retry(600)), ("m2", retry(20))],
        &Outcome::Published,
    )
    .await;
    assert!(s.claim().await.is_empty());
    s.advance(secs(20)).await;
    let again = s.claim().await;
    assert_eq!(again.payloads(), ["m2", "m3"]);
    assert_eq!(again.of("m3").tries, 0);
}

/// Cases 21 and 39: any delay is taken and clamped to a year; the batch settles.
pub async fn case39_any_delay_settles_and_is_clamped<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(2);
    s.save(&keys[0], "a").await;
    s.save(&keys[1], "b").await;
    s.save(None::<&str>, "c").await;
    let forever = Outcome::Retry {
        after: Some(Duration::MAX),
        counted: true,
        error: String::new(),
    };
    let year_and_more = Outcome::Retry {
        after: Some(MAX_DELAY * 1_000),
        counted: true,
        error: String::new(),
    };
    for () in rounds() {
        let taken = s.claim().await;
        if taken.is_empty() {
            break;
        }
        let others = if taken.payloads().contains(&"b".to_owned()) {
            vec![("b", year_and_more.clone())]
        } else {
            Vec::new()
        };
        s.settle_all(&taken, &others, &forever).await;
    }
    let day = secs(24 * 3600);
    s.advance(MAX_DELAY.saturating_sub(day)).await;
    assert!(s.claim().await.is_empty());
    s.advance(day).await;
    let mut out = s.drain().await;
    out.sort();
    assert_eq!(out, ["a", "b", "c"]);
}

/// The shortest delay there is does not fail, whether it rounds to now or to a millisecond.
pub async fn case21_the_shortest_delay_settles<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "a").await;
    let taken = s.claim().await;
    let soon = Outcome::Retry {
        after: Some(Duration::from_nanos(1)),
        counted: true,
        error: String::new(),
    };
    s.settle(&taken, &[("a", soon)]).await;
    s.advance(secs(1)).await;
    assert_eq!(s.drain().await, ["a"]);
}

/// Cases 21 and 39: counters at the integer limit saturate, and their batch settles.
pub async fn case39_counters_at_their_limit_saturate<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(3);
    let mut positions = Vec::new();
    for (key, payload) in keys.iter().zip(["a", "b", "c"]) {
        positions.push(s.save(key, payload).await);
    }
    for position in &positions[..2] {
        s.harness.set_counts(*position, u32::MAX, 7).await;
    }
    let taken = s.claim().await;
    assert_eq!((taken.of("a").attempts, taken.of("a").tries), (u32::MAX, 7));
    s.settle_all(
        &taken,
        &[("a", retry(10)), ("b", dead(AfterDeath::Skip))],
        &Outcome::Published,
    )
    .await;
    assert_eq!(s.dead().await[0].attempts, u32::MAX);
    s.advance(secs(10)).await;
    let again = s.claim().await;
    assert_eq!((again.of("a").attempts, again.of("a").tries), (u32::MAX, 8));
}

/// F1, F3: a death counts a failure, unless the message never came to the broker's judgement.
pub async fn f1_a_death_counts_its_failure<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(3);
    let reasons = [
        DeathReason::Exhausted,
        DeathReason::Permanent,
        DeathReason::Poison,
    ];
    for key in &keys {
        s.put(&message(key, "x")).await;
    }
    let taken = s.claim().await;
    let mut lanes = taken.settlements_of_all(&[], &Outcome::Release);
    for (settlement, reason) in lanes[0].outcomes.iter_mut().zip(reasons) {
        settlement.outcome = Outcome::Dead {
            reason,
            error: reason.as_str().to_owned(),
            after: AfterDeath::Skip,
            notice: None,
        };
    }
    s.settle_raw(&lanes).await;
    let letters = s.dead().await;
    let told: Vec<_> = letters
        .iter()
        .map(|l| (l.reason.as_str(), l.attempts, l.tries))
        .collect();
    assert_eq!(
        told,
        [("exhausted", 1, 1), ("permanent", 1, 1), ("poison", 0, 1)]
    );
}

/// The last error of a waiting head is shown with its key.
pub async fn f7_the_last_error_is_kept_with_the_message<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "a").await;
    let taken = s.claim().await;
    s.settle(&taken, &[("a", retry(60))]).await;
    let status = s.status().await;
    assert_eq!(status.blocked_keys[0].error.as_deref(), Some("refused"));
}
