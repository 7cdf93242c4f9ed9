//! The end of a stop against claims and new stops: a claim that still saw it sets aside, and all of it is freed and forgotten (S14, S15).

use outbox_store::ClaimRequest;
use sqlx::Executor;

use crate::{
    paused::Point,
    relay::Relay,
    scene::{Scene, TOPIC, keys_apart, keys_beside, secs},
    stops::of,
};

/// Messages of three keys in two lanes and some without a key, of a topic that is stopped.
async fn stopped() -> Scene {
    let s = Scene::new().await;
    let beside = keys_beside("k", 1).remove(0);
    let far = keys_apart(64).pop().unwrap();
    let mut messages = Vec::new();
    for n in 1..=3 {
        messages.push((Some("k"), format!("k{n}")));
        messages.push((Some(beside.as_str()), format!("beside{n}")));
        messages.push((Some(far.as_str()), format!("far{n}")));
        messages.push((None, format!("free{n}")));
    }
    s.save_all(&messages).await;
    s.relay("stops").stopping(&[TOPIC]).await;
    s
}

/// All of these came, each key in its order.
fn assert_all(out: &[String], upto: usize) {
    for key in ["k", "beside", "far"] {
        let expected: Vec<String> = (1..=upto).map(|n| format!("{key}{n}")).collect();
        assert_eq!(of(out, key), expected, "{out:?}");
    }
    assert_eq!(of(out, "free").len(), 3);
    assert_eq!(out.len(), 3 * upto + 3);
}

/// Ends all, and looks that nothing is left.
async fn assert_over(s: &Scene, relay: &Relay, mut out: Vec<String>, upto: usize) {
    out.extend(relay.end_and_drain().await);
    assert_all(&out, upto);
    s.check_empty().await;
}

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

/// At each point of freeing the topic is stopped anew, a claim sets aside, also in lanes that were freed, and the stop ends again; or it goes on.
#[tokio::test]
async fn s15_a_stop_anew_at_any_point_of_freeing_is_whole() {
    for goes_on in [true, false] {
        // The steps of all lanes but the first and the last ones are alike.
        for step in (0..12).chain(28..) {
            let s = stopped().await;
            let (relay, again, frees) = (s.relay("a"), s.relay("again"), s.relay("frees"));
            relay.set_aside().await;
            relay.ending(&[TOPIC]).await;
            let held = frees.try_hold(Point::Step(step), frees.freeing()).await;
            let Ok(held) = held else {
                assert!(step > 30, "freeing has more steps than {step}");
                break;
            };
            for key in ["k", &keys_beside("k", 1)[0], &keys_apart(64)[63]] {
                let name = match key {
                    "k" => "k",
                    key if key.starts_with("beside") => "beside",
                    _ => "far",
                };
                s.save(key, &format!("{name}4")).await;
            }
            let (stop, end) = (again.stopping(&[TOPIC]), again.ending(&[TOPIC]));
            let claim = again.claiming(again.ask());
            let meanwhile = async move {
                stop.await;
                let taken = claim.await;
                if !goes_on {
                    end.await;
                }
                taken
            };
            let meanwhile = again.begin(&s, meanwhile).await;
            held.go().await;
            let taken = meanwhile.await.unwrap();
            assert!(taken.is_empty(), "{:?}", taken.payloads());
            s.check().await;
            if goes_on {
                frees.freeing().await;
                relay.set_aside().await;
                s.check().await;
            }
            assert_over(&s, &relay, Vec::new(), 4).await;
        }
    }
}

/// A claim at each point of freeing takes what was freed, keeps the order, and waits for nobody.
#[tokio::test]
async fn s15_a_claim_at_any_point_of_freeing_takes_each_key_whole() {
    for step in (0..12).chain(28..) {
        let s = stopped().await;
        let (relay, frees) = (s.relay("a"), s.relay("frees"));
        relay.set_aside().await;
        relay.ending(&[TOPIC]).await;
        let held = frees.try_hold(Point::Step(step), frees.freeing()).await;
        let Ok(held) = held else {
            assert!(step > 30, "freeing has more steps than {step}");
            return;
        };
        let taken = relay.claim().await;
        let mut out = taken.payloads();
        relay.publish(&taken).await;
        held.go().await;
        s.check().await;
        out.extend(relay.drain().await);
        assert_over(&s, &relay, out, 3).await;
    }
}

