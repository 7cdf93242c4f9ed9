//! The one message of a stopped topic that is let through to see whether its destination is up again (S14).

use std::collections::BTreeSet;

use outbox_store::Outcome;

use crate::{
    Harness,
    scene::{
        Scene, numbered, secs,
        stops::{STOP, of},
    },
    taken::{Taken, retry_in_place, transient},
};

/// S14: exactly one message is let through, the head of a key; neither while it is held nor when it went well does another follow.
pub async fn s14_a_probe_lets_exactly_one_message_through<H: Harness>() {
    let s = Scene::<H>::new().await;
    for (n, key) in s.keys_together(3).iter().enumerate() {
        s.save_run(key, &numbered(&format!("{n}-"), 3)).await;
    }
    s.stop().await;
    assert_eq!(s.set_aside().await, 9);
    assert!(s.probe().await);
    let probe = the_one(s.claim().await);
    let (payload, key) = (
        probe.payloads().remove(0),
        probe.payloads()[0][..1].to_owned(),
    );
    assert!(payload.ends_with("-1"), "{payload} is no head");
    assert_eq!(s.set_aside().await, 0, "nothing beside it");
    s.publish(&probe).await;
    s.set_aside().await;
    assert_eq!(s.set_aside().await, 0, "nothing after it");
    s.save_run("k-new", &numbered("new", 2)).await;
    s.set_aside().await;
    let out = s.start_and_drain().await;
    for n in ["0", "1", "2"] {
        let all = numbered(&format!("{n}-"), 3);
        let rest = usize::from(n == key);
        assert_eq!(of(&out, &format!("{n}-")), all[rest..]);
    }
    assert_eq!(of(&out, "new"), numbered("new", 2));
    s.assert_empty().await;
}

/// S14: each time the message is of another lane, in turn.
pub async fn s14_each_probe_is_of_another_lane<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys: Vec<_> = s.keys_apart().into_iter().take(4).collect();
    for key in &keys {
        s.save_run(key, &numbered("m", 3)).await;
    }
    s.stop().await;
    assert_eq!(s.set_aside().await, 12);
    let mut lanes = Vec::new();
    for _ in 0..8 {
        assert!(s.probe().await);
        let probe = the_one(s.claim().await);
        lanes.push(probe.token().lane);
        s.settle_all(&probe, &[], &transient(1)).await;
        s.stop().await;
        s.advance(secs(2)).await;
        s.set_aside().await;
    }
    let first: BTreeSet<_> = lanes[..4].iter().collect();
    assert_eq!(first.len(), 4, "{lanes:?}");
    assert_eq!(lanes[..4], lanes[4..]);
    assert_eq!(s.start_and_drain().await.len(), 12);
}

/// S14: a probe that failed waits for its retry, and is set aside again when that is due; no attempt is spent.
pub async fn s14_a_probe_that_failed_is_set_aside_again<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save_run("k", &numbered("m", 2)).await;
    s.stop().await;
    s.set_aside().await;
    assert!(s.probe().await);
    let probe = the_one(s.claim().await);
    s.settle_all(&probe, &[], &transient(5)).await;
    s.stop().await;
    assert!(!s.probe().await, "its key waits for the retry");
    assert_eq!(s.set_aside().await, 0);
    s.advance(secs(5)).await;
    assert!(s.set_aside().await > 0);
    assert!(s.probe().await);
    let again = the_one(s.claim().await);
    assert_eq!(again.payloads(), ["m1"]);
    assert_eq!((again.of("m1").attempts, again.of("m1").tries), (0, 1));
    s.publish(&again).await;
    assert_eq!(s.start_and_drain().await, ["m2"]);
    s.assert_empty().await;
}

/// S14: the same without a key, also when it is put back in its place.
pub async fn s14_an_unkeyed_message_is_let_through_too<H: Harness>() {
    let s = Scene::<H>::new().await;
    for payload in numbered("u", 3) {
        s.save(None::<&str>, &payload).await;
    }
    s.stop().await;
    assert_eq!(s.set_aside().await, 3);
    for outcome in [transient(5), retry_in_place(), Outcome::Release] {
        assert!(s.probe().await);
        let taken = s.claim().await;
        let probe = the_one(taken);
        assert_eq!(s.set_aside().await, 0);
        s.settle_all(&probe, &[], &outcome).await;
        s.stop().await;
        s.advance(secs(6)).await;
        assert_eq!(
            s.set_aside().await,
            match outcome {
                // It joins the line, and is set aside.
                Outcome::Retry { after: Some(_), .. } => 2,
                _ => 1,
            }
        );
    }
    assert!(s.probe().await);
    let probe = the_one(s.claim().await);
    s.publish(&probe).await;
    assert_eq!(s.set_aside().await, 0);
    assert_eq!(s.start_and_drain().await.len(), 2);
    s.assert_empty().await;
}

