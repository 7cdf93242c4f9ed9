//! Stopped topics: what stands in the way is set aside once, other topics go on, and a key keeps its place (S14). What differs between a
//! pause and the stop of a destination is in `stops.rs`, the message that is let through in `probe.rs`.

use outbox_store::{AfterDeath, ClaimRequest, OutboxOperator, Outcome};

use crate::{
    Harness,
    scene::{
        Scene, ask, numbered, ordering_key, rounds, secs,
        stops::{of, other},
    },
    taken::{dead, retry, retry_in_place},
};

/// S14, P3: nothing of a stopped topic is handed out, with or without a key; it is set aside once and costs no claim anything afterwards.
pub async fn s14_a_stopped_topic_gives_nothing_and_is_set_aside_once<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(2);
    s.save_run(&keys[0], &numbered("a", 3)).await;
    s.save_run(&keys[1], &numbered("b", 2)).await;
    for payload in numbered("u", 4) {
        s.save(None::<&str>, &payload).await;
    }
    s.pause(None).await;
    assert_eq!(s.set_aside().await, 9);
    let status = s.status().await;
    assert_eq!((status.line, status.waiting, status.scheduled), (0, 5, 4));
    assert_eq!((status.lanes.len(), status.next_due), (0, None));
    let claim = s.claim().await.claim;
    assert_eq!((claim.moved, claim.next_due), (0, None));
    assert!(!claim.leased_elsewhere);
    s.advance(secs(365 * 24 * 3_600)).await;
    assert_eq!(s.set_aside().await, 0, "no time makes it due");
    let out = s.resume_and_drain().await;
    assert_eq!(of(&out, "a"), numbered("a", 3));
    assert_eq!(of(&out, "b"), numbered("b", 2));
    let mut unkeyed = of(&out, "u");
    unkeyed.sort();
    assert_eq!(unkeyed, numbered("u", 4));
    s.assert_empty().await;
}

/// S14, O7: other topics go on in the same lanes, keyed or not; the same key of another topic is another key.
pub async fn s14_other_topics_of_the_same_lanes_go_on<H: Harness>() {
    let s = Scene::<H>::new().await;
    let beside = s.other_key_beside("k");
    for n in 1..=3 {
        s.save("k", &format!("k{n}")).await;
        s.save(None::<&str>, &format!("u{n}")).await;
        s.put(&other("k", &format!("same{n}"))).await;
        s.put(&other(beside.as_str(), &format!("beside{n}"))).await;
        s.put(&other(None::<&str>, "unkeyed")).await;
    }
    s.pause(None).await;
    let out = s.drain().await;
    assert_eq!(out.len(), 9);
    assert_eq!(of(&out, "same"), numbered("same", 3));
    assert_eq!(of(&out, "beside"), numbered("beside", 3));
    let status = s.status().await;
    assert_eq!((status.pending(), status.waiting, status.line), (6, 3, 0));
    assert_eq!(s.resume_and_drain().await.len(), 6);
}

/// P3, P4: a long line of a stopped topic is passed in one claim and takes no room in it.
pub async fn p3_rows_of_a_stopped_topic_do_not_fill_a_claim<H: Harness>() {
    let s = Scene::<H>::new().await;
    let beside = s.other_key_beside("k");
    s.save_run("k", &numbered("behind", 300)).await;
    s.put(&other(beside.as_str(), "free")).await;
    s.pause(None).await;
    let taken = s.claim_up_to(10).await;
    assert_eq!(taken.payloads(), ["free"]);
    assert_eq!(taken.moved(), 300);
    s.publish(&taken).await;
    assert_eq!(s.resume_and_drain().await, numbered("behind", 300));
}

/// S14: what is saved while its topic is stopped is set aside too, and keeps its place.
pub async fn s14_what_is_saved_meanwhile_is_set_aside_too<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "m1").await;
    s.pause(None).await;
    assert_eq!(s.set_aside().await, 1);
    s.save_run("k", &["m2".to_owned(), "m3".to_owned()]).await;
    s.save(None::<&str>, "u").await;
    assert_eq!(s.set_aside().await, 3);
    s.save("k", "m4").await;
    s.resume().await;
    s.save("k", "m5").await;
    s.free().await;
    s.save("k", "m6").await;
    let out = s.drain().await;
    assert_eq!(of(&out, "m"), numbered("m", 6));
    assert_eq!(out.len(), 7);
    s.assert_empty().await;
}

