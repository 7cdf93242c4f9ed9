//! Claims that overlap: the lanes keep them apart, and what a claim saw before it had the lock is never handed out (O3).

use std::collections::BTreeSet;

use outbox_store::{AfterDeath, OutboxOperator, Outcome};

use crate::{
    paused::Point,
    relay::{Taken, all_dead, dead, retry},
    scene::{Scene, keys_apart, keys_beside, secs},
    stall::Stall,
};

fn lanes(taken: &Taken) -> BTreeSet<u16> {
    let tokens = taken.tokens().into_iter();
    tokens.map(|token| token.lane.0).collect()
}

#[tokio::test]
async fn o3_claims_that_overlap_at_any_point_lease_other_lanes() {
    let keys = keys_apart(20);
    for step in 0.. {
        let s = Scene::new().await;
        let (a, b) = (s.relay("a"), s.relay("b"));
        for key in &keys {
            s.save(key, key).await;
        }
        let Ok(held) = a.try_hold(Point::Step(step), a.claiming(a.ask())).await else {
            assert!(step > 1, "a claim has more steps than {step}");
            return;
        };
        let other = b.claim().await;
        let taken = held.go().await;
        assert_eq!(lanes(&other).len(), 8);
        assert_eq!(lanes(&taken).len(), 8);
        assert!(lanes(&other).is_disjoint(&lanes(&taken)), "step {step}");
        let third = a.claim().await;
        assert_eq!(third.payloads().len(), 4, "step {step}");
        s.check().await;
        let mut out = [taken.payloads(), other.payloads(), third.payloads()].concat();
        out.sort();
        let mut all = keys.clone();
        all.sort();
        assert_eq!(out, all, "step {step}");
        b.publish(&other).await;
        a.publish(&taken).await;
        a.publish(&third).await;
        s.check_empty().await;
    }
}

#[tokio::test]
async fn a_claim_that_begins_before_another_ends_finds_what_that_one_left() {
    let s = Scene::new().await;
    let (a, b) = (s.relay("a"), s.relay("b"));
    s.save("k", "1").await;
    let held = a.hold(Point::Begun, a.claiming(a.ask())).await;
    let taken = b.claim().await;
    b.publish(&taken).await;
    s.save("k", "2").await;
    assert_eq!(held.go().await.payloads(), ["2"]);
}

/// Leasing and reading in one statement handed out what was published meanwhile.
#[tokio::test]
async fn a_lease_that_saw_what_another_relay_published_meanwhile_takes_nothing() {
    let s = Scene::new().await;
    let (a, b) = (s.stalled("a"), s.relay("b"));
    s.save("k", "1").await;
    let stall = Stall::of_leases(&s).await;
    let late = a.wait(&s, a.claiming(a.ask())).await;
    let taken = b.claim().await;
    b.publish(&taken).await;
    stall.end(&s).await;
    assert!(late.await.unwrap().is_empty());
    s.check_empty().await;
}

/// Leasing and reading in one statement handed out what was to wait for its retry.
#[tokio::test]
async fn a_lease_that_saw_what_waits_for_its_retry_meanwhile_takes_nothing() {
    let s = Scene::new().await;
    let (a, b) = (s.stalled("a"), s.relay("b"));
    let beside = keys_beside("k", 1).remove(0);
    s.save("k", "1").await;
    s.save("k", "2").await;
    s.save(&beside, "beside").await;
    let stall = Stall::of_leases(&s).await;
    let late = a.wait(&s, a.claiming(a.ask())).await;
    let taken = b.claim().await;
    b.settle_whole(&taken, &[("1", retry(60))], &Outcome::Release)
        .await;
    stall.end(&s).await;
    let first = late.await.unwrap();
    assert!(first.is_empty(), "{first:?}");
    assert_eq!(a.drain().await, ["beside"]);
    s.check().await;
    s.pass(secs(61)).await;
    assert_eq!(b.drain().await, ["1", "2"]);
    s.check_empty().await;
}