/// S14: nothing is let through of a topic of which nothing was set aside, or that is not stopped, or whose stop is over.
pub async fn s14_there_is_nothing_to_let_through<H: Harness>() {
    let s = Scene::<H>::new().await;
    assert!(!s.probe().await, "it was never stopped");
    s.save("k", "m").await;
    s.stop().await;
    assert!(!s.probe().await, "nothing is set aside");
    s.set_aside().await;
    s.start_topic().await;
    assert!(!s.probe().await, "it is started");
    s.stop().await;
    s.advance(STOP).await;
    assert!(!s.probe().await, "its time is over");
    s.free().await;
    assert!(!s.probe().await);
    assert_eq!(s.drain().await, ["m"]);
}

/// S14: a probe that nobody claimed is not let through any more when a relay says again that the destination is down, or when another one is.
pub async fn s14_only_the_last_probe_is_let_through<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys: Vec<_> = s.keys_apart().into_iter().take(2).collect();
    for key in &keys {
        s.save_run(key, &numbered("m", 2)).await;
    }
    s.save(None::<&str>, "u").await;
    s.stop().await;
    assert_eq!(s.set_aside().await, 5);
    for _ in 0..3 {
        assert!(s.probe().await);
        s.stop().await;
        assert!(s.set_aside().await > 0);
        assert_eq!(s.set_aside().await, 0);
    }
    assert!(s.probe().await);
    assert!(s.probe().await);
    let mut handed = 0;
    for _ in 0..4 {
        let taken = s.claim().await;
        handed += taken.payloads().len();
        s.publish(&taken).await;
    }
    assert_eq!(handed, 1, "one of the two is set aside again");
    assert_eq!(s.start_and_drain().await.len(), 4);
    s.assert_empty().await;
}

/// S14, O2: a smaller position that arrives before the probe is claimed keeps it back: nothing goes before what precedes it.
pub async fn s14_a_probe_overtakes_nothing<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.schedule("k", "early", secs(5)).await;
    s.save("k", "head").await;
    s.stop().await;
    assert_eq!(s.set_aside().await, 1);
    assert!(s.probe().await);
    s.advance(secs(5)).await;
    let taken = s.claim().await;
    assert!(!taken.payloads().contains(&"head".to_owned()));
    assert!(taken.payloads().len() <= 1);
    if !taken.is_empty() {
        s.release(&taken).await;
    }
    s.stop().await;
    s.set_aside().await;
    assert!(s.probe().await);
    assert_eq!(the_one(s.claim().await).payloads(), ["early"]);
    s.advance(secs(40)).await;
    assert_eq!(s.start_and_drain().await, ["early", "head"]);
    s.assert_empty_after_claim().await;
}

/// S15: freeing after an outage keeps what the probe left: its key goes on behind it, also if its retry still waits.
pub async fn s15_the_key_of_a_probe_keeps_its_time<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(2);
    s.save_run(&keys[0], &numbered("a", 2)).await;
    s.save_run(&keys[1], &numbered("b", 2)).await;
    s.stop().await;
    assert_eq!(s.set_aside().await, 4);
    assert!(s.probe().await);
    let probe = the_one(s.claim().await);
    let probed = probe.payloads()[0][..1].to_owned();
    let free = if probed == "a" { "b" } else { "a" };
    s.settle_all(&probe, &[], &transient(600)).await;
    assert_eq!(s.start_and_drain().await, numbered(free, 2));
    s.advance(secs(600)).await;
    assert_eq!(s.drain().await, numbered(&probed, 2));
    s.assert_empty().await;
}

/// The claim of the message that was let through: it alone.
#[track_caller]
fn the_one(taken: Taken) -> Taken {
    assert_eq!(taken.payloads().len(), 1, "{:?}", taken.payloads());
    taken
}
