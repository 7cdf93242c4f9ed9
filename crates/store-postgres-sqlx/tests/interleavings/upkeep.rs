//! Upkeep and purge beside settlements that keep what is published, and beside savers: nobody fails, and no one waits for long.

use std::{future::Future, sync::Arc};

use outbox_store::{OutboxOperator, OutboxStore, Outcome, Purge, PurgeMode, Purged, Save, Saved};

use crate::{
    paused::Point,
    relay::{Relay, Taken},
    scene::{Scene, message, secs},
};

fn purge(operator: &Relay) -> impl Future<Output = Purged> + Send + 'static {
    let store = Arc::clone(&operator.store);
    let purge = Purge {
        older_than: secs(24 * 3_600),
        inbox_older_than: None,
        limit: 100,
        mode: PurgeMode::Delete,
    };
    async move { store.purge(&purge).await.unwrap() }
}

fn maintain(relay: &Relay) -> impl Future<Output = usize> + Send + 'static {
    let store = Arc::clone(&relay.store);
    async move { store.maintain().await.unwrap() }
}

/// A message that is held, and an old partition with a row in it.
async fn held_beside_a_partition(s: &Scene, relay: &Relay) -> Taken {
    s.run(
        "CREATE TABLE outbox.published_20200101 PARTITION OF outbox.published
         FOR VALUES FROM ('2020-01-01 00:00:00+00') TO ('2020-01-02 00:00:00+00');
         INSERT INTO outbox.published (position, attempts, tries, saved_at, published_at, lane, id, topic, payload)
         VALUES (1000000, 0, 0, '2020-01-01 12:00:00+00', '2020-01-01 12:00:00+00', 0, 'old', 'orders', 'old')",
    )
    .await;
    s.save("k", "1").await;
    relay.claim().await
}

async fn kept(s: &Scene) -> i64 {
    s.count("SELECT count(*) FROM outbox.published WHERE payload = '1'")
        .await
}

#[tokio::test]
async fn a_partition_that_is_being_dropped_keeps_a_settlement_waiting_and_fails_none() {
    let s = Scene::keeping().await;
    let (relay, operator) = (s.relay("a"), s.relay("operator"));
    let taken = held_beside_a_partition(&s, &relay).await;
    let act = operator.hold(Point::Commit, purge(&operator)).await;
    let settle = relay.settling(taken.whole(&[], &Outcome::Published));
    let settle = relay.wait(&s, settle).await;
    assert_eq!(act.go().await.partitions, 1);
    assert!(!settle.await.unwrap()[0].lost);
    assert_eq!(kept(&s).await, 1);
    s.check_empty().await;
}

#[tokio::test]
async fn a_settlement_under_way_keeps_its_partitions_and_the_purge_goes_without() {
    let s = Scene::keeping().await;
    let (relay, operator) = (s.relay("a"), s.relay("operator"));
    let taken = held_beside_a_partition(&s, &relay).await;
    let settle = relay.settling(taken.whole(&[], &Outcome::Published));
    let settle = relay.hold(Point::After("fence_keep"), settle).await;
    let purged = purge(&operator).await;
    assert_eq!((purged.partitions, purged.published), (0, 1));
    settle.go().await;
    assert_eq!(kept(&s).await, 1);
    assert_eq!(purge(&operator).await.partitions, 1);
    s.check_empty().await;
}

#[tokio::test]
async fn partitions_that_are_being_added_keep_a_settlement_waiting_and_fail_none() {
    let s = Scene::keeping().await;
    let (relay, upkeep) = (s.relay("a"), s.relay("upkeep"));
    let taken = held_beside_a_partition(&s, &relay).await;
    let act = upkeep
        .hold(Point::After("add_partitions"), maintain(&upkeep))
        .await;
    let settle = relay.settling(taken.whole(&[], &Outcome::Published));
    let settle = relay.wait(&s, settle).await;
    act.go().await;
    assert!(!settle.await.unwrap()[0].lost);
    assert_eq!(kept(&s).await, 1);
    s.check_empty().await;
}

#[tokio::test]
async fn a_settlement_under_way_keeps_the_default_partition_and_upkeep_goes_without() {
    let s = Scene::keeping().await;
    let (relay, upkeep) = (s.relay("a"), s.relay("upkeep"));
    let taken = held_beside_a_partition(&s, &relay).await;
    let settle = relay.settling(taken.whole(&[], &Outcome::Published));
    let settle = relay.hold(Point::After("fence_keep"), settle).await;
    maintain(&upkeep).await;
    settle.go().await;
    assert_eq!(kept(&s).await, 1);
    s.check_empty().await;
}

#[tokio::test]
async fn of_relays_that_do_upkeep_at_once_one_does_it_and_a_purge_waits_for_it() {
    let s = Scene::keeping().await;
    let (a, b, operator) = (s.relay("a"), s.relay("b"), s.relay("operator"));
    held_beside_a_partition(&s, &a).await;
    let act = a.hold(Point::After("upkeep_turn"), maintain(&a)).await;
    assert_eq!(maintain(&b).await, 0);
    let purge = operator.wait(&s, purge(&operator)).await;
    // Either of them drops the old partition, whichever comes to it first.
    let upkeep = u64::try_from(act.go().await).unwrap();
    let purged = purge.await.unwrap();
    assert_eq!(upkeep + purged.partitions, 1);
    assert_eq!((purged.published, purged.ids), (0, 0));
    assert_eq!(maintain(&b).await, 0, "it is done for a minute");
}

fn once(message: &outbox_message::Message) -> Save<'_> {
    Save {
        once: Some(secs(60)),
        ..Save::from(message)
    }
}

#[tokio::test]
async fn c3_upkeep_leaves_an_id_alone_that_a_saver_is_renewing() {
    let s = Scene::new().await;
    let relay = s.relay("a");
    let order = message(Some("k"), "1");
    let mut tx = s.begin().await;
    s.store.save(&mut tx, once(&order)).await.unwrap();
    tx.commit().await.unwrap();
    s.pass(secs(61)).await;
    let mut tx = s.begin().await;
    let saved = s.store.save(&mut tx, once(&order)).await.unwrap();
    assert!(matches!(saved, Saved::New(_)), "its time was over");
    assert_eq!(maintain(&relay).await, 0);
    tx.commit().await.unwrap();
    let mut tx = s.begin().await;
    let saved = s.store.save(&mut tx, once(&order)).await.unwrap();
    assert_eq!(saved, Saved::Duplicate);
}

#[tokio::test]
async fn c3_a_save_of_an_id_that_upkeep_is_forgetting_is_stored_and_remembered() {
    let s = Scene::new().await;
    let relay = s.relay("a");
    let order = message(Some("k"), "1");
    let mut tx = s.begin().await;
    s.store.save(&mut tx, once(&order)).await.unwrap();
    tx.commit().await.unwrap();
    s.pass(secs(61)).await;
    let act = relay.hold(Point::Commit, maintain(&relay)).await;
    let saving = s.saving(s.begin().await, order.clone(), once);
    s.until_it_waits("-writer", &saving).await;
    assert_eq!(act.go().await, 1);
    let (tx, saved) = saving.await.unwrap();
    assert!(matches!(saved, Ok(Saved::New(_))), "{saved:?}");
    tx.commit().await.unwrap();
    let mut tx = s.begin().await;
    let saved = s.store.save(&mut tx, once(&order)).await.unwrap();
    assert_eq!(saved, Saved::Duplicate);
}
