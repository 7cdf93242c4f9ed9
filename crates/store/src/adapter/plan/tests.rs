//! What a settlement asks, on small examples of each rule.

use std::sync::Arc;

use outbox_message::Lane;

use super::*;

fn token(epoch: i64) -> LaneToken {
    LaneToken {
        lane: Lane(1),
        epoch,
        holder: Arc::from("h"),
    }
}

fn settlement(epoch: i64, release: bool, outcomes: Vec<Settlement>) -> LaneSettlement {
    LaneSettlement {
        token: token(epoch),
        outcomes,
        release,
    }
}

fn of(position: i64, key: Option<&str>, outcome: Outcome) -> Settlement {
    Settlement {
        target: Target {
            position: Position(position),
            tries: 0,
            id: Some("id".parse().unwrap()),
            key: key.map(|key| OrderingKey {
                topic: "t".parse().unwrap(),
                key: key.parse().unwrap(),
            }),
        },
        outcome,
    }
}

fn retry(after: Option<Duration>) -> Outcome {
    Outcome::Retry {
        after,
        counted: true,
        error: "refused".into(),
    }
}

#[test]
fn a_token_given_twice_is_one_fence_and_an_older_one_is_none() {
    let lanes = [
        settlement(4, true, vec![]),
        settlement(5, false, vec![]),
        settlement(5, true, vec![]),
    ];
    let fences = fences(&lanes);
    assert_eq!(fences.len(), 1);
    assert_eq!((fences[0].token.epoch, fences[0].release), (5, true));
}

#[test]
fn s8_of_several_retries_of_a_key_the_smallest_position_counts() {
    let lanes = [settlement(
        1,
        true,
        vec![
            of(3, Some("a"), retry(None)),
            of(2, Some("a"), retry(None)),
            of(4, Some("b"), retry(None)),
            of(5, None, retry(None)),
            of(6, None, retry(None)),
        ],
    )];
    let plan = plan(&lanes, &[true]);
    let failed: Vec<i64> = plan.failed.iter().map(|f| f.position).collect();
    assert_eq!(failed, [2, 4, 5, 6]);
    assert_eq!(plan.released, [(1, 3)]);
    let marks: Vec<_> = plan
        .marks
        .iter()
        .map(|m| (m.lane, m.position, m.holder))
        .collect();
    assert_eq!(marks, [(1, 3, "h")]);
}

#[test]
fn d2_of_a_lost_lane_only_confirmations_count() {
    let lanes = [settlement(
        1,
        true,
        vec![
            of(1, None, Outcome::Published),
            of(2, None, retry(None)),
            of(3, None, Outcome::Release),
        ],
    )];
    let plan = plan(&lanes, &[false]);
    assert_eq!(confirmed(&lanes).len(), 1);
    assert_eq!((plan.failed, plan.released), (vec![], vec![]));
    assert_eq!(plan.marks.len(), 3);
}

#[test]
fn f2_delays_are_clamped_to_a_year_and_zero_stays() {
    let next = |after| after_delay(after);
    assert_eq!(next(None), Next::Stay);
    assert_eq!(next(Some(Duration::ZERO)), Next::Stay);
    assert_eq!(next(Some(Duration::from_nanos(1))), Next::Wait(1));
    assert_eq!(next(Some(Duration::MAX)), Next::Wait(millis(MAX_DELAY)));
}

#[test]
fn f7_a_row_that_cannot_be_read_dies_without_a_counted_failure() {
    let dead = |reason| Outcome::Dead {
        reason,
        error: "e".into(),
        after: AfterDeath::Skip,
        notice: None,
    };
    let lanes = [settlement(
        1,
        true,
        vec![
            of(1, None, dead(DeathReason::Unreadable)),
            of(2, None, dead(DeathReason::Exhausted)),
        ],
    )];
    let counted: Vec<bool> = plan(&lanes, &[true])
        .failed
        .iter()
        .map(|failed| failed.counted)
        .collect();
    assert_eq!(counted, [false, true]);
}
#[test]
fn s16_a_notice_goes_with_its_death_unless_no_table_takes_it() {
    let dead = |payload: usize| Outcome::Dead {
        reason: DeathReason::Permanent,
        error: "e".into(),
        after: AfterDeath::Hold,
        notice: Some(Box::new(Message::new("t.dlq", vec![0; payload]).unwrap())),
    };
    let lanes = [settlement(
        1,
        true,
        vec![
            of(1, Some("a"), dead(MAX_PAYLOAD_BYTES)),
            of(2, None, dead(MAX_PAYLOAD_BYTES + 1)),
        ],
    )];
    let held = plan(&lanes, &[true]);
    let noticed: Vec<bool> = held.failed.iter().map(|it| it.notice.is_some()).collect();
    assert_eq!(noticed, [true, false]);
    assert_eq!(plan(&lanes, &[false]).failed, vec![]);
}
