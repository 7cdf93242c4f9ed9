//! How far lane.floor may grow: nothing that commits late or joins late stands below it. Each has a server of its own, since any transaction of a
//! server that writes keeps it back.

use sqlx::{Connection, Executor};

use crate::{
    paused::Point,
    scene::{Scene, keys_beside, secs},
    stall::{Stall, Stalled},
};

/// Saves, claims and publishes messages of the lane of `k` so often; answers the floors.
async fn rounds(s: &Scene, count: usize) -> Vec<i64> {
    let relay = s.relay("rounds");
    let keys = keys_beside("k", count);
    let mut floors = Vec::new();
    for key in &keys {
        s.save(key, "other").await;
        let taken = relay.claim_lane_of("k").await;
        assert_eq!(taken.payloads(), ["other"]);
        relay.publish(&taken).await;
        floors.push(s.floor("k").await);
        s.check().await;
    }
    floors
}

#[tokio::test]
async fn the_floor_grows_with_every_other_claim_when_no_writer_is_open() {
    let s = Scene::alone().await;
    let floors = rounds(&s, 10).await;
    assert_eq!(floors[0], 0);
    let grown = floors.windows(2).filter(|pair| pair[0] < pair[1]).count();
    assert!(grown >= 4, "{floors:?}");
    // It follows what is gone: at most a few rounds are below the last position.
    assert!(floors[9] > 5, "{floors:?}");
}

#[tokio::test]
async fn case1_the_floor_never_passes_a_writer_that_stays_open() {
    let s = Scene::alone().await;
    rounds(&s, 6).await;
    let mut late = s.begin().await;
    let position = s.save_in(&mut late, "k", "late").await;
    let floors = rounds(&s, 10).await;
    assert!(floors.iter().all(|floor| *floor <= position), "{floors:?}");
    s.save("k", "later").await;
    late.commit().await.unwrap();
    let relay = s.relay("a");
    let taken = relay.claim().await;
    assert_eq!(taken.payloads(), ["late", "later"]);
    relay.publish(&taken).await;
    let floors = rounds(&s, 6).await;
    assert!(floors[5] > position, "the floor grows again: {floors:?}");
    s.check_empty().await;
}

/// Every claim notes a mark or a transaction number: the writer begins at each of these moments.
#[tokio::test]
async fn case1_the_floor_waits_for_a_writer_whenever_it_began() {
    let s = Scene::alone().await;
    for begun in 1..=6 {
        rounds(&s, begun).await;
        let mut late = s.begin().await;
        // A snapshot and nothing written yet, or something else; then a position, while claims go on.
        let first = ["SELECT 1", "SELECT pg_current_xact_id()"][begun % 2];
        late.execute(first).await.unwrap();
        rounds(&s, 1).await;
        let position = s.save_in(&mut late, "k", "late").await;
        let floors = rounds(&s, 5).await;
        assert!(floors.iter().all(|floor| *floor <= position), "{floors:?}");
        late.commit().await.unwrap();
        assert_eq!(s.relay("a").drain().await, ["late"]);
    }
    s.check_empty().await;
}

/// Between the moment when a lease took its snapshot, or its locks, and the moment when it notes how far positions are drawn.
#[tokio::test]
async fn case1_the_floor_never_passes_a_writer_that_draws_while_a_lease_is_under_way() {
    let s = Scene::alone().await;
    let stalled = s.stalled("stalled");
    for at in [Stalled::Snapshot, Stalled::Locks] {
        for before in 1..=4 {
            rounds(&s, before).await;
            s.save("k", "now").await;
            let stall = Stall::of(&s, at).await;
            let lease = stalled.wait(&s, stalled.claiming(stalled.only("k"))).await;
            let mut late = s.begin().await;
            let position = s.save_in(&mut late, "k", "late").await;
            stall.end(&s).await;
            let taken = lease.await.unwrap();
            assert_eq!(taken.payloads(), ["now"]);
            stalled.publish(&taken).await;
            let floors = rounds(&s, 6).await;
            assert!(floors.iter().all(|floor| *floor <= position), "{floors:?}");
            late.commit().await.unwrap();
            assert_eq!(s.relay("a").drain().await, ["late"], "{at:?} {before}");
        }
    }
    s.check_empty().await;
}

/// The position is drawn and its row is not there yet: the statement is under way.
#[tokio::test]
async fn case1_the_floor_never_passes_a_position_whose_insert_is_under_way() {
    let s = Scene::alone().await;
    rounds(&s, 3).await;
    let mut lock = s.pool.acquire().await.unwrap();
    lock.execute("SELECT pg_advisory_lock(1)").await.unwrap();
    let insert = s.sql(
        "WITH drawn AS MATERIALIZED (SELECT outbox.next_position() AS position),
              held AS MATERIALIZED (SELECT d.position, pg_advisory_xact_lock_shared(1) FROM drawn d)
         INSERT INTO outbox.message (position, lane, id, topic, key, payload)
         SELECT h.position, outbox.lane_of('orders', 'k'), 'late', 'orders', 'k', 'late'
         FROM held h",
    );
    let mut tx = s.begin().await;
    let writer = tokio::spawn(async move {
        sqlx::query(insert).execute(&mut *tx).await.unwrap();
        tx.commit().await.unwrap();
    });
    s.until_it_waits("-writer", &writer).await;
    let drawn = s.count("SELECT last_value FROM outbox.position").await;
    let floors = rounds(&s, 8).await;
    assert!(floors.iter().all(|floor| *floor <= drawn), "{floors:?}");
    s.save("k", "later").await;
    lock.execute("SELECT pg_advisory_unlock(1)").await.unwrap();
    writer.await.unwrap();
    assert_eq!(s.relay("a").drain().await, ["late", "later"]);
    s.check_empty().await;
}

