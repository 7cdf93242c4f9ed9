//! Crashes, frozen relays and poison: D1, D2, F6, cases 12, 13, 16, 44.

use outbox_engine::{Gate, RelayConfig};
use outbox_publisher::PublishErrorKind::Unavailable;
use outbox_testkit::{Call, Reply};

use crate::{
    order::lane_of,
    world::{World, pass, secs},
};
use outbox_store::OutboxStore;

#[tokio::test(start_paused = true)]
async fn d1_case_13_a_crash_between_confirmation_and_settlement_publishes_again_with_the_same_id() {
    let world = World::new();
    world.save("a", Some("k")).await;
    world.store.hold(Call::Settle);
    let relay = world.start();
    world.broker.confirmations(1).await;
    relay.crash().await;
    world.store.heal();
    let relay = world.start();
    world.broker.confirmations(2).await;
    relay.stop().await;
    assert_eq!(world.broker.confirmed(), ["a", "a"]);
    assert_eq!(world.status().await.pending(), 0);
}

#[tokio::test(start_paused = true)]
async fn d2_a_slow_publish_keeps_its_lease_by_renewal() {
    let mut world = World::new();
    world.config.publish_timeout = secs(19);
    world.save_many("m", 3, None).await;
    world.broker.all(Reply::Late(secs(18)));
    let report = world.flush().await;
    assert_eq!((report.published, report.lost), (3, 0));
    assert!(world.store.calls(Call::Extend) >= 1);
}

#[tokio::test(start_paused = true)]
async fn d2_case_12_a_relay_that_lost_its_lease_stops_publishing_and_changes_nothing() {
    let world = World::new();
    for id in ["a", "b"] {
        world.save(id, Some("k")).await;
    }
    // It is frozen from the hand-over on: neither its renewals nor its settlement reach the store in time.
    world.store.hold(Call::Extend);
    world.store.hold(Call::Settle);
    world
        .broker
        .on("a", [Reply::Late(secs(60)), Reply::Confirm]);
    let frozen = world.start_with(RelayConfig {
        publish_timeout: secs(19),
        name: "frozen".into(),
        ..world.config.clone()
    });
    world.broker.begun(1).await;
    pass(secs(31)).await;
    let other = world.start_beside(RelayConfig {
        name: "other".into(),
        ..world.config.clone()
    });
    world.broker.confirmations(2).await;
    assert_eq!(world.broker.confirmed(), ["a", "b"]);
    let report = other.stop().await;
    assert_eq!(report.published, 2);
    world.store.heal();
    pass(secs(1)).await;
    let report = frozen.stop().await;
    assert_eq!((report.published, report.retried, report.dead), (0, 0, 0));
    assert!(report.lost > 0, "{report:?}");
    assert_eq!(world.status().await.pending(), 0);
}

#[tokio::test(start_paused = true)]
async fn d2_no_publish_call_outlives_the_lease() {
    let mut world = World::new();
    world.config.publish_timeout = secs(19);
    world.save("a", Some("k")).await;
    world.store.fail(Call::Extend, usize::MAX);
    world
        .broker
        .on("a", [Reply::Late(secs(18)), Reply::Confirm]);
    // The lane is held for 15 s by an earlier message of the key before this one starts, so its call would end at 33 s.
    world.save("b", Some("k")).await;
    world
        .broker
        .on("b", [Reply::Late(secs(18)), Reply::Confirm]);
    let relay = world.start();
    pass(secs(30)).await;
    let handed = world.broker.handed();
    assert!(
        handed
            .iter()
            .all(|handed| handed.reply.is_some() || handed.abandoned),
        "{handed:?}"
    );
    relay.crash().await;
}

