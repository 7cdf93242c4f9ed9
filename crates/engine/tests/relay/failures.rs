//! Counted, transient and permanent failures, and rows that cannot be read: F1 to F8, cases 16, 18 (one message), 19, 20, 21.

use outbox_backoff::Backoff;
use outbox_engine::RelayConfig;
use outbox_publisher::PublishErrorKind::{Closed, Rejected, Throttled, TooLarge, Unavailable};
use outbox_store::AfterDeath;
use outbox_testkit::Reply;
use std::time::Duration;

use crate::world::{World, pass, secs};

#[tokio::test(start_paused = true)]
async fn f1_the_attempts_limit_ends_in_death_and_the_key_goes_on() {
    let world = World::new();
    world.save("a", Some("k")).await;
    world.save("b", Some("k")).await;
    world.broker.on("a", [Reply::Fail(Rejected); 6]);
    let relay = world.start();
    world.broker.confirmations(1).await;
    let report = relay.stop().await;
    assert_eq!((report.retried, report.dead, report.published), (5, 1, 1));
    assert_eq!(world.broker.confirmed(), ["b"]);
    let dead = world.dead().await;
    assert_eq!(
        (
            dead[0].id.as_str(),
            dead[0].reason.as_str(),
            dead[0].attempts
        ),
        ("a", "exhausted", 6)
    );
}

#[tokio::test(start_paused = true)]
async fn f2_with_base_zero_the_budget_is_spent_in_six_rounds_and_a_drain_ends() {
    let mut world = World::new();
    world.config.backoff =
        Backoff::exponential(Duration::ZERO, Duration::ZERO).expect("zero is allowed");
    world.save("a", Some("k")).await;
    world.save("b", Some("k")).await;
    world.broker.on("a", [Reply::Fail(Rejected); 6]);
    let report = world.drain().await;
    assert_eq!((report.retried, report.dead, report.published), (5, 1, 1));
    assert_eq!(world.broker.times("a"), 6);
}

#[tokio::test(start_paused = true)]
async fn f4_an_explicit_time_is_obeyed() {
    let world = World::new();
    world.save("a", None).await;
    world.broker.on("a", [Reply::FailFor(Rejected, secs(300))]);
    world.drain().await;
    pass(secs(299)).await;
    assert_eq!(world.drain().await.published, 0);
    pass(secs(2)).await;
    assert_eq!(world.drain().await.published, 1);
}

#[tokio::test(start_paused = true)]
async fn f5_a_permanent_failure_is_dead_at_once_and_its_death_is_recorded_before_the_next_goes() {
    let world = World::new();
    for id in ["a", "b", "c"] {
        world.save(id, Some("k")).await;
    }
    world.broker.on("a", [Reply::Fail(TooLarge)]);
    let report = world.flush().await;
    assert_eq!((report.dead, report.published), (1, 2));
    assert_eq!(world.broker.confirmed(), ["b", "c"]);
    // The death was settled alone, before the others were handed over.
    let settlements = world.store.settlements();
    assert_eq!(settlements[0][0].outcomes.len(), 1);
    assert!(!settlements[0][0].release);
}

