//! Settlements, renewals and claims of one lane that wait for each other, come late, or come twice (D2, cases 34 and 35).

use outbox_message::Position;
use outbox_store::{AfterDeath, LaneSettled, OutboxOperator, OutboxStore, Outcome};

use crate::{
    paused::Point,
    relay::{Relay, Taken, dead, retry},
    scene::{Scene, secs},
};

fn lost(missed: &[Position]) -> Vec<LaneSettled> {
    vec![LaneSettled {
        lost: true,
        missed: missed.to_vec(),
    }]
}

fn held(missed: &[Position]) -> Vec<LaneSettled> {
    vec![LaneSettled {
        lost: false,
        missed: missed.to_vec(),
    }]
}

/// Two messages of one key, held by a relay.
async fn two_held(s: &Scene, relay: &Relay) -> Taken {
    s.save("k", "1").await;
    s.save("k", "2").await;
    let taken = relay.claim().await;
    assert_eq!(taken.payloads(), ["1", "2"]);
    taken
}

async fn attempts(s: &Scene) -> i64 {
    s.count("SELECT coalesce(sum(attempts), 0)::bigint FROM (SELECT attempts FROM outbox.message UNION ALL SELECT attempts FROM outbox.waiting UNION ALL SELECT attempts FROM outbox.dead) AS m")
        .await
}

#[tokio::test]
async fn case35_a_renewal_that_waits_behind_the_settlement_of_its_lane_leases_nothing() {
    let s = Scene::new().await;
    let (a, b) = (s.relay("a"), s.relay("b"));
    let taken = two_held(&s, &a).await;
    let settle = a.settling(taken.whole(&[("1", Outcome::Published)], &Outcome::Release));
    let settle = a.hold(Point::Commit, settle).await;
    let renewal = a.wait(&s, a.extending(taken.tokens())).await;
    settle.go().await;
    assert_eq!(renewal.await.unwrap(), taken.tokens(), "the lease is lost");
    s.check().await;
    assert_eq!(b.claim().await.payloads(), ["2"]);
}

#[tokio::test]
async fn case35_a_settlement_that_waits_behind_a_renewal_of_its_lane_gives_it_back() {
    let s = Scene::new().await;
    let (a, b) = (s.relay("a"), s.relay("b"));
    let taken = two_held(&s, &a).await;
    let renewal = a.hold(Point::Commit, a.extending(taken.tokens())).await;
    let settle = a.settling(taken.whole(&[("1", Outcome::Published)], &Outcome::Release));
    let settle = a.wait(&s, settle).await;
    assert_eq!(renewal.go().await, []);
    assert_eq!(settle.await.unwrap(), held(&[]));
    s.check().await;
    assert_eq!(b.claim().await.payloads(), ["2"]);
}

#[tokio::test]
async fn a_renewal_that_waits_behind_the_claim_that_takes_its_lane_over_changes_no_lease() {
    let s = Scene::new().await;
    let (a, b) = (s.relay("a"), s.relay("b"));
    let taken = two_held(&s, &a).await;
    s.lapse().await;
    let claim = b.hold(Point::Commit, b.claiming(b.ask())).await;
    let renewal = a.wait(&s, a.extending(taken.tokens())).await;
    let over = claim.go().await;
    assert_eq!(renewal.await.unwrap(), taken.tokens());
    assert_eq!(b.extending(over.tokens()).await, [], "the new lease holds");
    b.publish(&over).await;
    s.check().await;
}

/// A mark counts, or the token is stale: it is never written for a lane that another relay has.
#[tokio::test]
async fn f6_a_start_that_waits_behind_the_claim_that_takes_its_lane_over_is_refused() {
    let s = Scene::new().await;
    let (a, b) = (s.relay("a"), s.relay("b"));
    let taken = two_held(&s, &a).await;
    s.lapse().await;
    let claim = b.hold(Point::Commit, b.claiming(b.ask())).await;
    let position = taken.position("1");
    let start = a.starting(taken.tokens().remove(0), position);
    let start = a.wait(&s, start).await;
    claim.go().await;
    assert!(!start.await.unwrap());
    assert_eq!(s.count("SELECT count(*) FROM outbox.start_mark").await, 0);
}

#[tokio::test]
async fn f6_a_claim_leaves_a_lane_alone_whose_start_is_being_marked_and_counts_it_then() {
    let s = Scene::new().await;
    let (a, b) = (s.relay("a"), s.relay("b"));
    let taken = two_held(&s, &a).await;
    s.lapse().await;
    let position = taken.position("1");
    let start = a.starting(taken.tokens().remove(0), position);
    let start = a.hold(Point::Commit, start).await;
    let early = b.claim().await;
    assert!(early.is_empty() && early.0.leased_elsewhere);
    assert!(start.go().await);
    let taken = b.claim().await;
    let outbox_store::Entry::Message(delivery) = &taken.0.entries[0] else {
        panic!("{taken:?}");
    };
    assert_eq!((delivery.position, delivery.starts), (position, 1));
}

