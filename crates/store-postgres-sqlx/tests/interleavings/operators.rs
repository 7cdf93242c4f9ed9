//! Operators against relays, writers and each other: an act is stopped at every point of it, and the lanes keep the rest apart.

use std::{future::Future, sync::Arc};

use outbox_store::{AfterDeath, OutboxOperator, Outcome, Stepped};

use crate::{
    paused::Point,
    relay::{Relay, all_dead, dead, retry},
    scene::{Scene, keys_apart, ordering_key, secs},
};

fn redrive(operator: &Relay) -> impl Future<Output = Stepped> + Send + 'static {
    let store = Arc::clone(&operator.store);
    async move { store.redrive(&all_dead()).await.unwrap() }
}

fn discard(operator: &Relay) -> impl Future<Output = Stepped> + Send + 'static {
    let store = Arc::clone(&operator.store);
    async move { store.discard(&all_dead()).await.unwrap() }
}

fn retry_now(operator: &Relay) -> impl Future<Output = bool> + Send + 'static {
    let store = Arc::clone(&operator.store);
    async move { store.retry_now(&ordering_key("k")).await.unwrap() }
}

/// Gives up on everything that is in line.
async fn kill_all(relay: &Relay, after: AfterDeath) {
    loop {
        let taken = relay.claim().await;
        if taken.is_empty() && taken.0.moved == 0 {
            return;
        }
        relay.settle_whole(&taken, &[], &dead(after)).await;
    }
}

#[tokio::test]
async fn two_redrives_of_the_same_letters_at_once_act_once() {
    for after in [AfterDeath::Skip, AfterDeath::Hold] {
        let s = Scene::new().await;
        let (relay, one, two) = (s.relay("a"), s.relay("one"), s.relay("two"));
        let keys = keys_apart(20);
        for key in &keys {
            s.save(key, key).await;
        }
        kill_all(&relay, after).await;
        let first = one.hold(Point::Commit, redrive(&one)).await;
        let second = two.wait(&s, redrive(&two)).await;
        assert_eq!(first.go().await.count, 20);
        assert_eq!(second.await.unwrap().count, 0);
        s.check().await;
        let mut out = relay.drain().await;
        out.sort();
        let mut all = keys;
        all.sort();
        assert_eq!(out, all);
        s.check_empty().await;
    }
}

/// What was found before the lanes were locked is looked for again under the locks.
#[tokio::test]
async fn a_letter_that_is_discarded_at_any_point_of_a_redrive_is_gone_or_pending() {
    for after in [AfterDeath::Skip, AfterDeath::Hold] {
        for step in 0.. {
            let s = Scene::new().await;
            let (relay, one, two) = (s.relay("a"), s.relay("one"), s.relay("two"));
            s.save("k", "letter").await;
            kill_all(&relay, after).await;
            let Ok(held) = one.try_hold(Point::Step(step), redrive(&one)).await else {
                assert!(step > 2, "a redrive has more steps than {step}");
                break;
            };
            let (discarded, redriven) = if step < 2 {
                let discarded = discard(&two).await;
                (discarded, held.go().await)
            } else {
                let waiting = two.wait(&s, discard(&two)).await;
                let redriven = held.go().await;
                (waiting.await.unwrap(), redriven)
            };
            assert_eq!(discarded.count + redriven.count, 1, "step {step}");
            s.check().await;
            let out = relay.drain().await;
            assert_eq!(out.len(), redriven.count, "step {step}");
            s.check_empty().await;
        }
    }
}

/// Under skip the key goes on meanwhile, and the letter comes at the tail.
#[tokio::test]
async fn o9_a_claim_at_any_point_of_a_redrive_takes_its_lane_whole_or_not_at_all() {
    for step in 0.. {
        let s = Scene::new().await;
        let (relay, operator) = (s.relay("a"), s.relay("operator"));
        s.save("k", "letter").await;
        kill_all(&relay, AfterDeath::Skip).await;
        s.save("k", "1").await;
        let held = operator
            .try_hold(Point::Step(step), redrive(&operator))
            .await;
        let Ok(held) = held else {
            assert!(step > 2, "a redrive has more steps than {step}");
            return;
        };
        let taken = relay.claim().await;
        let is_locked = step >= 2;
        assert_eq!(taken.is_empty(), is_locked, "step {step}");
        assert_eq!(taken.0.leased_elsewhere, is_locked);
        let stepped = held.go().await;
        assert_eq!((stepped.count, stepped.out_of_order), (1, 1));
        s.check().await;
        // The key is held by the first claim, if it got it.
        let other = s.relay("b").claim().await;
        assert_eq!(other.is_empty(), !is_locked, "two relays hold one key");
        let mut out = [taken.payloads(), other.payloads()].concat();
        relay.publish(&taken).await;
        relay.publish(&other).await;
        out.extend(relay.drain().await);
        assert_eq!(out, ["1", "letter"], "step {step}");
        s.check_empty().await;
    }
}

#[tokio::test]
async fn o9_an_operator_waits_for_the_claim_or_settlement_that_has_the_lane() {
    let s = Scene::new().await;
    let (relay, operator) = (s.relay("a"), s.relay("operator"));
    s.save("k", "letter").await;
    kill_all(&relay, AfterDeath::Hold).await;
    s.save("k", "1").await;
    s.save("k", "2").await;
    // The claim sets both aside behind the letter.
    let claim = relay.hold(Point::Commit, relay.claiming(relay.ask())).await;
    let act = operator.wait(&s, redrive(&operator)).await;
    assert!(claim.go().await.is_empty());
    assert_eq!(act.await.unwrap().count, 1);
    s.check().await;
    let taken = relay.claim().await;
    assert_eq!(taken.payloads(), ["letter", "1", "2"]);
    // The letter dies again, and is redriven while that is not committed yet: nothing of it is seen before.
    let settle =
        relay.settling(taken.whole(&[("letter", dead(AfterDeath::Hold))], &Outcome::Release));
    let settle = relay.hold(Point::Commit, settle).await;
    assert_eq!(redrive(&operator).await.count, 0);
    settle.go().await;
    s.check().await;
    assert!(relay.claim().await.is_empty(), "the key is held");
    assert_eq!(redrive(&operator).await.count, 1);
    assert_eq!(relay.drain().await, ["letter", "1", "2"]);
    s.check_empty().await;
}

