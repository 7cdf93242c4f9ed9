//! Settlements of relays that outlived their leases, or a failover: nothing is recorded for a lost lane, and what the broker confirmed is removed wherever it
//! stands, by its id (D2, cases 12 and 34).

use outbox_message::Position;
use outbox_store::{AfterDeath, Outcome};

use crate::{
    paused::Point,
    relay::{dead, retry},
    scene::{Scene, secs},
    settling::{attempts, held, lost, two_held},
};

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

/// The new holder moved the message wherever it may go, committed at the last moment before the late settlement has the lock. Where published messages
/// are kept it is kept once.
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
        for (waits, keeps) in [(true, false), (false, false), (true, true)] {
            let s = if keeps {
                Scene::keeping().await
            } else {
                Scene::new().await
            };
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
            let is_dead = matches!(outcome, Outcome::Dead { .. });
            let is_gone = is_dead || outcome == Outcome::Published;
            let missed: &[Position] = if is_gone { &[taken.position("1")] } else { &[] };
            assert_eq!(settled, lost(missed), "{outcome:?} {waits}");
            s.check().await;
            let kept = s.count("SELECT count(*) FROM outbox.published").await;
            assert_eq!(kept, i64::from(keeps && !is_dead), "{outcome:?}");
            let goes_on = outcome != dead(AfterDeath::Hold);
            let rest: &[&str] = if goes_on { &["2"] } else { &[] };
            assert_eq!(b.drain().await, rest, "{outcome:?} {waits}");
            s.check().await;
        }
    }
}

/// Without a key it is scheduled for its retry.
#[tokio::test]
async fn case34_a_late_settlement_finds_its_message_among_those_scheduled() {
    for keeps in [false, true] {
        let s = if keeps {
            Scene::keeping().await
        } else {
            Scene::new().await
        };
        let (a, b) = (s.relay("a"), s.relay("b"));
        s.save_all(&[(None, "1".to_owned())]).await;
        let taken = a.claim().await;
        s.lapse().await;
        let over = b.claim().await;
        assert_eq!(over.payloads(), ["1"]);
        let moved = b.settling(over.whole(&[], &retry(60)));
        let moved = b.hold(Point::Commit, moved).await;
        let late = a.settling(taken.whole(&[], &Outcome::Published));
        let late = a.wait(&s, late).await;
        assert_eq!(moved.go().await, held(&[]));
        assert_eq!(late.await.unwrap(), lost(&[]));
        let kept = s.count("SELECT count(*) FROM outbox.published").await;
        assert_eq!(kept, i64::from(keeps));
        assert!(b.claim().await.is_empty());
        s.check_empty().await;
    }
}

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