/// The claim has the lane's lock and the settlement waits for it: it is late, and only what the broker confirmed is removed.
#[tokio::test]
async fn case12_a_settlement_that_waits_behind_the_claim_that_takes_its_lane_over_is_late() {
    let s = Scene::new().await;
    let (a, b) = (s.relay("a"), s.relay("b"));
    let taken = two_held(&s, &a).await;
    s.lapse().await;
    let claim = b.hold(Point::Commit, b.claiming(b.ask())).await;
    let settle = a.settling(taken.whole(&[("1", Outcome::Published)], &retry(60)));
    let settle = a.wait(&s, settle).await;
    let over = claim.go().await;
    assert_eq!(settle.await.unwrap(), lost(&[taken.position("2")]));
    assert_eq!(attempts(&s).await, 0, "nothing is recorded for a lost lane");
    s.check().await;
    assert_eq!(over.payloads(), ["1"], "careful: one at a time");
    let settled = b.settle(over.whole(&[], &Outcome::Published)).await;
    assert_eq!(settled, held(&[over.position("1")]), "it was gone already");
    assert_eq!(b.drain().await, ["2"]);
}

/// The claim moves a message aside that a late settlement is about to remove: neither waits for the other in a circle, and it goes once.
#[tokio::test]
async fn case34_a_late_settlement_removes_what_the_claim_before_it_set_aside() {
    let s = Scene::new().await;
    let (a, b) = (s.relay("a"), s.relay("b"));
    let taken = two_held(&s, &a).await;
    a.settle(taken.part(&[("1", retry(60))])).await;
    s.lapse().await;
    for point in [Point::Before("set_aside"), Point::Commit] {
        let claim = b.hold(point, b.claiming(b.ask())).await;
        let settle = a
            .wait(&s, a.settling(taken.part(&[("2", Outcome::Published)])))
            .await;
        assert!(claim.go().await.payloads().is_empty());
        let settled = settle.await.unwrap();
        assert!(settled[0].lost);
        s.check().await;
        if point == Point::Commit {
            assert_eq!(settled[0].missed, [taken.position("2")], "it is gone");
            break;
        }
        assert_eq!(settled[0].missed, []);
        // A head for the next claim to set aside.
        s.save("k", "3").await;
    }
    s.pass(secs(61)).await;
    let mut out = Vec::new();
    loop {
        let next = b.drain().await;
        if next.is_empty() {
            break;
        }
        out.extend(next);
    }
    assert_eq!(out, ["1", "3"]);
    s.check().await;
    assert_eq!((a.conflicts(), b.conflicts()), (0, 0));
}

/// The new holder moved the message wherever it may go, committed at the last moment before the late settlement has the lock.
#[tokio::test]
async fn case34_a_late_settlement_finds_its_message_wherever_the_new_holder_moved_it() {
    for outcome in [
        retry(60),
        retry(0),
        dead(AfterDeath::Skip),
        dead(AfterDeath::Hold),
        Outcome::Release,
        Outcome::Published,
    ] {
        for waits in [true, false] {
            let s = Scene::new().await;
            let (a, b) = (s.relay("a"), s.relay("b"));
            let taken = two_held(&s, &a).await;
            s.lapse().await;
            let over = b.claim().await;
            assert_eq!(over.payloads(), ["1"], "careful: one at a time");
            let moved = b.settling(over.whole(&[], &outcome));
            let late = a.settling(taken.part(&[("1", Outcome::Published)]));
            let settled = if waits {
                let moved = b.hold(Point::Commit, moved).await;
                let late = a.wait(&s, late).await;
                moved.go().await;
                late.await.unwrap()
            } else {
                moved.await;
                late.await
            };
            // A dead letter stays one: an operator may be looking at it.
            let is_gone = matches!(outcome, Outcome::Dead { .. } | Outcome::Published);
            let missed: &[Position] = if is_gone { &[taken.position("1")] } else { &[] };
            assert_eq!(settled, lost(missed), "{outcome:?} {waits}");
            s.check().await;
            let goes_on = outcome != dead(AfterDeath::Hold);
            let rest: &[&str] = if goes_on { &["2"] } else { &[] };
            assert_eq!(b.drain().await, rest, "{outcome:?} {waits}");
            s.check().await;
        }
    }
}

/// The late settlement has the locks and stands between its statements: the new holder's waits, and both are right.
#[tokio::test]
async fn case34_a_late_settlement_between_its_statements_keeps_the_new_holder_waiting_only() {
    let s = Scene::new().await;
    let (a, b) = (s.relay("a"), s.relay("b"));
    let taken = two_held(&s, &a).await;
    a.settle(taken.part(&[("1", retry(0))])).await;
    s.lapse().await;
    // What was set aside is found by the second statement only.
    s.run(
        "INSERT INTO outbox.waiting SELECT * FROM outbox.message WHERE payload = '1';
         DELETE FROM outbox.message WHERE payload = '1';
         INSERT INTO outbox.blocked_key (position, until, lane, topic, key, reason)
         SELECT position, now(), lane, topic, key, 'retry' FROM outbox.waiting",
    )
    .await;
    let over = b.claim().await;
    assert_eq!(over.payloads(), ["1"]);
    let late = a.settling(taken.part(&[("1", Outcome::Published)]));
    let late = a.hold(Point::Before("confirmed_elsewhere"), late).await;
    let mine = b.wait(&s, b.settling(over.whole(&[], &retry(60)))).await;
    assert_eq!(late.go().await, lost(&[]));
    assert_eq!(mine.await.unwrap(), held(&[over.position("1")]));
    s.check().await;
    assert_eq!(b.drain().await, ["2"]);
    s.check_empty().await;
}

