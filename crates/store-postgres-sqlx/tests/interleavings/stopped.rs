//! The end of a stop against claims and other relays: a claim that still saw it sets aside, and all of it is freed and forgotten (S14, S15).

use outbox_store::{ClaimRequest, Outcome};

use crate::{
    paused::Point,
    relay::retry,
    scene::{Scene, TOPIC},
    stops::{assert_over, stopped},
};

/// Each point of a claim: what it set aside, or is about to, is found by whoever frees, who waits for its lanes.
#[tokio::test]
async fn s15_a_claim_that_still_saw_the_stop_leaves_nothing_behind() {
    for step in 0.. {
        let s = stopped().await;
        let (relay, other) = (s.relay("a"), s.relay("other"));
        let held = relay.try_hold(Point::Step(step), relay.claiming(relay.ask()));
        let Ok(held) = held.await else {
            assert!(step > 4, "a claim has more steps than {step}");
            return;
        };
        other.ending(&[TOPIC]).await;
        let freeing = if step == 0 {
            other.begin(&s, other.freeing()).await
        } else {
            other.wait(&s, other.freeing()).await
        };
        let taken = held.go().await;
        freeing.await.unwrap();
        s.check().await;
        let out = taken.payloads();
        relay.publish(&taken).await;
        assert_over(&s, &relay, out, 3).await;
    }
}

/// The line is read in two parts, and the stop ends between them: what stands in the second does not overtake what the first set aside. The other way around,
/// the stop begins between them.
#[tokio::test]
async fn o2_a_stop_that_ends_while_a_line_is_read_lets_nothing_overtake() {
    for (ends, first) in [
        (true, "read_line"),
        (true, "look_line"),
        (false, "read_line"),
        (false, "look_line"),
    ] {
        let s = Scene::new().await;
        let (relay, other) = (s.relay("a"), s.relay("other"));
        for n in 1..=6 {
            s.save("k", &format!("k{n}")).await;
        }
        if ends {
            other.stopping(&[TOPIC]).await;
        }
        let ask = ClaimRequest {
            limit: 2,
            ..relay.ask()
        };
        let Ok(held) = relay
            .try_hold(Point::After(first), relay.claiming(ask))
            .await
        else {
            assert!(!ends, "the line is read in two parts");
            continue;
        };
        if ends {
            other.ending(&[TOPIC]).await;
        } else {
            other.stopping(&[TOPIC]).await;
        }
        let freeing = other.begin(&s, other.freeing()).await;
        let taken = held.go().await;
        freeing.await.unwrap();
        s.check().await;
        let mut out = taken.payloads();
        if !taken.is_empty() {
            relay.publish(&taken).await;
        }
        out.extend(relay.end_and_drain().await);
        let all: Vec<String> = (1..=6).map(|n| format!("k{n}")).collect();
        assert_eq!(out, all, "{ends} {first}");
        s.check_empty().await;
    }
}

/// A claim whose transaction began before the stop was over, by the clock: it is judged by what stands in the row, not by the clock.
#[tokio::test]
async fn s15_a_claim_with_an_old_clock_sets_nothing_aside_behind_the_end() {
    for at in [
        Point::Begun,
        Point::After("lease"),
        Point::After("read_line"),
    ] {
        let s = stopped().await;
        let (relay, other) = (s.relay("a"), s.relay("other"));
        let claim = relay.hold(at, relay.claiming(relay.ask())).await;
        s.run("UPDATE outbox.topic_state SET until = clock_timestamp()")
            .await;
        let freeing = other.begin(&s, other.freeing()).await;
        assert_eq!(freeing.is_finished(), at == Point::Begun);
        let taken = claim.go().await;
        freeing.await.unwrap();
        let out = taken.payloads();
        relay.publish(&taken).await;
        s.check().await;
        assert_over(&s, &relay, out, 3).await;
    }
}

/// What a claim did that is cut off did not happen, whoever waits for it.
#[tokio::test]
async fn s15_a_claim_that_is_cut_off_leaves_its_messages_in_line() {
    let s = stopped().await;
    let (relay, other) = (s.relay("a"), s.relay("other"));
    let claim = relay.claiming(relay.ask());
    let held = relay.hold(Point::Commit, claim).await;
    other.ending(&[TOPIC]).await;
    let freeing = other.wait(&s, other.freeing()).await;
    held.abandon().await;
    freeing.await.unwrap();
    s.check().await;
    assert_eq!(s.count("SELECT count(*) FROM outbox.topic_state").await, 0);
    assert_over(&s, &relay, Vec::new(), 3).await;
}

