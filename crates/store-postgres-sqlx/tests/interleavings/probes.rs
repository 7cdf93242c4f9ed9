//! The one message that a stopped topic lets through: against claims, ends, pauses, and other relays that let one through (S14, A6).

use outbox_store::Outcome;

use crate::{
    paused::Point,
    relay::retry,
    scene::{Scene, TOPIC, keys_apart},
};

/// A topic that is stopped, with two messages of a key set aside.
async fn set_aside() -> Scene {
    let s = Scene::new().await;
    s.save("k", "k1").await;
    s.save("k", "k2").await;
    let relay = s.relay("stops");
    relay.stopping(&[TOPIC]).await;
    relay.set_aside().await;
    s
}

/// A claim at each point of it: one message goes out, the first, and nothing else.
#[tokio::test]
async fn s14_a_claim_at_any_point_of_a_probe_takes_one_message_at_most() {
    for step in 0.. {
        let s = set_aside().await;
        let (relay, other) = (s.relay("a"), s.relay("other"));
        let held = other.try_hold(Point::Step(step), other.probing()).await;
        let Ok(held) = held else {
            assert!(step > 3, "a probe has more steps than {step}");
            return;
        };
        assert!(relay.claim().await.is_empty());
        assert!(held.go().await);
        s.check().await;
        let taken = relay.claim().await;
        assert_eq!(taken.payloads(), ["k1"], "step {step}");
        assert!(other.claim().await.is_empty());
        relay.publish(&taken).await;
        relay.set_aside().await;
        assert_eq!(relay.end_and_drain().await, ["k2"]);
        s.check_empty().await;
    }
}

/// A probe at each point of a claim that reads its lane waits for the end of its transaction, not for the broker.
#[tokio::test]
async fn s14_a_probe_waits_for_a_claim_and_not_for_its_lease() {
    for step in 0.. {
        let s = set_aside().await;
        let (relay, other) = (s.relay("a"), s.relay("other"));
        s.save_other("k", "other").await;
        s.run("UPDATE outbox.message SET lane = outbox.lane_of('orders', 'k'), key = NULL")
            .await;
        let held = relay.try_hold(Point::Step(step), relay.claiming(relay.ask()));
        let Ok(held) = held.await else {
            assert!(step > 2, "a claim has more steps than {step}");
            return;
        };
        let probing = if step == 0 {
            other.begin(&s, other.probing()).await
        } else {
            other.wait(&s, other.probing()).await
        };
        let taken = held.go().await;
        assert!(probing.await.unwrap());
        s.check().await;
        if step > 0 {
            assert_eq!(taken.payloads(), ["other"]);
            assert!(!other.probing().await, "it is let through already");
            assert!(other.claim().await.is_empty(), "its lane is leased");
        }
        relay.publish(&taken).await;
        let mut out = taken.payloads();
        out.extend(relay.drain().await);
        out.sort();
        assert_eq!(out, ["k1", "other"]);
        assert_eq!(relay.end_and_drain().await, ["k2"]);
        s.check_empty().await;
    }
}

/// The stop ends, and all is freed, at each point of it.
#[tokio::test]
async fn s15_the_end_at_any_point_of_a_probe_is_whole() {
    for step in 0.. {
        let s = set_aside().await;
        let (relay, other) = (s.relay("a"), s.relay("other"));
        let held = other.try_hold(Point::Step(step), other.probing()).await;
        let Ok(held) = held else {
            assert!(step > 3, "a probe has more steps than {step}");
            return;
        };
        let (end, free) = (relay.ending(&[TOPIC]), relay.freeing());
        let over = async move {
            end.await;
            free.await
        };
        let over = relay.begin(&s, over).await;
        held.go().await;
        over.await.unwrap();
        s.check().await;
        assert_eq!(relay.end_and_drain().await, ["k1", "k2"], "step {step}");
        s.check_empty().await;
    }
}

/// An operator pauses the topic at each point of it: nothing goes out.
#[tokio::test]
async fn a6_a_pause_at_any_point_of_a_probe_lets_nothing_through() {
    for step in 0.. {
        let s = set_aside().await;
        let (relay, other, operator) = (s.relay("a"), s.relay("other"), s.relay("operator"));
        let held = other.try_hold(Point::Step(step), other.probing()).await;
        let Ok(held) = held else {
            assert!(step > 3, "a probe has more steps than {step}");
            return;
        };
        let pause = operator.begin(&s, operator.pausing()).await;
        held.go().await;
        pause.await.unwrap();
        relay.set_aside().await;
        assert!(!other.probing().await);
        other.ending(&[TOPIC]).await;
        other.stopping(&[TOPIC]).await;
        assert_eq!(other.freeing().await, 0);
        relay.set_aside().await;
        s.check().await;
        assert!(operator.resuming().await);
        assert_eq!(relay.end_and_drain().await, ["k1", "k2"], "step {step}");
        s.check_empty().await;
    }
}

