//! Claims ahead of need: no slot is idle while a claim is under way, and what is in hand stays bounded.

use std::time::Duration;

use outbox_store::OutboxStore;
use outbox_testkit::Reply;
use tokio::time::Instant;

use crate::world::{World, pass, secs};

const ROUND_TRIP: Duration = Duration::from_millis(2);

/// A store on a disk that syncs, a broker two milliseconds away, and this many messages of each key.
async fn world(keys: usize, of_each: usize) -> World {
    let mut world = World::new();
    world.config.batch = 500;
    world.slow_claims(Duration::from_millis(6));
    world.slow_settlements(Duration::from_millis(6));
    world.broker.all(Reply::Late(ROUND_TRIP));
    for index in 0..keys * of_each {
        let key = format!("k-{}", index % keys);
        world.save(&format!("m-{index}"), Some(&key)).await;
    }
    world
}

#[tokio::test(start_paused = true)]
async fn no_slot_is_idle_while_a_claim_is_under_way() {
    let world = world(1_000, 20).await;
    let relay = world.start();
    let begun = Instant::now();
    world.broker.confirmations(20_000).await;
    let took = begun.elapsed();
    relay.stop().await;
    // All slots busy all the time, one message a round trip each.
    let bound = ROUND_TRIP * 20_000 / u32::try_from(world.config.concurrency).expect("small");
    assert!(
        took * 9 <= bound * 10,
        "{took:?}, and at best it is {bound:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_claimed_ahead_is_bounded_in_lanes() {
    let world = world(1_000, 20).await;
    world.broker.hold_all();
    let relay = world.start();
    pass(secs(5)).await;
    // Three claims of eight lanes, or two if they gave enough.
    let held = world.status().await.lanes.len();
    assert!((8..=24).contains(&held), "{held} lanes");
    relay.crash().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_claimed_ahead_is_no_reason_to_let_a_free_lane_wait() {
    let world = World::new();
    let lanes = usize::from(world.store.lanes().get());
    // Every message hangs, in more lanes than are claimed ahead.
    world.broker.hold_all();
    for index in 0..1_000 {
        let id = format!("m-{index}");
        world.save(&id, Some(&id)).await;
    }
    let relay = world.start_with(outbox_engine::RelayConfig {
        batch: 1_000,
        concurrency: 2_000,
        ..world.config.clone()
    });
    world.broker.begun(1_000).await;
    assert_eq!(world.status().await.lanes.len(), lanes);
    relay.crash().await;
}
