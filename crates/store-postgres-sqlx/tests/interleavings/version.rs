//! A migration while relays run: a relay that knows less does not claim (storage.md), and what it holds it can still settle.

use std::sync::Arc;

use outbox_store::{OutboxOperator, OutboxStore, StoreError};
use sqlx::Executor;

use crate::{
    paused::Point,
    relay::all_dead,
    scene::{Scene, keys_apart, lane, ordering_key},
};

fn assert_refused<T: std::fmt::Debug>(answer: Result<T, StoreError>) {
    let error = answer.unwrap_err();
    assert!(
        matches!(error, StoreError::Schema { found: 99, .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_claim_after_the_schema_was_raised_is_refused_and_one_before_can_be_settled() {
    let s = Scene::new().await;
    let (a, b) = (s.relay("a"), s.relay("b"));
    s.save("k", "1").await;
    s.save("k", "2").await;
    let other = keys_apart(2).into_iter().find(|key| lane(key) != lane("k"));
    let other = other.unwrap();
    s.save(&other, "other").await;
    let held = a
        .hold(Point::Before("read_line"), a.claiming(a.only("k")))
        .await;
    let begun = {
        let (store, ask) = (Arc::clone(&b.store), b.ask());
        let claim = async move { store.claim(&ask).await };
        b.hold(Point::Begun, claim).await
    };
    let mut migration = s.pool.begin().await.unwrap();
    let raise = s.sql("UPDATE outbox.schema_version SET version = 99");
    migration.execute(raise).await.unwrap();
    // Until it is committed nobody waits for it or sees it.
    let taken = b.claim().await;
    assert_eq!(taken.payloads(), ["other"]);
    b.publish(&taken).await;
    migration.commit().await.unwrap();

    assert_refused(begun.go().await);
    assert_refused(b.store.claim(&b.ask()).await);
    assert_refused(b.store.retry_now(&ordering_key(&other)).await);
    let taken = held.go().await;
    assert_eq!(taken.payloads(), ["1", "2"]);
    a.publish(&taken).await;
    s.check_empty().await;
}

#[tokio::test]
async fn an_operator_whose_act_meets_a_raised_schema_changes_nothing() {
    let s = Scene::new().await;
    let (a, operator) = (s.relay("a"), s.relay("operator"));
    s.save("k", "1").await;
    let taken = a.claim().await;
    let death = crate::relay::dead(outbox_store::AfterDeath::Skip);
    a.settle_whole(&taken, &[], &death).await;
    for redrives in [true, false] {
        let store = Arc::clone(&operator.store);
        let act = async move {
            if redrives {
                store.redrive(&all_dead()).await
            } else {
                store.discard(&all_dead()).await
            }
        };
        let known = outbox_store_postgres::POSTGRES.version();
        s.run(&format!(
            "UPDATE outbox.schema_version SET version = {known}"
        ))
        .await;
        let held = operator.hold(Point::Before("lock_lanes"), act).await;
        s.run("UPDATE outbox.schema_version SET version = 99").await;
        assert_refused(held.go().await);
    }
    assert_eq!(s.count("SELECT count(*) FROM outbox.dead").await, 1);
    assert_eq!(s.count("SELECT count(*) FROM outbox.message").await, 0);
}