#[tokio::test]
async fn two_that_free_at_once_free_each_row_once_and_come_to_an_end() {
    let s = stopped().await;
    let (relay, one, two) = (s.relay("a"), s.relay("one"), s.relay("two"));
    relay.set_aside().await;
    relay.ending(&[TOPIC]).await;
    let held = one.hold(Point::After("free_lanes"), one.freeing()).await;
    let waiting = two.wait(&s, two.freeing()).await;
    let freed = held.go().await + waiting.await.unwrap();
    // Three keys, three messages without one, and the stop itself.
    assert_eq!(freed, 3 + 3 + 1);
    assert_eq!((one.conflicts(), two.conflicts()), (0, 0));
    assert_over(&s, &relay, Vec::new(), 3).await;
}

/// Whoever has locked lanes waits for no row of the table of stops, and claims only read it.
#[tokio::test]
async fn a_session_that_is_silent_about_a_stop_keeps_no_lane() {
    let s = stopped().await;
    let (relay, other) = (s.relay("a"), s.relay("other"));
    relay.set_aside().await;
    s.save_other("k", "other").await;
    let mut silent = s.begin().await;
    let lock = s.sql("SELECT 1 FROM outbox.topic_state FOR UPDATE");
    silent.execute(lock).await.unwrap();
    // It found one, and cannot say so.
    assert!(other.probing().await);
    assert_eq!(relay.drain().await, ["other"]);
    assert_eq!(other.freeing().await, 0, "it is stopped");
    silent.rollback().await.unwrap();
    relay.ending(&[TOPIC]).await;
    let mut silent = s.begin().await;
    let lock = s.sql("SELECT 1 FROM outbox.topic_state FOR UPDATE");
    silent.execute(lock).await.unwrap();
    other.freeing().await;
    let noted = "SELECT count(*) FROM outbox.topic_state WHERE freed > 0";
    assert_eq!(s.count(noted).await, 0);
    silent.rollback().await.unwrap();
    assert_over(&s, &relay, Vec::new(), 3).await;
}

/// Relays that stop and start the same topics, in whatever order they name them, wait for each other and for nobody in a circle.
#[tokio::test]
async fn relays_that_stop_and_start_the_same_topics_at_once_do_not_deadlock() {
    let s = Scene::new().await;
    let relays = [s.relay("a"), s.relay("b"), s.relay("c"), s.relay("d")];
    let [a, b, c, d] = &relays;
    for first in [&["orders", "Ärzte", "bills"], &["bills", "Ärzte", "orders"]] {
        let second = { first }.iter().rev().copied().collect::<Vec<_>>();
        let held = a.hold(Point::Commit, a.stopping(first)).await;
        let others = [
            b.wait(&s, b.stopping(&second)).await,
            c.wait(&s, c.stopping(&first[1..])).await,
        ];
        let ends = d.begin(&s, d.ending(&second)).await;
        held.go().await;
        for other in others {
            other.await.unwrap();
        }
        ends.await.unwrap();
        d.stopping(first).await;
        let held = d.hold(Point::Commit, d.stopping(first)).await;
        let end = a.wait(&s, a.ending(&second)).await;
        let stop = b.wait(&s, b.stopping(&second)).await;
        held.go().await;
        end.await.unwrap();
        stop.await.unwrap();
        c.ending(&second).await;
        assert!(c.freeing().await >= 3);
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
        let late = relay.settling(taken.part(&[("k1", outbox_store::Outcome::Published)]));
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
        let fails = [("k1", crate::relay::retry(60))];
        relay
            .settle_whole(&taken, &fails, &outbox_store::Outcome::Release)
            .await;
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

/// The clock of the stop, and that of its messages, are apart: what is scheduled keeps its time.
#[tokio::test]
async fn s15_freeing_leaves_schedules_and_retries_alone() {
    let s = Scene::new().await;
    let relay = s.relay("a");
    s.save("k", "k1").await;
    let taken = relay.claim().await;
    relay
        .settle_whole(&taken, &[], &crate::relay::retry(60))
        .await;
    s.schedule("other", "later", secs(60)).await;
    relay.stopping(&[TOPIC]).await;
    relay.set_aside().await;
    assert!(relay.end_and_drain().await.is_empty());
    s.pass(secs(61)).await;
    assert_eq!(relay.drain().await.len(), 2);
    s.check_empty().await;
}