#[tokio::test]
async fn a_lease_that_saw_a_lane_free_leaves_it_to_who_leased_it_meanwhile() {
    let s = Scene::new().await;
    let (a, b) = (s.stalled("a"), s.relay("b"));
    s.save("k", "1").await;
    let stall = Stall::of_leases(&s).await;
    let late = a.wait(&s, a.claiming(a.ask())).await;
    let taken = b.claim().await;
    stall.end(&s).await;
    assert!(late.await.unwrap().is_empty(), "two relays hold one key");
    assert_eq!(b.extending(taken.tokens()).await, []);
    b.publish(&taken).await;
    s.check_empty().await;
}

/// The relay that leased it meanwhile died: the lane is to be served carefully, which the old snapshot did not know.
#[tokio::test]
async fn f6_a_lease_that_saw_a_lane_free_does_not_take_it_from_a_relay_that_died_meanwhile() {
    let s = Scene::new().await;
    let (a, b) = (s.stalled("a"), s.relay("b"));
    s.save("k", "1").await;
    s.save("k", "2").await;
    let stall = Stall::of_leases(&s).await;
    let late = a.wait(&s, a.claiming(a.ask())).await;
    assert_eq!(b.claim().await.payloads(), ["1", "2"]);
    s.lapse().await;
    stall.end(&s).await;
    assert!(late.await.unwrap().is_empty());
    let taken = a.claim().await;
    assert_eq!(taken.payloads(), ["1"], "careful: one at a time");
    assert!(taken.0.lanes[0].careful);
}

/// The floor of an old snapshot would hide what was promoted meanwhile.
#[tokio::test]
async fn o8_a_lease_whose_snapshot_is_older_than_a_promotion_does_not_raise_the_floor_above_it() {
    let s = Scene::alone().await;
    let (a, b) = (s.stalled("a"), s.relay("b"));
    let old = s.schedule("k", "old", secs(3_600)).await;
    let beside = keys_beside("k", 7);
    for key in &beside {
        s.save(key, "other").await;
        b.drain().await;
    }
    assert!(s.floor("k").await > old, "the floor has grown");
    s.save("k", "new").await;
    s.pass(secs(3_601)).await;
    let stall = Stall::of_leases(&s).await;
    let late = a.wait(&s, a.claiming(a.only("k"))).await;
    let taken = b.claim_lane_of("k").await;
    assert_eq!(taken.payloads(), ["old", "new"]);
    b.settle_whole(&taken, &[], &Outcome::Release).await;
    stall.end(&s).await;
    let taken = late.await.unwrap();
    s.check().await;
    b.publish(&taken).await;
    let mut out = taken.payloads();
    out.extend(b.drain().await);
    assert_eq!(out, ["old", "new"]);
    s.check_empty().await;
}

/// A redrive changes no token: the lease goes on, and reads what the operator left.
#[tokio::test]
async fn o9_a_lease_whose_snapshot_is_older_than_a_redrive_reads_what_was_redriven() {
    for after in [AfterDeath::Skip, AfterDeath::Hold] {
        let s = Scene::new().await;
        let (a, b) = (s.stalled("a"), s.relay("b"));
        let beside = keys_beside("k", 1).remove(0);
        s.save("k", "letter").await;
        let taken = b.claim().await;
        b.settle_whole(&taken, &[], &dead(after)).await;
        s.save(&beside, "beside").await;
        let stall = Stall::of_leases(&s).await;
        let late = a.wait(&s, a.claiming(a.ask())).await;
        b.store.redrive(&all_dead()).await.unwrap();
        stall.end(&s).await;
        let taken = late.await.unwrap();
        s.check().await;
        a.publish(&taken).await;
        let mut out = taken.payloads();
        out.extend(a.drain().await);
        out.sort();
        assert_eq!(out, ["beside", "letter"]);
        s.check_empty().await;
    }
}
