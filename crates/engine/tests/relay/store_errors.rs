//! A store that fails: F7, case 17, case 41 (a lane that fails), lost answers (case 35).

use std::time::Duration;

use outbox_engine::RelayError;
use outbox_message::Lane;
use outbox_store::OutboxStore;
use outbox_testkit::{Call, Reply};

use crate::{
    order::lane_of,
    world::{World, pass, secs},
};

#[tokio::test(start_paused = true)]
async fn f7_case_17_a_failed_settlement_is_an_error_and_a_count_and_never_a_success() {
    let world = World::new();
    world.save_many("m", 3, Some("k")).await;
    world.store.fail(Call::Settle, usize::MAX);
    let ended = world.relay().flush().await;
    let Err(RelayError::Unrecorded { report, .. }) = ended else {
        panic!("the outcome of three messages was not recorded: {ended:?}");
    };
    assert_eq!((report.published, report.left), (0, 3));
    assert!(
        report.store_errors >= 3,
        "{} store errors",
        report.store_errors
    );
}

#[tokio::test(start_paused = true)]
async fn f7_a_settlement_that_fails_for_a_while_is_tried_again_and_publishes_nothing_twice() {
    let world = World::new();
    world.save_many("m", 50, Some("k")).await;
    world.store.fail(Call::Settle, 4);
    let report = world.drain().await;
    assert!(report.store_errors >= 4);
    let relay = world.start();
    pass(secs(10)).await;
    relay.stop().await;
    assert_eq!(world.broker.handed().len(), 50);
    assert_eq!(world.status().await.pending(), 0);
}

#[tokio::test(start_paused = true)]
async fn f7_a_row_that_cannot_be_settled_hinders_no_other_row_of_its_lane() {
    let world = World::new();
    let lanes = world.store.lanes();
    let lane = lane_of("k", lanes);
    let bad = world.save("bad", Some("k")).await;
    let neighbors = (0..)
        .map(|index| format!("n-{index}"))
        .filter(|key| lane_of(key, lanes) == lane);
    for key in neighbors.take(10) {
        world.save(&key, Some(&key)).await;
    }
    world.store.fail_position(bad);
    let ended = world.relay().flush().await;
    let Err(RelayError::Unrecorded { report, .. }) = ended else {
        panic!("the bad row cannot be recorded: {ended:?}");
    };
    assert_eq!((report.published, report.left), (10, 1));
}

#[tokio::test(start_paused = true)]
async fn f7_case_41_a_lane_that_cannot_be_claimed_is_left_out_and_the_others_go_on() {
    let world = World::new();
    let lanes = world.store.lanes();
    let mut in_lane = 0;
    let bad = lane_of("k-0", lanes);
    for index in 0..500 {
        let key = format!("k-{index}");
        in_lane += u64::from(lane_of(&key, lanes) == bad);
        world.save(&key, Some(&key)).await;
    }
    world.store.fail_lane(Call::Claim, bad);
    let relay = world.start();
    world
        .broker
        .confirmations(500 - usize::try_from(in_lane).expect("small"))
        .await;
    pass(secs(1)).await;
    assert_eq!(world.status().await.pending(), in_lane);
    world.store.heal();
    world.broker.confirmations(500).await;
    let report = relay.stop().await;
    assert_eq!(report.published, 500);
    assert!(report.store_errors > 0);
}

#[tokio::test(start_paused = true)]
async fn d2_case_35_a_settlement_whose_answer_was_lost_counts_a_failure_once() {
    let world = World::new();
    world.save("a", None).await;
    world.broker.on(
        "a",
        [Reply::Fail(outbox_publisher::PublishErrorKind::Rejected)],
    );
    world.store.lose_answer(Call::Settle, 1);
    let report = world.flush().await;
    assert_eq!(
        (report.retried, report.lost, report.store_errors),
        (0, 1, 1)
    );
    let relay = world.start();
    world.broker.confirmations(1).await;
    relay.stop().await;
    assert_eq!(world.broker.handed()[1].attempts, 1);
}

#[tokio::test(start_paused = true)]
async fn a_database_that_is_away_is_asked_again_for_ever() {
    let world = World::new();
    world.save_many("m", 10, None).await;
    world.store.fail(Call::Claim, usize::MAX);
    let relay = world.start();
    pass(secs(3_600)).await;
    world.store.heal();
    world.broker.confirmations(10).await;
    let report = relay.stop().await;
    assert_eq!(report.published, 10);
    assert!(report.store_errors > 1_000);
}