#[tokio::test]
async fn case1_the_floor_never_passes_a_savepoint() {
    let s = Scene::alone().await;
    rounds(&s, 3).await;
    let mut late = s.begin().await;
    let mut gone = late.begin().await.unwrap();
    s.save_in(&mut gone, "k", "gone").await;
    gone.rollback().await.unwrap();
    let mut inner = late.begin().await.unwrap();
    let position = s.save_in(&mut inner, "k", "late").await;
    let floors = rounds(&s, 4).await;
    inner.commit().await.unwrap();
    let more = rounds(&s, 4).await;
    assert!(
        floors.iter().chain(&more).all(|floor| *floor <= position),
        "{floors:?} {more:?}"
    );
    s.save("k", "later").await;
    late.commit().await.unwrap();
    assert_eq!(s.relay("a").drain().await, ["late", "later"]);
    let floors = rounds(&s, 6).await;
    assert!(floors[5] > position, "{floors:?}");
    s.check_empty().await;
}

/// It has no session, and may stay for days.
#[tokio::test]
async fn case1_the_floor_never_passes_a_prepared_transaction() {
    let s = Scene::alone().await;
    rounds(&s, 3).await;
    let mut late = s.begin().await;
    let position = s.save_in(&mut late, "k", "late").await;
    late.execute("PREPARE TRANSACTION 'late'").await.unwrap();
    drop(late);
    let floors = rounds(&s, 8).await;
    assert!(floors.iter().all(|floor| *floor <= position), "{floors:?}");
    s.save("k", "later").await;
    s.pool.execute("COMMIT PREPARED 'late'").await.unwrap();
    assert_eq!(s.relay("a").drain().await, ["late", "later"]);
    s.check_empty().await;
}

#[tokio::test]
async fn o8_a_message_that_joins_below_the_floor_lowers_it_and_goes_first() {
    let s = Scene::alone().await;
    let position = s.schedule("k", "old", secs(3_600)).await;
    let floors = rounds(&s, 8).await;
    assert!(floors[7] > position, "{floors:?}");
    s.save("k", "new").await;
    s.pass(secs(3_601)).await;
    let relay = s.relay("a");
    let taken = relay.claim().await;
    assert_eq!(taken.payloads(), ["old", "new"]);
    s.check().await;
    relay.publish(&taken).await;
    let floors = rounds(&s, 6).await;
    assert!(floors[5] > position, "the floor grows again: {floors:?}");
}

/// A claim that promoted and was rolled back, or whose relay died before it read, leaves the floor right.
#[tokio::test]
async fn o8_a_promotion_whose_relay_died_is_found_by_the_next_claim() {
    let s = Scene::alone().await;
    let (a, b) = (s.relay("a"), s.relay("b"));
    s.schedule("k", "old", secs(3_600)).await;
    rounds(&s, 8).await;
    s.pass(secs(3_601)).await;
    let held = a
        .hold(Point::Before("read_line"), a.claiming(a.only("k")))
        .await;
    assert!(b.claim_lane_of("k").await.is_empty());
    held.abandon().await;
    // The server takes a moment to see that the session is gone.
    let mut taken = b.claim_lane_of("k").await;
    while taken.is_empty() {
        taken = b.claim_lane_of("k").await;
    }
    assert_eq!(taken.payloads(), ["old"]);
    // The lease runs out after the promotion was committed.
    s.lapse().await;
    s.save("k", "new").await;
    s.check().await;
    let taken = a.claim_lane_of("k").await;
    assert_eq!(taken.payloads(), ["old"], "careful, one at a time");
    a.publish(&taken).await;
    assert_eq!(a.drain().await, ["new"]);
}

/// A copy of the tables without the sequence, or a restore: positions are drawn again that are below the floor.
#[tokio::test]
async fn what_stands_below_the_floor_all_the_same_is_found_after_upkeep() {
    let s = Scene::alone().await;
    let (relay, upkeep) = (s.relay("a"), s.relay("upkeep"));
    let floors = rounds(&s, 8).await;
    s.run("SELECT setval('outbox.position', 1)").await;
    let position = s.save("k", "1").await;
    assert!(position < floors[7]);
    // Another of its lane goes, while upkeep waits for the lane.
    s.run("SELECT setval('outbox.position', 100)").await;
    s.save("k", "2").await;
    let claim = relay
        .hold(Point::Commit, relay.claiming(relay.only("k")))
        .await;
    let store = std::sync::Arc::clone(&upkeep.store);
    let maintain = async move { outbox_store::OutboxStore::maintain(&*store).await.unwrap() };
    let maintain = upkeep.wait(&s, maintain).await;
    let taken = claim.go().await;
    assert_eq!(taken.payloads(), ["2"], "it is not looked at");
    maintain.await.unwrap();
    relay.publish(&taken).await;
    assert_eq!(relay.drain().await, ["1"]);
    s.check_empty().await;
}