/// S14: a retry that falls due while its topic is stopped is set aside, once, with its key; it keeps what was counted.
pub async fn s14_a_retry_that_falls_due_is_set_aside_once<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save_run("k", &numbered("m", 3)).await;
    let taken = s.claim().await;
    s.settle_all(&taken, &[("m1", retry(60))], &Outcome::Release)
        .await;
    s.pause(None).await;
    s.set_aside().await;
    let status = s.status().await;
    assert_eq!(
        (status.waiting, status.blocked),
        (3, 1),
        "it waits for its retry"
    );
    s.advance(secs(60)).await;
    assert!(s.set_aside().await > 0, "it fell due");
    assert_eq!(s.set_aside().await, 0);
    let status = s.status().await;
    assert_eq!((status.blocked, status.next_due), (0, None));
    let key = ordering_key("k");
    let retried = s.store().retry_now(&key).await;
    assert!(
        !retried.expect("the store answers"),
        "it waits for its topic"
    );
    s.resume().await;
    s.free().await;
    let taken = s.claim().await;
    assert_eq!(taken.payloads(), numbered("m", 3));
    assert_eq!((taken.of("m1").attempts, taken.of("m1").tries), (1, 1));
}

/// S14: many keys that fall due while their topic is stopped hinder no other key of their lane.
pub async fn s14_many_due_keys_of_a_stopped_topic_hinder_no_other<H: Harness>() {
    let s = Scene::<H>::new().await;
    let lane = s.lane("k0");
    for key in s.keys_in(lane).take(150) {
        s.save(&key, "fails").await;
    }
    for () in rounds() {
        let taken = s.claim().await;
        if taken.is_empty() {
            break;
        }
        s.settle_all(&taken, &[], &retry(60)).await;
    }
    let beside = s.other_key_beside("k0");
    s.put(&other(beside.as_str(), "free")).await;
    let taken = s.claim_until("free").await;
    s.settle_all(&taken, &[("free", retry(61))], &Outcome::Release)
        .await;
    s.pause(None).await;
    s.advance(secs(61)).await;
    assert_eq!(
        s.drain_with(ClaimRequest { limit: 5, ..ask() }).await,
        ["free"]
    );
    assert_eq!(s.set_aside().await, 0);
    assert_eq!(s.resume_and_drain().await.len(), 150);
}

/// S14: schedules and retries without a key that fall due while their topic is stopped are set aside, and are freed with the rest.
pub async fn s14_what_falls_due_meanwhile_is_set_aside<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save(None::<&str>, "failed").await;
    let taken = s.claim().await;
    s.settle(&taken, &[("failed", retry(60))]).await;
    s.schedule("k", "keyed", secs(60)).await;
    s.schedule(None::<&str>, "unkeyed", secs(60)).await;
    s.pause(None).await;
    assert_eq!(s.set_aside().await, 0, "nothing is due");
    s.advance(secs(60)).await;
    assert!(s.set_aside().await >= 3);
    let status = s.status().await;
    assert_eq!((status.waiting, status.scheduled, status.line), (1, 2, 0));
    let mut out = s.resume_and_drain().await;
    out.sort();
    assert_eq!(out, ["failed", "keyed", "unkeyed"]);
}

/// O6, S14: a smaller position that arrives while its key is set aside goes first when the stop is over.
pub async fn s14_a_smaller_position_that_arrives_meanwhile_goes_first<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.schedule("k", "early", secs(5)).await;
    s.save("k", "head").await;
    s.pause(None).await;
    assert_eq!(s.set_aside().await, 1);
    s.advance(secs(10)).await;
    assert!(s.set_aside().await > 0);
    assert_eq!(s.resume_and_drain().await, ["early", "head"]);
    s.schedule("k", "early", secs(5)).await;
    s.save("k", "head").await;
    s.pause(None).await;
    s.set_aside().await;
    s.resume().await;
    s.free().await;
    s.advance(secs(10)).await;
    assert_eq!(s.drain().await, ["early", "head"]);
}

/// S14, O9: a dead letter keeps its key while the topic is stopped and after it; its discard or redrive then works as ever.
pub async fn s14_a_dead_letter_keeps_its_key<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(2);
    for (n, key) in keys.iter().enumerate() {
        s.save_run(key, &numbered(&format!("{n}-"), 2)).await;
    }
    let taken = s.claim().await;
    let died = [
        ("0-1", dead(AfterDeath::Hold)),
        ("1-1", dead(AfterDeath::Hold)),
    ];
    s.settle_all(&taken, &died, &Outcome::Release).await;
    s.pause(None).await;
    s.set_aside().await;
    s.advance(secs(600)).await;
    assert_eq!(s.set_aside().await, 0);
    assert_eq!(s.status().await.blocked, 2);
    assert!(
        s.resume_and_drain().await.is_empty(),
        "its letter holds each key"
    );
    assert_eq!(s.discard().await.count, 2);
    assert_eq!(s.drain().await, ["0-2", "1-2"]);
    s.assert_empty().await;
}