#[tokio::test(start_paused = true)]
async fn a_round_gives_up_when_the_store_keeps_failing() {
    let world = World::new();
    world.store.fail(Call::Claim, usize::MAX);
    assert!(matches!(
        world.relay().flush().await,
        Err(RelayError::Store(_))
    ));
    assert!(matches!(
        world.relay().drain().await,
        Err(RelayError::Store(_))
    ));
}

#[tokio::test(start_paused = true)]
async fn f7_case_41_the_lanes_behind_one_that_cannot_be_claimed_are_served() {
    for bad in [&[0][..], &[20], &[5, 6], &[0, 1, 63]] {
        let bad: Vec<Lane> = bad.iter().copied().map(Lane).collect();
        let world = World::new();
        let lanes = world.store.lanes();
        let mut in_lane = 0;
        for index in 0..500 {
            let key = format!("k-{index}");
            in_lane += u64::from(bad.contains(&lane_of(&key, lanes)));
            world.save(&key, Some(&key)).await;
        }
        for lane in &bad {
            world.store.fail_lane(Call::Claim, *lane);
        }
        world.drain().await;
        assert_eq!(
            world.status().await.pending(),
            in_lane,
            "lanes {bad:?} failed"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn f7_a_lane_that_cannot_be_settled_costs_no_other_lane_its_lease() {
    let mut world = World::new();
    world.config.batch = 200;
    let lanes = world.store.lanes();
    let slow = lane_of("slow", lanes);
    let mut others = (0..1_000).map(|index| format!("bad-{index}"));
    let other = others
        .find(|key| lane_of(key, lanes) != slow)
        .expect("some key has another lane");
    let bad = world.save(&other, Some(&other)).await;
    for index in 0..100 {
        let id = format!("slow-{index}");
        world
            .broker
            .on(&id, [Reply::Late(Duration::from_millis(500))]);
        world.save(&id, Some("slow")).await;
    }
    world.store.fail_position(bad);
    let relay = world.start();
    pass(secs(120)).await;
    let handed = world.broker.handed();
    relay.crash().await;
    let renewals = world.store.calls(Call::Extend);
    assert!(renewals >= 4, "{renewals} renewals");
    let mut slow = handed
        .iter()
        .filter(|handed| handed.id.as_str().starts_with("slow"));
    assert!(slow.all(|handed| !handed.abandoned));
}

#[tokio::test(start_paused = true)]
async fn f7_a_round_whose_claim_failed_once_is_still_a_round() {
    let world = World::new();
    let lanes = world.store.lanes();
    let mut keys = (0..1_000).map(|index| format!("k-{index}"));
    let key = keys
        .find(|key| lane_of(key, lanes) != Lane(0))
        .expect("some key has another lane");
    world.save("a", Some(&key)).await;
    world.store.fail(Call::Claim, 1);
    let report = world.flush().await;
    assert_eq!((report.published, report.store_errors), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn f7_a_renewal_that_keeps_failing_stops_no_settlement() {
    let world = World::new();
    for index in 0..60 {
        let id = format!("slow-{index}");
        world
            .broker
            .on(&id, [Reply::Late(Duration::from_millis(500))]);
        world.save(&id, Some("slow")).await;
    }
    world.store.fail(Call::Extend, usize::MAX);
    let relay = world.start();
    pass(Duration::from_millis(10_500)).await;
    world.save_many("m", 50, None).await;
    pass(secs(8)).await;
    let confirmed = u64::try_from(world.broker.confirmed().len()).expect("it is small");
    let pending = world.status().await.pending();
    relay.crash().await;
    assert!(
        confirmed + pending <= 126,
        "{confirmed} confirmed, {pending} still pending of 110"
    );
}

#[tokio::test(start_paused = true)]
async fn f7_a_drain_ends_though_its_pass_lane_by_lane_takes_longer_than_a_lane_is_left_out() {
    let world = World::new();
    world.save("a", Some("k")).await;
    world.slow_claims(Duration::from_millis(100));
    world.store.fail_lane(Call::Claim, Lane(0));
    assert_eq!(world.drain().await.published, 1);
    assert!(world.store.calls(Call::Claim) < 80);
}
