//! Graceful stop: D4 and case 14; and adaptive polling.

use std::time::Duration;

use outbox_testkit::{Call, Reply};
use tokio::time::Instant;

use crate::world::{World, pass, secs};

#[tokio::test(start_paused = true)]
async fn d4_case_14_a_stop_returns_within_its_grace_and_leaves_no_lease_behind() {
    let mut world = World::new();
    world.config.grace = secs(1);
    world.config.concurrency = 100;
    world.save_many("m", 100, None).await;
    world.broker.all(Reply::Late(secs(2)));
    let relay = world.start();
    world.broker.begun(100).await;
    let stopped_at = Instant::now();
    let report = relay.stop().await;
    assert!(stopped_at.elapsed() <= secs(1));
    assert_eq!(
        (report.published, report.released, report.left),
        (0, 100, 0)
    );
    let status = world.status().await;
    assert_eq!((status.pending(), status.lanes.len()), (100, 0));
}

#[tokio::test(start_paused = true)]
async fn d4_what_is_confirmed_within_the_grace_is_settled_as_published() {
    let world = World::new();
    world.save_many("m", 30, Some("k")).await;
    world.broker.all(Reply::Late(Duration::from_millis(100)));
    let relay = world.start();
    world.broker.confirmations(1).await;
    let report = relay.stop().await;
    assert_eq!(report.published + report.released, 30);
    assert!(report.published >= 16, "the run in flight was finished");
    let status = world.status().await;
    assert_eq!((status.pending(), status.lanes.len()), (report.released, 0));
}

#[tokio::test(start_paused = true)]
async fn d4_a_stop_while_the_store_does_not_answer_reports_what_is_left_to_its_lease() {
    let world = World::new();
    world.save_many("m", 7, Some("k")).await;
    world.store.hold(Call::Settle);
    let relay = world.start();
    world.broker.confirmations(7).await;
    let report = relay.stop().await;
    assert_eq!((report.published, report.left), (0, 7));
}

#[tokio::test(start_paused = true)]
async fn d3_an_idle_relay_polls_ever_more_slowly_and_a_wake_up_is_only_a_hint() {
    let world = World::new();
    let relay = world.start();
    pass(secs(60)).await;
    let claims = world.store.calls(Call::Claim);
    assert!(
        (55..=66).contains(&claims),
        "{claims} claims in an idle minute"
    );
    world.save("a", None).await;
    world.broker.confirmations(1).await;
    relay.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_application_can_wake_its_relay() {
    let mut world = World::new();
    world.config.poll_max = secs(3_600);
    let relay = world.relay();
    let waker = relay.waker();
    let work = tokio::spawn(relay.run(std::future::pending()));
    pass(secs(8_000)).await;
    let claims = world.store.calls(Call::Claim);
    waker.wake();
    world.store.begun(Call::Claim, claims + 1).await;
    work.abort();
}

#[tokio::test(start_paused = true)]
async fn o1_a_message_that_falls_due_is_waited_for_and_not_polled_for() {
    let world = World::new();
    world.broker.on(
        "a",
        [Reply::FailFor(
            outbox_publisher::PublishErrorKind::Rejected,
            Duration::from_millis(1_450),
        )],
    );
    world.save("a", Some("k")).await;
    let relay = world.start();
    world.broker.begun(1).await;
    let failed_at = Instant::now();
    world.broker.begun(2).await;
    let late = failed_at
        .elapsed()
        .saturating_sub(Duration::from_millis(1_450));
    assert!(late <= Duration::from_millis(30), "{late:?} late");
    relay.stop().await;
}