#[tokio::test]
async fn o9_messages_that_arrive_at_any_point_of_a_discard_go_on_in_order() {
    for waiting in [true, false] {
        for step in 0.. {
            let s = Scene::new().await;
            let (relay, operator) = (s.relay("a"), s.relay("operator"));
            s.save("k", "letter").await;
            kill_all(&relay, AfterDeath::Hold).await;
            if waiting {
                s.save("k", "1").await;
                assert!(relay.claim().await.is_empty(), "the key is held");
            }
            let held = operator
                .try_hold(Point::Step(step), discard(&operator))
                .await;
            let Ok(held) = held else {
                assert!(step > 2, "a discard has more steps than {step}");
                break;
            };
            s.save("k", "2").await;
            // It sets the message aside, or finds the lane locked.
            assert!(relay.claim().await.is_empty());
            s.check().await;
            assert_eq!(held.go().await.count, 1);
            s.check().await;
            let expected: &[&str] = if waiting { &["1", "2"] } else { &["2"] };
            assert_eq!(relay.drain().await, expected, "step {step}");
            s.check_empty().await;
        }
    }
}

#[tokio::test]
async fn o9_a_discard_that_waits_behind_the_claim_that_set_messages_aside_lets_them_go() {
    let s = Scene::new().await;
    let (relay, operator) = (s.relay("a"), s.relay("operator"));
    s.save("k", "letter").await;
    kill_all(&relay, AfterDeath::Hold).await;
    s.save("k", "1").await;
    let claim = relay.hold(Point::Commit, relay.claiming(relay.ask())).await;
    let act = operator.wait(&s, discard(&operator)).await;
    assert!(claim.go().await.is_empty());
    assert_eq!(act.await.unwrap().count, 1);
    s.check().await;
    assert_eq!(relay.drain().await, ["1"]);
    s.check_empty().await;
}

#[tokio::test]
async fn retry_now_waits_for_the_settlement_that_makes_the_key_wait() {
    let s = Scene::new().await;
    let (relay, operator) = (s.relay("a"), s.relay("operator"));
    s.save("k", "1").await;
    let taken = relay.claim().await;
    let settle = relay.settling(taken.whole(&[], &retry(3_600)));
    let settle = relay.hold(Point::Commit, settle).await;
    let act = operator.wait(&s, retry_now(&operator)).await;
    settle.go().await;
    assert!(act.await.unwrap());
    s.check().await;
    assert_eq!(relay.drain().await, ["1"]);
    s.check_empty().await;
}

/// The head is held again, or gone, when the operator's act comes: it changes nothing of that.
#[tokio::test]
async fn retry_now_at_any_point_of_the_next_try_changes_no_outcome() {
    for step in 0.. {
        let s = Scene::new().await;
        let (relay, operator) = (s.relay("a"), s.relay("operator"));
        s.save("k", "1").await;
        s.save("k", "2").await;
        let taken = relay.claim().await;
        relay
            .settle_whole(&taken, &[("1", retry(60))], &Outcome::Release)
            .await;
        let held = operator
            .try_hold(Point::Step(step), retry_now(&operator))
            .await;
        let Ok(held) = held else {
            assert!(step > 1, "the act has more steps than {step}");
            return;
        };
        if step == 0 {
            s.pass(secs(61)).await;
            let taken = relay.claim().await;
            assert_eq!(taken.payloads(), ["1", "2"], "step {step}");
            held.go().await;
            s.check().await;
            assert!(
                s.relay("b").claim().await.is_empty(),
                "two relays hold one key"
            );
            relay.publish(&taken).await;
        } else {
            assert!(relay.claim().await.is_empty(), "the lane is locked");
            assert!(held.go().await);
        }
        s.check().await;
        relay.drain().await;
        s.check_empty().await;
    }
}

/// The letter that is back in its old place is the message that a relay of long ago saw confirmed.
#[tokio::test]
async fn case34_a_late_settlement_that_waits_behind_a_redrive_removes_what_it_published() {
    for after in [AfterDeath::Skip, AfterDeath::Hold] {
        let s = Scene::new().await;
        let (a, b, operator) = (s.relay("a"), s.relay("b"), s.relay("operator"));
        s.save("k", "1").await;
        s.save("k", "2").await;
        let taken = a.claim().await;
        s.lapse().await;
        let over = b.claim().await;
        b.settle_whole(&over, &[], &dead(after)).await;
        let act = operator.hold(Point::Commit, redrive(&operator)).await;
        let late = a.settling(taken.whole(&[("1", Outcome::Published)], &Outcome::Release));
        let late = a.wait(&s, late).await;
        assert_eq!(act.go().await.count, 1);
        let settled = late.await.unwrap();
        assert!(settled[0].lost);
        s.check().await;
        // Under skip it has another position now, and goes once more.
        let expected: &[&str] = match after {
            AfterDeath::Hold => &["2"],
            AfterDeath::Skip => &["2", "1"],
        };
        assert_eq!(b.drain().await, expected);
        s.check_empty().await;
    }
}
