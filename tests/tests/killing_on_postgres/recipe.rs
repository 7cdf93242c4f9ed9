//! The recipe of docs/postgres.md for a failover or a restore (D5), run as it stands there, but for the name of the schema.

use std::collections::BTreeSet;

use outbox::RelayConfig;
use outbox_testkit::ScriptedPublisher;

use crate::{
    failover::Pair,
    place::{Place, Store, run_of},
};

const PAGE: &str = include_str!("../../../docs/postgres.md");

/// The statements of the section.
fn recipe() -> String {
    let (_, section) = PAGE
        .split_once("\n## After a failover or a restore\n")
        .expect("the page has the section");
    let section = section.split("\n## ").next().unwrap();
    let blocks: Vec<&str> = section
        .split("```sql\n")
        .skip(1)
        .map(|block| block.split("```").next().unwrap())
        .collect();
    assert_eq!(blocks.len(), 1, "the section has one block of SQL");
    blocks[0].to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn d5_after_the_recipe_no_position_of_the_lost_server_comes_again() {
    let (mut pair, before) = Pair::start().await;
    before.save(&run_of("kept", 3)).await;
    pair.part();
    let kept = positions(&before).await;
    before.save(&run_of("lost", 500)).await;
    let lost = &positions(&before).await - &kept;
    pair.fail_over();

    let after = before.moved(pair.standby.url("postgres")).await;
    let next = after.number("SELECT nextval('outbox.position')").await;
    assert!(lost.contains(&next), "{next} does not come again anyway");
    after.run(&recipe()).await;
    after.save(&run_of("new", 3)).await;
    assert!(positions(&after).await.is_disjoint(&lost));
    let [sqlx, _] = after.stores().await;
    assert_eq!(drain(&sqlx).await, 6);
    assert_eq!(after.pending().await, 0);
}

/// A copy by logical replication leaves the sequence behind, and what is saved then stands below what relays have passed.
#[tokio::test(flavor = "multi_thread")]
async fn d5_after_the_recipe_messages_go_out_though_the_sequence_was_left_behind() {
    let place = Place::shared().await;
    let [sqlx, diesel] = place.stores().await;
    for store in [&sqlx, &diesel, &sqlx] {
        place.save(&run_of("k", 50)).await;
        assert_eq!(drain(store).await, 50);
    }
    place
        .run("SELECT setval('outbox.position', 1, false)")
        .await;
    place.save(&run_of("too early", 2)).await;
    place.run(&recipe()).await;
    place.save(&run_of("k", 3)).await;
    assert_eq!(drain(&diesel).await, 5);
    assert_eq!(place.pending().await, 0);
    place.leave().await;
}

/// How many messages go out.
async fn drain(store: &Store) -> u64 {
    let broker = ScriptedPublisher::new();
    let relay = store.relay(broker, RelayConfig::default());
    relay.drain().await.unwrap().published
}

async fn positions(place: &Place) -> BTreeSet<i64> {
    let positions = sqlx::query_scalar(place.sql("SELECT position FROM outbox.message"));
    let positions: Vec<i64> = positions.fetch_all(&place.pool).await.unwrap();
    positions.into_iter().collect()
}