/// Two relays let one through at once: at most the last one counts, and what the other chose is set aside again.
#[tokio::test]
async fn s14_of_two_probes_at_once_one_counts() {
    for step in 0.. {
        let s = Scene::new().await;
        let (relay, one, two) = (s.relay("a"), s.relay("one"), s.relay("two"));
        let keys = keys_apart(2);
        for key in &keys {
            s.save(key, key).await;
        }
        relay.stopping(&[TOPIC]).await;
        relay.set_aside().await;
        let held = one.try_hold(Point::Step(step), one.probing()).await;
        let Ok(held) = held else {
            assert!(step > 3, "a probe has more steps than {step}");
            return;
        };
        let second = two.begin(&s, two.probing()).await;
        assert!(held.go().await);
        assert!(second.await.unwrap());
        s.check().await;
        let taken = relay.claim().await;
        assert_eq!(taken.payloads().len(), 1, "step {step}");
        relay.settle_whole(&taken, &[], &Outcome::Release).await;
        let mut out = relay.end_and_drain().await;
        out.sort();
        assert_eq!(out, keys);
        s.check_empty().await;
    }
}

/// A message with a smaller position commits when the head of its key was let through already: it does not overtake.
#[tokio::test]
async fn o2_what_commits_late_is_not_overtaken_by_a_probe() {
    let s = Scene::new().await;
    let (relay, other) = (s.relay("a"), s.relay("other"));
    let mut late = s.begin().await;
    s.save_in(&mut late, "k", "k1").await;
    s.save("k", "k2").await;
    other.stopping(&[TOPIC]).await;
    relay.set_aside().await;
    assert!(other.probing().await);
    late.commit().await.unwrap();
    relay.set_aside().await;
    s.check().await;
    assert!(other.probing().await);
    let taken = relay.claim().await;
    assert_eq!(taken.payloads(), ["k1"]);
    relay.publish(&taken).await;
    relay.set_aside().await;
    assert_eq!(relay.end_and_drain().await, ["k2"]);
    s.check_empty().await;
}

/// Without a key: it joins the line, goes out alone, and is set aside again when it failed and the stop goes on.
#[tokio::test]
async fn s14_a_message_without_a_key_is_let_through_and_set_aside_again() {
    let s = Scene::new().await;
    let (relay, other) = (s.relay("a"), s.relay("other"));
    let messages = ["u1", "u2", "u3"].map(|payload| (None, payload.to_owned()));
    s.save_all(&messages).await;
    other.stopping(&[TOPIC]).await;
    relay.set_aside().await;
    for _ in 0..4 {
        assert!(other.probing().await);
        let taken = relay.claim().await;
        assert_eq!(taken.payloads().len(), 1);
        assert!(other.claim().await.is_empty());
        relay.settle_whole(&taken, &[], &retry(1)).await;
        other.stopping(&[TOPIC]).await;
        s.pass(crate::scene::secs(2)).await;
        relay.set_aside().await;
        s.check().await;
    }
    assert_eq!(relay.end_and_drain().await.len(), 3);
    s.check_empty().await;
}

/// The relay that has the probe dies: whoever takes its lane over gets the same message, and no other.
#[tokio::test]
async fn d2_a_probe_whose_relay_died_is_served_again() {
    let s = set_aside().await;
    let (relay, other) = (s.relay("a"), s.relay("other"));
    assert!(other.probing().await);
    let taken = relay.claim().await;
    assert_eq!(taken.payloads(), ["k1"]);
    s.lapse().await;
    let again = other.claim().await;
    assert_eq!(again.payloads(), ["k1"]);
    let late = relay.settle(taken.whole(&[], &Outcome::Published)).await;
    assert!(late[0].lost && late[0].missed.is_empty());
    let settled = other.settle(again.whole(&[], &Outcome::Release)).await;
    assert!(!settled[0].lost);
    s.check().await;
    other.set_aside().await;
    assert_eq!(other.end_and_drain().await, ["k2"]);
    s.check_empty().await;
}