/// Relays that stop and start the same topics, in whatever order they name them, wait for each other and for nobody in a circle.
#[tokio::test]
async fn relays_that_stop_and_start_the_same_topics_at_once_do_not_deadlock() {
    let s = Scene::new().await;
    let relays = [s.relay("a"), s.relay("b"), s.relay("c"), s.relay("d")];
    let [one, two, three, four] = &relays;
    for first in [&["orders", "Ärzte", "bills"], &["bills", "Ärzte", "orders"]] {
        let second = { first }.iter().rev().copied().collect::<Vec<_>>();
        let held = one.hold(Point::Commit, one.stopping(first)).await;
        let others = [
            two.wait(&s, two.stopping(&second)).await,
            three.wait(&s, three.stopping(&first[1..])).await,
        ];
        let ends = four.begin(&s, four.ending(&second)).await;
        held.go().await;
        for other in others {
            other.await.unwrap();
        }
        ends.await.unwrap();
        four.stopping(first).await;
        let held = four.hold(Point::Commit, four.stopping(first)).await;
        let end = one.wait(&s, one.ending(&second)).await;
        let stop = two.wait(&s, two.stopping(&second)).await;
        held.go().await;
        end.await.unwrap();
        stop.await.unwrap();
        three.ending(&second).await;
        assert!(three.freeing().await >= 3);
    }
    assert!(relays.iter().all(|relay| relay.conflicts() == 0));
    s.check_empty().await;
}

/// Two relays differ about a destination: the last one counts, and either end is whole.
#[tokio::test]
async fn of_a_stop_and_an_end_at_once_the_later_one_counts() {
    for stop_first in [true, false] {
        let s = stopped().await;
        let (relay, one, two) = (s.relay("a"), s.relay("one"), s.relay("two"));
        relay.set_aside().await;
        if stop_first {
            let held = one.hold(Point::Commit, one.stopping(&[TOPIC])).await;
            let end = two.wait(&s, two.ending(&[TOPIC])).await;
            held.go().await;
            end.await.unwrap();
        } else {
            let held = one.hold(Point::Commit, one.ending(&[TOPIC])).await;
            let stop = two.wait(&s, two.stopping(&[TOPIC])).await;
            held.go().await;
            stop.await.unwrap();
        }
        let freed = two.freeing().await;
        assert_eq!(freed > 0, stop_first);
        let out = relay.drain().await;
        assert_eq!(out.is_empty(), !stop_first);
        assert_over(&s, &relay, out, 3).await;
    }
}

/// A relay outlives its lease while its topic is stopped: what it still confirms is removed from what was set aside, and the rest keeps its order.
#[tokio::test]
async fn d2_a_relay_that_outlived_its_lease_confirms_what_was_set_aside() {
    for step in 0.. {
        let s = Scene::new().await;
        let (relay, other) = (s.relay("a"), s.relay("other"));
        for n in 1..=3 {
            s.save("k", &format!("k{n}")).await;
        }
        let taken = relay.claim().await;
        s.lapse().await;
        other.stopping(&[TOPIC]).await;
        let held = other.try_hold(Point::Step(step), other.claiming(other.ask()));
        let Ok(held) = held.await else {
            assert!(step > 4, "a claim has more steps than {step}");
            return;
        };
        let late = relay.settling(taken.part(&[("k1", Outcome::Published)]));
        let late = relay.begin(&s, late).await;
        let aside = held.go().await;
        assert!(aside.is_empty(), "{:?}", aside.payloads());
        let settled = late.await.unwrap();
        assert!(settled[0].missed.is_empty());
        s.check().await;
        other.set_aside().await;
        assert_eq!(other.end_and_drain().await, ["k2", "k3"]);
        assert!(other.claim().await.is_empty());
        s.check_empty().await;
    }
}

/// A message that commits late takes its place before what was set aside, whenever it comes.
#[tokio::test]
async fn o2_what_commits_late_takes_its_place_in_what_was_set_aside() {
    let s = Scene::new().await;
    let (relay, other) = (s.relay("a"), s.relay("other"));
    let mut late = s.begin().await;
    s.save_in(&mut late, "k", "k1").await;
    s.save("k", "k2").await;
    other.stopping(&[TOPIC]).await;
    relay.set_aside().await;
    other.ending(&[TOPIC]).await;
    let held = other
        .hold(Point::After("free_lanes"), other.freeing())
        .await;
    late.commit().await.unwrap();
    held.go().await;
    s.check().await;
    assert_eq!(relay.drain().await, ["k1", "k2"]);
    s.check_empty().await;
}

/// A retry that falls due at the end of a stop is set aside or handed out, and never lost.
#[tokio::test]
async fn s14_a_key_that_falls_due_at_the_end_of_a_stop_is_not_lost() {
    for step in 0.. {
        let s = Scene::new().await;
        let (relay, other) = (s.relay("a"), s.relay("other"));
        s.save("k", "k1").await;
        s.save("k", "k2").await;
        let taken = relay.claim().await;
        let fails = [("k1", retry(60))];
        relay.settle_whole(&taken, &fails, &Outcome::Release).await;
        other.stopping(&[TOPIC]).await;
        relay.set_aside().await;
        s.run("UPDATE outbox.blocked_key SET until = now()").await;
        let held = relay.try_hold(Point::Step(step), relay.claiming(relay.ask()));
        let Ok(held) = held.await else {
            assert!(step > 4, "a claim has more steps than {step}");
            return;
        };
        other.ending(&[TOPIC]).await;
        let freeing = other.begin(&s, other.freeing()).await;
        let taken = held.go().await;
        freeing.await.unwrap();
        s.check().await;
        let mut out = taken.payloads();
        relay.publish(&taken).await;
        out.extend(relay.drain().await);
        assert_eq!(out, ["k1", "k2"], "step {step}");
        s.check_empty().await;
    }
}