/// S14, O9: what is redriven or let go by an operator while its topic is stopped waits for the end of the stop, in its place.
pub async fn s14_a_redrive_meanwhile_waits_for_the_end<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(2);
    s.save_run(&keys[0], &numbered("held", 2)).await;
    s.save_run(&keys[1], &numbered("skipped", 2)).await;
    s.save(None::<&str>, "unkeyed").await;
    for () in rounds() {
        let taken = s.claim().await;
        if taken.is_empty() {
            break;
        }
        let outcomes = [
            ("held1", dead(AfterDeath::Hold)),
            ("skipped1", dead(AfterDeath::Skip)),
            ("unkeyed", dead(AfterDeath::Skip)),
        ];
        let met = outcomes
            .into_iter()
            .filter(|(payload, _)| taken.payloads().iter().any(|taken| taken == payload));
        let met: Vec<_> = met.collect();
        s.settle_all(&taken, &met, &Outcome::Release).await;
        if s.status().await.dead == 3 {
            break;
        }
    }
    s.pause(None).await;
    s.set_aside().await;
    let stepped = s.redrive().await;
    assert_eq!((stepped.count, stepped.out_of_order), (3, 1));
    assert!(s.set_aside().await > 0);
    assert_eq!(s.set_aside().await, 0);
    let out = s.resume_and_drain().await;
    assert_eq!(of(&out, "held"), numbered("held", 2));
    assert_eq!(of(&out, "skipped"), ["skipped2", "skipped1"]);
    assert_eq!(out.len(), 5);
    s.assert_empty().await;
}

/// S14: what a relay holds when its topic is stopped still goes out; what it gives back, or what failed, stays.
pub async fn s14_held_messages_are_not_concerned<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(3);
    for (n, key) in keys.iter().enumerate() {
        s.save_run(key, &numbered(&format!("{n}-"), 2)).await;
    }
    let taken = s.claim().await;
    s.pause(None).await;
    assert!(s.extend(&taken).await.is_empty());
    let outcomes = [
        ("0-1", Outcome::Published),
        ("1-1", retry_in_place()),
        ("2-1", retry(60)),
    ];
    s.settle_all(&taken, &outcomes, &Outcome::Release).await;
    assert_eq!(s.set_aside().await, 4, "one waits for its retry");
    s.advance(secs(60)).await;
    s.set_aside().await;
    let out = s.resume_and_drain().await;
    assert_eq!(of(&out, "0-"), ["0-2"]);
    assert_eq!(of(&out, "1-"), numbered("1-", 2));
    assert_eq!(of(&out, "2-"), numbered("2-", 2));
    s.assert_empty().await;
}

/// D2, S14: a late confirmation removes its message from what a stop set aside, and the key goes on without it.
pub async fn s14_a_late_confirmation_finds_what_was_set_aside<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(2);
    s.save_run(&keys[0], &numbered("m", 2)).await;
    s.save(&keys[1], "alone").await;
    let taken = s.claim().await;
    s.crash(taken.clone()).await;
    s.pause(None).await;
    assert_eq!(s.set_aside().await, 3);
    let late = taken.settlements(&[("m1", Outcome::Published), ("alone", Outcome::Published)]);
    let settled = s.settle_raw(&late).await;
    assert!(settled[0].lost && settled[0].missed.is_empty());
    // A store may let the key go on, and meet it once more.
    s.set_aside().await;
    assert_eq!(s.set_aside().await, 0);
    assert_eq!(s.resume_and_drain().await, ["m2"]);
    s.assert_empty_after_claim().await;
}

/// F6, S14: a lane that is served carefully sets aside what its topic keeps, and comes to rest.
pub async fn s14_a_careful_lane_sets_aside_too<H: Harness>() {
    let s = Scene::<H>::new().await;
    let beside = s.other_key_beside("k");
    s.save_run("k", &numbered("m", 3)).await;
    s.put(&other(beside.as_str(), "free")).await;
    let taken = s.claim().await;
    s.crash(taken).await;
    s.pause(None).await;
    assert_eq!(s.drain().await, ["free"]);
    assert!(s.claim().await.is_empty());
    assert!(
        s.status().await.lanes.is_empty(),
        "care ends when nothing is due"
    );
    assert_eq!(s.resume_and_drain().await, numbered("m", 3));
    s.assert_empty().await;
}
