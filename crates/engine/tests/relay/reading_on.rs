//! A holder reads on past a key in flight (O7): a publish call that hangs delays its own key, and no other.

use std::time::Duration;

use outbox_engine::RelayConfig;
use outbox_publisher::PublishErrorKind::Rejected;
use outbox_store::OutboxStore;
use outbox_testkit::{Call, Reply};

use crate::{
    order::lane_of,
    world::{World, pass, secs},
};

const MOMENT: Duration = Duration::from_millis(20);

/// Keys of the lane of the key that hangs.
fn neighbors(world: &World, count: usize) -> Vec<String> {
    let lanes = world.store.lanes();
    let lane = lane_of("hangs", lanes);
    let keys = (0..).map(|index| format!("n-{index}"));
    keys.filter(|key| lane_of(key, lanes) == lane)
        .take(count)
        .collect()
}

/// Saves a message of each of these keys in turn, `count` altogether, one a moment. What was saved ten moments ago must be confirmed.
async fn flow(world: &World, keys: &[String], name: &str, count: usize) {
    for index in 0..count {
        let key = &keys[index % keys.len()];
        world.save(&format!("{name}-{index}"), Some(key)).await;
        pass(MOMENT).await;
        if let Some(before) = index.checked_sub(10) {
            let id = format!("{name}-{before}");
            assert!(
                world.broker.confirmed().contains(&id),
                "{id} waits for a key that hangs"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn o7_a_key_that_hangs_delays_no_other_key_of_its_lane() {
    let world = World::new();
    let keys = neighbors(&world, 50);
    world.broker.on("hangs", [Reply::Late(secs(9))]);
    world.save("hangs", Some("hangs")).await;
    let relay = world.start();
    world.broker.begun(1).await;
    world.save("behind", Some("hangs")).await;
    pass(MOMENT * 3).await;
    flow(&world, &keys, "m", 400).await;
    assert_eq!(world.broker.times("behind"), 0);
    world.broker.confirmations(402).await;
    assert_eq!(world.broker.confirmed()[400..], ["hangs", "behind"]);
    let report = relay.stop().await;
    assert_eq!((report.published, report.lost), (402, 0));
    let status = world.status().await;
    assert_eq!((status.pending(), status.lanes.len()), (0, 0));
    assert_eq!(world.broker.handed().len(), 402, "nothing went twice");
}

#[tokio::test(start_paused = true)]
async fn o6_a_call_that_fails_while_its_lane_is_read_on_is_recorded() {
    let world = World::new();
    let keys = neighbors(&world, 5);
    world.broker.on("hangs", [Reply::Fail(Rejected)]);
    world.broker.hold("hangs");
    world.save("hangs", Some("hangs")).await;
    world.save("behind", Some("hangs")).await;
    let relay = world.start();
    world.broker.begun(1).await;
    pass(MOMENT * 3).await;
    flow(&world, &keys, "m", 50).await;
    world.broker.let_go("hangs");
    flow(&world, &keys, "n", 100).await;
    assert_eq!(world.broker.times("behind"), 0, "its head waits");
    assert_eq!(world.broker.times("hangs"), 1);
    pass(secs(15)).await;
    let report = relay.stop().await;
    assert_eq!((report.published, report.retried), (152, 1));
    let confirmed = world.broker.confirmed();
    assert_eq!(confirmed[150..], ["hangs", "behind"]);
    assert_eq!(world.status().await.pending(), 0);
}

#[tokio::test(start_paused = true)]
async fn f1_a_call_that_times_out_while_its_lane_is_read_on_is_recorded() {
    let world = World::new();
    let keys = neighbors(&world, 5);
    world.broker.on("hangs", [Reply::Hang]);
    world.save("hangs", Some("hangs")).await;
    let relay = world.start();
    world.broker.begun(1).await;
    pass(MOMENT * 3).await;
    flow(&world, &keys, "m", 600).await;
    // The destination confirmed others meanwhile, so this counts.
    pass(secs(15)).await;
    let report = relay.stop().await;
    assert_eq!((report.published, report.retried), (601, 1));
    let last = world.broker.handed().pop().expect("it was handed over");
    assert_eq!((last.id.as_str(), last.attempts), ("hangs", 1));
}

#[tokio::test(start_paused = true)]
async fn o7_two_keys_that_hang_delay_nobody_else() {
    let world = World::new();
    let keys = neighbors(&world, 12);
    for id in ["hangs", "too"] {
        world.broker.on(id, [Reply::Late(secs(9))]);
    }
    world.save("hangs", Some("hangs")).await;
    let relay = world.start();
    world.broker.begun(1).await;
    pass(MOMENT * 3).await;
    world.save("too", Some(&keys[0])).await;
    world.broker.begun(2).await;
    world.save("behind", Some(&keys[0])).await;
    flow(&world, &keys[1..], "m", 100).await;
    assert_eq!(world.broker.times("behind"), 0);
    world.broker.confirmations(103).await;
    assert_eq!(relay.stop().await.published, 103);
}

#[tokio::test(start_paused = true)]
async fn d2_what_is_read_of_a_lane_that_is_lost_never_starts() {
    let mut world = World::new();
    world.config = RelayConfig {
        lease: secs(3),
        renewal: secs(1),
        publish_timeout: Duration::from_millis(1_900),
        ..world.config
    };
    let keys = neighbors(&world, 1);
    world.store.fail(Call::Extend, usize::MAX);
    world
        .broker
        .on("hangs", [Reply::Late(Duration::from_millis(1_800))]);
    world.save("hangs", Some("hangs")).await;
    let relay = world.start();
    world.broker.begun(1).await;
    pass(MOMENT * 4).await;
    // The next claim reads it in time, and is answered when the lease can have ended.
    world.slow_answers(Duration::from_millis(2_900));
    world.save("read", Some(&keys[0])).await;
    pass(MOMENT).await;
    world.store.fail(Call::Claim, usize::MAX);
    pass(secs(5)).await;
    assert_eq!(world.broker.times("read"), 0);
    world.slow_answers(Duration::ZERO);
    world.store.heal();
    world.broker.confirmations(2).await;
    relay.stop().await;
    assert_eq!(world.broker.handed().len(), 2);
    assert_eq!(world.status().await.pending(), 0);
}

#[tokio::test(start_paused = true)]
async fn d4_a_stop_while_a_lane_is_read_on_gives_back_what_was_read() {
    let world = World::new();
    let keys = neighbors(&world, 1);
    world.broker.hold("hangs");
    world.save("hangs", Some("hangs")).await;
    let relay = world.start();
    world.broker.begun(1).await;
    pass(MOMENT * 4).await;
    world.slow_answers(secs(2));
    world.save("read", Some(&keys[0])).await;
    pass(MOMENT).await;
    let report = relay.stop().await;
    assert_eq!((report.published, report.left), (0, 0));
    assert_eq!(report.released, 2, "what hung, and what was read");
    assert_eq!(world.broker.times("read"), 0);
    let status = world.status().await;
    assert_eq!((status.pending(), status.lanes.len()), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn p1_a_lane_in_which_nothing_else_can_run_is_not_read_over_and_over() {
    let world = World::new();
    world.broker.on("hangs", [Reply::Late(secs(9))]);
    world.save("hangs", Some("hangs")).await;
    let relay = world.start();
    world.broker.begun(1).await;
    world.save("behind", Some("hangs")).await;
    pass(secs(8)).await;
    let claims = world.store.calls(Call::Claim);
    assert!(claims <= 16, "{claims} claims");
    relay.crash().await;
}
