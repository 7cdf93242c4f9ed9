//! How messages wait on brokers. The vectors were generated as those of `reference.rs`.

use std::time::Duration;

use outbox_envelope::projection::{
    kafka::retry::{NoTier, Tiers, due_at},
    redis::laravel,
    sqs::{self, Kind, Undelayable},
};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Due {
    record_ms: Option<i64>,
    tier_ms: u64,
    now_ms: i64,
    target: i64,
}

#[test]
fn every_parked_record_is_due_when_the_reference_says() {
    let cases: Vec<Due> = serde_json::from_str(include_str!("vectors/kafka_target_time.json"))
        .expect("the vectors have the shape of the struct");
    assert_eq!(cases.len(), 4, "no entry may get lost");
    for case in cases {
        let tier = Duration::from_millis(case.tier_ms);
        assert_eq!(due_at(case.record_ms, tier, case.now_ms), case.target);
    }
    let tier = Duration::from_secs(5);
    assert_eq!(due_at(Some(i64::MAX), tier, 7), 5007);
    assert_eq!(due_at(Some(i64::MIN), tier, 7), 7);
    assert_eq!(due_at(None, Duration::MAX, 7), i64::MAX);
}

#[test]
fn tiers_are_whole_milliseconds_and_ascend() {
    let millis = Duration::from_millis;
    assert_eq!(
        Tiers::new([millis(1), millis(5)]).unwrap().as_slice(),
        [millis(1), millis(5)]
    );
    for tiers in [
        vec![Duration::ZERO],
        vec![millis(5), millis(5)],
        vec![millis(5), millis(1)],
        vec![Duration::from_micros(1500)],
    ] {
        let tier = *tiers.last().unwrap();
        assert_eq!(Tiers::new(tiers), Err(NoTier::NotAscending { tier }));
    }
}

#[test]
fn a_record_is_parked_in_a_tier_or_nowhere() {
    let tiers = Tiers::default();
    let parked = tiers.retried("orders", i64::MAX).unwrap();
    assert_eq!(parked.topic, "orders.retry.4");
    assert_eq!(tiers.retried("orders", -7).unwrap().topic, "orders.retry.1");
    assert_eq!(
        tiers.delayed("orders", Duration::ZERO).unwrap().topic,
        "orders.retry.1"
    );

    let refused = tiers
        .delayed("orders", Duration::from_hours(1))
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        "a delay of 3600s is longer than the longest tier, 1800s; add a tier"
    );
    let none = Tiers::new([]).unwrap();
    assert_eq!(none.retried("orders", 0), Err(NoTier::None));
    assert_eq!(none.delayed("orders", Duration::ZERO), Err(NoTier::None));
}

#[test]
fn a_delay_on_sqs_is_rounded_up_and_never_cut_short() {
    let millis = Duration::from_millis;
    assert_eq!(sqs::delay(Kind::Standard, millis(1)), Ok(1));
    assert_eq!(sqs::delay(Kind::Standard, millis(899_001)), Ok(900));
    let long = millis(900_001);
    assert_eq!(
        sqs::delay(Kind::Standard, long),
        Err(Undelayable::TooLong(long))
    );
    assert_eq!(sqs::delay(Kind::Fifo, Duration::ZERO), Ok(0));
    assert_eq!(sqs::delay(Kind::Fifo, millis(1)), Err(Undelayable::Fifo));
    assert_eq!(sqs::visibility(millis(1500)), 2);
    assert_eq!(sqs::visibility(Duration::MAX), 43_200);
}

#[test]
fn a_score_never_comes_before_its_time() {
    let millis = Duration::from_millis;
    assert_eq!(laravel::due_at(millis(1_000_700), millis(1500)), 1002);
    assert_eq!(laravel::due_at(Duration::MAX, Duration::MAX), u64::MAX);
    assert_eq!(
        laravel::keys(laravel::PREFIX, "orders").ready,
        "queues:orders"
    );
}