#[tokio::test(start_paused = true)]
async fn o9_case_7_under_hold_the_key_stays_blocked_until_an_operator_acts() {
    let mut world = World::new();
    world.config.after_death = AfterDeath::Hold;
    for id in ["a", "b", "c"] {
        world.save(id, Some("k")).await;
    }
    world.broker.on("a", [Reply::Fail(TooLarge)]);
    let report = world.drain().await;
    assert_eq!((report.dead, report.released, report.published), (1, 2, 0));
    pass(secs(100_000)).await;
    assert_eq!(world.drain().await.published, 0);
    let status = world.status().await;
    assert_eq!((status.blocked, status.held), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn f1_case_16_a_message_that_makes_the_publisher_panic_fails_alone() {
    let world = World::new();
    world.save_many("m", 20, None).await;
    world.broker.on("m-7", [Reply::Panic; 6]);
    let report = world.drain().await;
    assert_eq!((report.published, report.retried), (19, 1));
    let relay = world.start();
    pass(secs(400)).await;
    assert_eq!(relay.stop().await.dead, 1);
    let dead = &world.dead().await[0];
    assert_eq!(
        dead.error,
        "publishing panicked: scripted panic while publishing m-7"
    );
}

#[tokio::test(start_paused = true)]
async fn f1_a_panic_in_a_long_run_spends_no_attempt_of_an_innocent_message() {
    let world = World::new();
    world.save_many("m", 5, Some("k")).await;
    world.broker.on("m-2", [Reply::Panic; 3]);
    let relay = world.start();
    world.broker.confirmations(7).await;
    relay.stop().await;
    for handed in world.broker.handed() {
        assert!(
            handed.id.as_str() == "m-2" || handed.attempts == 0,
            "{handed:?}"
        );
    }
    assert_eq!(world.dead().await, []);
}

#[tokio::test(start_paused = true)]
async fn f1_a_hanging_message_counts_while_its_destination_confirms_others() {
    let world = World::new();
    world.save("hangs", None).await;
    world.broker.on("hangs", [Reply::Hang; 2]);
    let relay = world.start();
    world.broker.begun(1).await;
    pass(Duration::from_millis(1)).await;
    world.save("other", None).await;
    world.broker.confirmations(1).await;
    pass(secs(11)).await;
    let status = world.status().await;
    assert_eq!((status.scheduled, status.circuits.len()), (1, 0));
    relay.stop().await;
    pass(secs(20)).await;
    world.broker.on("hangs", [Reply::Confirm]);
    let relay = world.start();
    world.broker.begun(3).await;
    assert_eq!(world.broker.handed()[2].attempts, 1);
    relay.crash().await;
}

#[tokio::test(start_paused = true)]
async fn f3_a_hanging_message_of_a_silent_destination_opens_the_circuit_uncounted() {
    let world = World::new();
    world.save("hangs", None).await;
    world.broker.on("hangs", [Reply::Hang]);
    let relay = world.start();
    world.broker.begun(1).await;
    pass(secs(10) + Duration::from_millis(100)).await;
    assert_eq!(world.status().await.circuits.len(), 1);
    world.broker.confirmations(1).await;
    let report = relay.stop().await;
    assert_eq!((report.retried, report.published), (1, 1));
    assert_eq!(world.broker.handed()[1].attempts, 0);
}

#[tokio::test(start_paused = true)]
async fn f3_a_transient_failure_lets_a_drain_end_and_costs_no_attempt() {
    let world = World::new();
    world.save_many("m", 10, None).await;
    world.broker.down("broker", Unavailable);
    let report = world.drain().await;
    assert_eq!((report.published, report.dead), (0, 0));
    world.broker.up("broker");
    pass(secs(2)).await;
    assert_eq!(world.drain().await.published, 10);
    assert!(
        world
            .broker
            .handed()
            .iter()
            .all(|handed| handed.attempts == 0)
    );
}

#[tokio::test(start_paused = true)]
async fn f7_case_20_one_unreadable_row_fails_alone_with_its_bytes_kept() {
    let world = World::new();
    let mut bad = None;
    for index in 0..100 {
        let position = world
            .save(&format!("m-{index}"), Some(&format!("k-{index}")))
            .await;
        bad = if index == 37 { Some(position) } else { bad };
    }
    world.corrupt(bad.expect("37 was saved"));
    let report = world.drain().await;
    assert_eq!((report.published, report.dead), (99, 1));
    let dead = world.dead().await;
    assert_eq!(
        (dead[0].reason.as_str(), dead[0].payload_len),
        ("unreadable", 4)
    );
}

#[tokio::test(start_paused = true)]
async fn f2_case_19_twelve_relays_try_a_failing_message_at_the_pace_of_its_backoff() {
    let mut world = World::new();
    world.config.backoff = Backoff::fixed(secs(60));
    world.config.max_attempts = 1_000;
    world.save("a", Some("k")).await;
    world.broker.all(Reply::Fail(Rejected));
    let relays: Vec<_> = (0..12)
        .map(|index| {
            world.start_with(RelayConfig {
                name: format!("relay-{index}").into(),
                ..world.config.clone()
            })
        })
        .collect();
    pass(secs(600)).await;
    let times = world.broker.times("a");
    assert!((9..=11).contains(&times), "{times} tries in ten minutes");
    for relay in relays {
        relay.crash().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_throttled_destination_is_left_alone_for_as_long_as_it_says() {
    let world = World::new();
    world.save("a", None).await;
    world.save("b", None).await;
    world.broker.on("a", [Reply::FailFor(Throttled, secs(30))]);
    world.broker.on("b", [Reply::FailFor(Throttled, secs(30))]);
    let relay = world.start();
    pass(secs(29)).await;
    assert_eq!(world.broker.handed().len(), 2);
    world.broker.confirmations(2).await;
    relay.stop().await;
    assert_eq!(world.broker.handed().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_publisher_that_closed_ends_the_relay_with_its_message_given_back() {
    let world = World::new();
    world.save("a", Some("k")).await;
    world.broker.on("a", [Reply::Fail(Closed)]);
    let ended = world.start().ended().await;
    assert!(
        matches!(ended, Err(outbox_engine::RelayError::Closed(_))),
        "{ended:?}"
    );
    assert_eq!(world.status().await.lanes, []);
    assert_eq!(world.drain().await.published, 1);
}
