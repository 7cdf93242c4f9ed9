//! Order and flow: cases 2, 3, 4, 8, 9, 10, 11, 45 as far as they are the relay's.

use std::time::Duration;

use outbox_publisher::PublishErrorKind::{Interrupted, Rejected};
use outbox_store::OutboxStore;
use outbox_testkit::{Call, Reply};

use crate::world::{World, pass, secs};

#[tokio::test(start_paused = true)]
async fn o4_a_whole_backlog_of_one_key_is_published_in_order_batch_by_batch() {
    let world = World::new();
    world.save_many("m", 500, Some("k")).await;
    let report = world.drain().await;
    assert_eq!(report.published, 500);
    let expected: Vec<_> = (0..500).map(|index| format!("m-{index}")).collect();
    assert_eq!(world.broker.confirmed(), expected);
    // Case 9: five claims of a hundred, and one that finds nothing.
    assert!(
        world.store.calls(Call::Claim) <= 12,
        "{} claims",
        world.store.calls(Call::Claim)
    );
}

#[tokio::test(start_paused = true)]
async fn o3_case_4_of_one_key_at_most_one_message_is_in_flight() {
    let world = World::new();
    world.save_many("m", 10, Some("k")).await;
    world.broker.all(Reply::Late(secs(1)));
    world.drain().await;
    assert_eq!(world.broker.most_in_flight(), 1);
    assert_eq!(world.broker.confirmed().len(), 10);
}

#[tokio::test(start_paused = true)]
async fn case_8_messages_without_a_key_are_published_side_by_side() {
    let world = World::new();
    world.save_many("m", 40, None).await;
    world.broker.hold_all();
    let relay = world.start();
    world.broker.begun(40).await;
    assert_eq!(world.broker.most_in_flight(), 40);
    world.broker.open();
    world.broker.confirmations(40).await;
    assert_eq!(relay.stop().await.published, 40);
}

#[tokio::test(start_paused = true)]
async fn o6_case_3_nothing_of_a_key_goes_out_while_its_head_waits() {
    let world = World::new();
    world.save("a", Some("k")).await;
    world.save("b", Some("k")).await;
    world.broker.on("a", [Reply::Fail(Rejected)]);
    let report = world.drain().await;
    assert_eq!((report.retried, report.released), (1, 1));
    assert_eq!(world.broker.times("b"), 0);
    pass(secs(4)).await;
    world.drain().await;
    assert_eq!(
        world.broker.confirmed(),
        Vec::<String>::new(),
        "the next try is at least 5 s away"
    );
    pass(secs(7)).await;
    world.drain().await;
    assert_eq!(world.broker.confirmed(), ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn o7_case_10_one_failure_in_a_batch_leaves_the_others_alone() {
    let world = World::new();
    for index in 0..100 {
        world
            .save(&format!("m-{index}"), Some(&format!("k-{}", index % 20)))
            .await;
    }
    world.broker.on("m-37", [Reply::Fail(Rejected)]);
    let report = world.drain().await;
    // The key of message 37 is k-17: 37, 57, 77 and 97 wait.
    assert_eq!((report.published, report.retried), (96, 1));
}

#[tokio::test(start_paused = true)]
async fn p3_case_11_messages_behind_a_batch_that_fails_still_go_out() {
    let world = World::new();
    for index in 0..100 {
        world
            .save(&format!("bad-{index}"), Some(&format!("bad-{index}")))
            .await;
        world
            .broker
            .on(&format!("bad-{index}"), [Reply::Fail(Rejected)]);
    }
    world.save_many("good", 30, Some("good")).await;
    let report = world.drain().await;
    assert_eq!((report.retried, report.published), (100, 30));
}

#[tokio::test(start_paused = true)]
async fn o7_case_45_a_neighbor_of_a_busy_key_waits_for_a_few_bounded_runs() {
    let world = World::new();
    let lanes = world.store.lanes();
    world.save_many("hot", 20_000, Some("hot")).await;
    let hot = lane_of("hot", lanes);
    let neighbor = (0..10_000)
        .map(|index| format!("n-{index}"))
        .find(|key| lane_of(key, lanes) == hot);
    world.save("neighbor", neighbor.as_deref()).await;
    world.broker.all(Reply::Late(Duration::from_millis(5)));
    let relay = world.start();
    let mut handed = 0;
    while world.broker.times("neighbor") == 0 {
        handed += 1;
        world.broker.begun(handed).await;
    }
    assert!(
        handed <= 250,
        "{handed} messages of the busy key went before its neighbor"
    );
    relay.crash().await;
}

#[tokio::test(start_paused = true)]
async fn f5_an_error_that_says_nothing_of_the_message_releases_it_and_never_spins() {
    let world = World::new();
    world.save("a", Some("k")).await;
    world.save("b", Some("k")).await;
    world.broker.on("a", [Reply::Fail(Interrupted)]);
    let report = world.drain().await;
    assert_eq!((report.released, report.published), (2, 0));
    assert_eq!(world.broker.times("a"), 1);
    let report = world.drain().await;
    assert_eq!(report.published, 2);
    assert_eq!(world.broker.confirmed(), ["a", "b"]);
    assert!(
        world
            .broker
            .handed()
            .iter()
            .all(|handed| handed.attempts == 0)
    );
}

#[tokio::test(start_paused = true)]
async fn p1_what_is_published_together_is_settled_in_one_call() {
    let world = World::new();
    for index in 0..100 {
        world
            .save(&format!("m-{index}"), Some(&format!("k-{index}")))
            .await;
    }
    let report = world.flush().await;
    assert!(report.published > 8);
    assert_eq!(
        (
            world.store.calls(Call::Claim),
            world.store.calls(Call::Settle)
        ),
        (1, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn p1_one_slow_key_costs_one_settlement_more() {
    let world = World::new();
    let lanes = world.store.lanes();
    let lane = lane_of("slow", lanes);
    world.save("slow", Some("slow")).await;
    let neighbors = (0..)
        .map(|index| format!("n-{index}"))
        .filter(|key| lane_of(key, lanes) == lane);
    for key in neighbors.take(20) {
        world.save(&key, Some(&key)).await;
    }
    world.broker.on("slow", [Reply::Late(secs(8))]);
    let report = world.flush().await;
    assert_eq!(report.published, 21);
    assert_eq!(world.store.calls(Call::Settle), 2);
}

pub(crate) fn lane_of(key: &str, lanes: outbox_message::Lanes) -> outbox_message::Lane {
    let message =
        outbox_message::Message::new("orders", "").and_then(|message| message.with_key(key));
    let key = message
        .expect("a valid message")
        .ordering_key()
        .expect("a key");
    key.lane(lanes)
}