/// The server lost the last commits: positions are drawn again, and lanes have their old epochs.
#[tokio::test]
async fn case34_after_a_failover_an_old_settlement_removes_and_releases_nothing_of_others() {
    let s = Scene::new().await;
    let (a, b) = (s.relay("a"), s.relay("b"));
    let taken = two_held(&s, &a).await;
    let first = taken.position("1").0;
    s.run(&format!(
        "DELETE FROM outbox.message;
         UPDATE outbox.lane
         SET epoch = epoch - 1, holder = NULL, relay = NULL, lease_until = '-infinity', floor = 0, mark = NULL, mark_xid = NULL
         WHERE holder IS NOT NULL;
         SELECT setval('outbox.position', {first}, false)"
    ))
    .await;
    assert_eq!(s.save("k", "new 1").await, first);
    s.save("k", "new 2").await;
    let over = b.claim().await;
    assert_eq!(over.payloads(), ["new 1", "new 2"]);
    assert_eq!(over.tokens()[0].epoch, taken.tokens()[0].epoch);
    let settled = a.settle(taken.whole(&[], &Outcome::Published)).await;
    let missed = [taken.position("1"), taken.position("2")];
    assert_eq!(settled, lost(&missed));
    let settled = a.settle(taken.whole(&[], &retry(60))).await;
    assert_eq!(settled, lost(&missed));
    assert_eq!(a.extending(taken.tokens()).await, taken.tokens());
    b.publish(&over).await;
    s.check_empty().await;
}

/// The reply to a COMMIT is lost, and the relay sends the settlement again.
#[tokio::test]
async fn case35_a_settlement_sent_twice_counts_once() {
    for outcome in [
        retry(0),
        retry(60),
        dead(AfterDeath::Skip),
        dead(AfterDeath::Hold),
        Outcome::Published,
    ] {
        for whole in [true, false] {
            let s = Scene::new().await;
            let a = s.relay("a");
            let taken = two_held(&s, &a).await;
            let lanes = if whole {
                taken.whole(&[("1", outcome.clone())], &Outcome::Release)
            } else {
                taken.part(&[("1", outcome.clone())])
            };
            a.store.database().control.lose_reply();
            let error = a.store.settle(&lanes).await.unwrap_err();
            assert!(error.is_transient());
            let before = attempts(&s).await;
            let settled = a.settle(lanes).await;
            assert_eq!(settled[0].lost, whole, "{outcome:?}");
            assert!(
                settled[0].missed.contains(&taken.position("1")),
                "{outcome:?}"
            );
            assert_eq!(attempts(&s).await, before, "{outcome:?}");
            assert!(before <= 1, "{outcome:?}");
            s.check().await;
            s.lapse().await;
        }
    }
}

/// Between the two another relay tried the message: what it recorded stays.
#[tokio::test]
async fn case35_a_settlement_sent_again_after_another_relay_tried_changes_nothing() {
    let s = Scene::new().await;
    let (a, b) = (s.relay("a"), s.relay("b"));
    let taken = two_held(&s, &a).await;
    let lanes = taken.whole(&[("1", retry(0))], &Outcome::Release);
    a.store.database().control.lose_reply();
    a.store.settle(&lanes).await.unwrap_err();
    let again = b.claim().await;
    b.settle_whole(&again, &[("1", retry(60))], &Outcome::Release)
        .await;
    assert_eq!(attempts(&s).await, 2);
    a.settle(lanes).await;
    assert_eq!(attempts(&s).await, 2);
    assert!(b.claim().await.payloads().is_empty(), "it waits");
    s.pass(secs(61)).await;
    assert_eq!(b.drain().await, ["1", "2"]);
    s.check_empty().await;
}

/// Case 39 over two settlements: each is of a part of one claim, and they run at once.
#[tokio::test]
async fn case39_two_retries_of_one_key_in_two_settlements_at_once_keep_the_order() {
    for first in ["1", "2"] {
        let second = if first == "1" { "2" } else { "1" };
        let s = Scene::new().await;
        let a = s.relay("a");
        let taken = two_held(&s, &a).await;
        let one = a.settling(taken.part(&[(first, retry(60))]));
        let one = a.hold(Point::Commit, one).await;
        let two = a
            .wait(&s, a.settling(taken.part(&[(second, retry(120))])))
            .await;
        assert_eq!(one.go().await, held(&[]));
        assert_eq!(two.await.unwrap(), held(&[]));
        s.check().await;
        a.settle(taken.whole(&[], &Outcome::Release)).await;
        s.pass(secs(121)).await;
        assert_eq!(a.drain().await, ["1", "2"]);
        s.check_empty().await;
        assert!(a.store.status().await.unwrap().blocked_keys.is_empty());
    }
}
