//! A store that goes silent in the middle of a call: nothing but the relay's own clock ends it (F7, D2).

use std::time::Duration;

use outbox_engine::RelayError;
use outbox_publisher::PublishErrorKind::Rejected;
use outbox_testkit::{Call, Reply};
use tokio::time::timeout;

use crate::world::{World, pass, secs};

/// Longer than the lease, which is how long a call is waited for.
const LONGER: Duration = secs(31);

#[tokio::test(start_paused = true)]
async fn f7_a_claim_that_is_never_answered_holds_up_the_relay_for_one_lease() {
    let world = World::new();
    world.save_many("m", 20, None).await;
    world.store.never_answer(Call::Claim, 1);
    let relay = world.start();
    pass(secs(45)).await;
    assert_eq!(world.broker.confirmed().len(), 20);
    let report = relay.stop().await;
    assert_eq!((report.published, report.store_errors), (20, 1));
    let status = world.status().await;
    assert_eq!((status.pending(), status.lanes.len()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn f7_a_round_and_a_drain_of_a_silent_store_end() {
    let world = World::new();
    world.store.hold(Call::Claim);
    let relay = world.relay();
    let ended = timeout(secs(3_600), relay.flush()).await;
    assert!(matches!(ended, Ok(Err(RelayError::Store(_)))), "{ended:?}");
    let ended = timeout(secs(3_600), relay.drain()).await;
    let Ok(Err(RelayError::Store(error))) = ended else {
        panic!("the store never answered: {ended:?}");
    };
    assert_eq!(
        error.to_string(),
        "the database did not answer a claim in time"
    );
}

#[tokio::test(start_paused = true)]
async fn f7_a_settlement_that_never_reached_the_store_is_sent_again_and_others_are_published_meanwhile()
 {
    let world = World::new();
    world.save("a", Some("a")).await;
    world.store.hold(Call::Settle);
    let relay = world.start();
    world.store.begun(Call::Settle, 1).await;
    world.save("b", Some("b")).await;
    pass(secs(5)).await;
    assert_eq!(world.broker.confirmed().len(), 2);
    pass(secs(26)).await;
    assert_eq!(world.store.calls(Call::Settle), 2);
    world.store.open(Call::Settle);
    pass(secs(1)).await;
    assert_eq!(world.status().await.pending(), 0);
    let report = relay.stop().await;
    assert_eq!((report.published, report.store_errors), (2, 1));
    assert_eq!(world.broker.handed().len(), 2);
    assert!(world.status().await.lanes.is_empty());
}

#[tokio::test(start_paused = true)]
async fn d2_a_settlement_that_was_done_in_silence_counts_a_failure_once() {
    let world = World::new();
    world.save("a", None).await;
    world.broker.on("a", [Reply::Fail(Rejected)]);
    world.store.never_answer(Call::Settle, 1);
    let relay = world.start();
    pass(secs(60)).await;
    let report = relay.stop().await;
    assert_eq!((report.retried, report.store_errors), (0, 1));
    assert_eq!((report.published, report.lost), (1, 1));
    assert_eq!(world.broker.handed()[1].attempts, 1);
}

#[tokio::test(start_paused = true)]
async fn d2_a_renewal_that_is_never_answered_ends_the_lease_and_nothing_else() {
    let world = World::new();
    for index in 0..100 {
        let id = format!("slow-{index}");
        world
            .broker
            .on(&id, [Reply::Late(Duration::from_millis(500))]);
        world.save(&id, Some("slow")).await;
    }
    world.store.never_answer(Call::Extend, 1);
    let relay = world.start();
    world.store.begun(Call::Extend, 1).await;
    // The lease of 30 s is over before the renewal asked for at 10 s is given up at 40 s.
    pass(secs(19)).await;
    let handed = world.broker.handed().len();
    assert!(handed < 100);
    pass(secs(8)).await;
    assert_eq!(world.broker.handed().len(), handed);
    pass(secs(60)).await;
    assert_eq!(world.status().await.pending(), 0);
    let report = relay.stop().await;
    assert_eq!((report.published, report.store_errors), (100, 1));
    assert!(world.status().await.lanes.is_empty());
}

#[tokio::test(start_paused = true)]
async fn f7_renewals_that_are_never_answered_stop_no_settlement() {
    let world = World::new();
    world.broker.on("slow", [Reply::Late(secs(9))]);
    world.save("slow", Some("slow")).await;
    world.store.hold(Call::Extend);
    let mut config = world.config.clone();
    config.renewal = secs(5);
    let relay = world.start_with(config);
    world.store.begun(Call::Extend, 1).await;
    world.save("b", Some("b")).await;
    pass(LONGER).await;
    assert_eq!(world.status().await.pending(), 0);
    assert_eq!(relay.stop().await.published, 2);
}

#[tokio::test(start_paused = true)]
async fn f6_a_start_that_is_never_recorded_keeps_its_lane_for_one_lease() {
    let world = World::new();
    world.save_many("m", 3, Some("k")).await;
    world.broker.hold_all();
    let relay = world.start();
    world.broker.begun(1).await;
    relay.crash().await;
    pass(LONGER).await;
    world.broker.open();
    world.store.never_answer(Call::Starting, 1);
    let relay = world.start();
    world.store.begun(Call::Starting, 1).await;
    pass(secs(60)).await;
    assert_eq!(world.status().await.pending(), 0);
    let report = relay.stop().await;
    assert_eq!((report.published, report.store_errors), (3, 1));
}

#[tokio::test(start_paused = true)]
async fn upkeep_that_is_never_answered_is_asked_again() {
    let world = World::new();
    world.store.hold(Call::Maintain);
    let relay = world.start();
    pass(secs(185)).await;
    assert_eq!(world.store.calls(Call::Maintain), 3);
    world.save("a", None).await;
    world.broker.confirmations(1).await;
    assert_eq!(relay.stop().await.published, 1);
}