#[tokio::test(start_paused = true)]
async fn f6_case_16_a_message_that_kills_its_process_is_dead_after_three_starts() {
    let world = World::new();
    let lanes = world.store.lanes();
    let lane = lane_of("k", lanes);
    world.save("poison", Some("k")).await;
    let neighbors: Vec<_> = (0..)
        .map(|index| format!("n-{index}"))
        .filter(|key| lane_of(key, lanes) == lane)
        .take(3)
        .collect();
    for key in &neighbors {
        world.save(key, Some(key)).await;
    }
    world.broker.hold("poison");
    // The first death shows nothing: all four were in flight. Then the message is handed over alone, three times.
    for deaths in 0..4 {
        let relay = process(&world);
        let before = world.broker.handed().len();
        world.broker.begun(before + 1).await;
        while world
            .broker
            .handed()
            .last()
            .is_some_and(|handed| handed.id.as_str() != "poison")
        {
            let next = world.broker.handed().len() + 1;
            world.broker.begun(next).await;
        }
        if deaths > 0 {
            assert_eq!(
                world.broker.handed().last().map(|handed| handed.starts),
                Some(deaths - 1)
            );
        }
        relay.crash().await;
        pass(secs(31)).await;
    }
    let relay = process(&world);
    pass(secs(60)).await;
    relay.stop().await;
    let dead = world.dead().await;
    assert_eq!(dead.len(), 1);
    assert_eq!(
        (dead[0].id.as_str(), dead[0].reason.as_str()),
        ("poison", "poison")
    );
    assert_eq!(
        world.status().await.pending(),
        0,
        "no innocent message died"
    );
}

#[tokio::test(start_paused = true)]
async fn f6_case_44_relays_killed_for_other_reasons_kill_no_message() {
    let world = World::new();
    for index in 0..100 {
        world
            .save(&format!("m-{index}"), Some(&format!("k-{index}")))
            .await;
    }
    world.broker.hold_all();
    let mut relays = Vec::new();
    for _ in 0..4 {
        let begun = world.broker.handed().len();
        relays.push(process(&world));
        world.broker.begun(begun + 1).await;
    }
    for relay in relays {
        relay.crash().await;
    }
    world.broker.open();
    let relay = process(&world);
    world.broker.confirmations(100).await;
    relay.stop().await;
    assert_eq!(world.dead().await, []);
    assert_eq!(world.status().await.pending(), 0);
}

#[tokio::test(start_paused = true)]
async fn f6_careful_service_hands_over_one_message_in_the_whole_process() {
    let world = World::new();
    for index in 0..60 {
        world
            .save(&format!("m-{index}"), Some(&format!("k-{index}")))
            .await;
    }
    world.broker.hold_all();
    let relay = process(&world);
    world.broker.begun(5).await;
    relay.crash().await;
    pass(secs(31)).await;
    world.broker.open();
    let before = world.broker.handed().len();
    let marks = world.store.calls(Call::Starting);
    let relay = process(&world);
    world.broker.confirmations(60).await;
    relay.stop().await;
    // Each start in careful service is recorded before the hand-over.
    let starts = world.store.calls(Call::Starting) - marks;
    assert!(starts > 0 && starts <= world.broker.handed().len() - before);
    let status = world.status().await;
    assert_eq!(
        (status.pending(), status.dead, status.lanes.len()),
        (0, 0, 0)
    );
}

#[tokio::test(start_paused = true)]
async fn f6_a_lane_that_a_probe_meets_first_is_served_carefully_to_the_end() {
    let world = World::new();
    let lanes = world.store.lanes();
    world.save_many("m", 10, Some("k")).await;
    world.broker.hold_all();
    let relay = process(&world);
    world.broker.begun(1).await;
    relay.crash().await;
    world.broker.open();
    world.broker.down("broker", Unavailable);
    let mut others = (0..1_000).map(|index| format!("other-{index}"));
    let other = others.find(|key| lane_of(key, lanes) != lane_of("k", lanes));
    world.save("other", other.as_deref()).await;
    let relay = process(&world);
    // Its circuit is open when the lease of the first one ends.
    pass(secs(40)).await;
    world.broker.up("broker");
    world.broker.confirmations(11).await;
    relay.stop().await;
    assert!(world.store.calls(Call::Starting) >= 10);
}

/// A relay that is alone in its process.
fn process(world: &World) -> crate::world::Running {
    world.start_with(RelayConfig {
        gate: Gate::new(),
        ..world.config.clone()
    })
}
