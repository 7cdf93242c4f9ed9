//! Settlements, renewals and claims of one lane that wait for each other, or come twice (D2, case 35).

use outbox_message::Position;
use outbox_store::{AfterDeath, LaneSettled, OutboxOperator, OutboxStore, Outcome};

use crate::{
    paused::Point,
    relay::{Relay, Taken, dead, retry},
    scene::{Scene, secs},
};

pub(crate) fn lost(missed: &[Position]) -> Vec<LaneSettled> {
    vec![LaneSettled {
        lost: true,
        missed: missed.to_vec(),
    }]
}

pub(crate) fn held(missed: &[Position]) -> Vec<LaneSettled> {
    vec![LaneSettled {
        lost: false,
        missed: missed.to_vec(),
    }]
}

/// Two messages of one key, held by a relay.
pub(crate) async fn two_held(s: &Scene, relay: &Relay) -> Taken {
    s.save("k", "1").await;
    s.save("k", "2").await;
    let taken = relay.claim().await;
    assert_eq!(taken.payloads(), ["1", "2"]);
    taken
}

pub(crate) async fn attempts(s: &Scene) -> i64 {
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
/// The claim moves a message aside that a late settlement is about to remove: neither waits for the other in a circle, and it goes once.
/// The new holder moved the message wherever it may go, committed at the last moment before the late settlement has the lock.
/// The late settlement has the locks and stands between its statements: the new holder's waits, and both are right.
/// The server lost the last commits: positions are drawn again, and lanes have their old epochs.
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
