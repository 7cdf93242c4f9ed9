//! What settlements, stale tokens and operators leave behind.

use super::*;

#[test]
fn o9_skip_lets_the_key_go_on_and_a_redrive_goes_to_the_tail() {
    let mut model = saved(&[Some("a"), Some("a")]);
    let lease = claim(&mut model, lane("a"), &[1]).unwrap();
    settle(&mut model, lease, &[(1, Outcome::Dead(AfterDeath::Skip))]);
    assert_eq!(standing(&model, 1), (State::Dead, 1, 1));
    model.redrive(1).unwrap();
    let not_possible = Fault::Unknown { position: 1 };
    assert_eq!(
        model.redrive(1),
        Err(not_possible),
        "its position is not known yet"
    );
    save(&mut model, 4, Some("a"));
    let told = |position| Given {
        position,
        id: 1,
        attempts: 0,
        tries: 0,
    };
    let two = Given {
        position: 2,
        id: 2,
        attempts: 0,
        tries: 0,
    };
    for (first, second, fault) in [
        (told(1), two, Fault::NotAtTail { position: 1 }),
        (two, told(5), Fault::NotAtTail { position: 5 }),
        (
            told(3),
            two,
            Fault::Overtakes {
                position: 3,
                first: Some(2),
            },
        ),
    ] {
        let given = vec![first, second];
        let report = Report {
            lanes: vec![Handed {
                lane: lane("a"),
                given,
            }],
            moved: 0,
        };
        assert_eq!(model.claimed(&request(), &report), Err(fault));
    }
    let given = vec![two, told(3)];
    let report = Report {
        lanes: vec![Handed {
            lane: lane("a"),
            given,
        }],
        moved: 0,
    };
    let lease = model.claimed(&request(), &report).unwrap()[0];
    settle(
        &mut model,
        lease,
        &[(3, Outcome::Published), (2, Outcome::Published)],
    );
    assert!(claim(&mut model, lane("a"), &[4]).is_ok());
}

#[test]
fn o9_a_redriven_message_whose_position_is_unknown_is_not_overtaken() {
    let mut model = saved(&[Some("a")]);
    let lease = claim(&mut model, lane("a"), &[1]).unwrap();
    settle(&mut model, lease, &[(1, Outcome::Dead(AfterDeath::Skip))]);
    model.redrive(1).unwrap();
    save(&mut model, 3, Some("a"));
    let overtakes = claim(&mut model, lane("a"), &[3]);
    assert_eq!(
        overtakes,
        Err(Fault::Overtakes {
            position: 3,
            first: None
        })
    );
}

#[test]
fn o9_hold_blocks_the_key_until_an_operator_acts_also_when_nothing_waits() {
    for redrive in [true, false] {
        let mut model = saved(&[Some("a")]);
        let lease = claim(&mut model, lane("a"), &[1]).unwrap();
        settle(&mut model, lease, &[(1, Outcome::Dead(AfterDeath::Hold))]);
        save(&mut model, 2, Some("a"));
        model.advance(1_000_000);
        assert!(!model.must_progress());
        assert!(!model.retry_now(&"a"));
        let held = claim(&mut model, lane("a"), &[2]);
        assert_eq!(
            held,
            Err(Fault::KeyHeld {
                position: 2,
                dead: 1
            })
        );
        if redrive {
            model.redrive(1).unwrap();
            assert_eq!(standing(&model, 1), (State::Ready, 0, 0));
            let overtakes = claim(&mut model, lane("a"), &[2]);
            assert_eq!(
                overtakes,
                Err(Fault::Overtakes {
                    position: 2,
                    first: Some(1)
                })
            );
            assert!(claim(&mut model, lane("a"), &[1, 2]).is_ok());
        } else {
            model.discard(1).unwrap();
            assert_eq!(standing(&model, 1).0, State::Gone);
            assert!(claim(&mut model, lane("a"), &[2]).is_ok());
        }
    }
}

#[test]
fn o9_the_end_of_another_dead_letter_leaves_a_held_key_held() {
    let mut model = saved(&[Some("a"), Some("a"), Some("a")]);
    let lease = claim(&mut model, lane("a"), &[1, 2]).unwrap();
    let deaths = [
        (1, Outcome::Dead(AfterDeath::Skip)),
        (2, Outcome::Dead(AfterDeath::Hold)),
    ];
    settle(&mut model, lease, &deaths);
    model.discard(1).unwrap();
    let held = claim(&mut model, lane("a"), &[3]);
    assert_eq!(
        held,
        Err(Fault::KeyHeld {
            position: 3,
            dead: 2
        })
    );
}

#[test]
fn d2_a_stale_token_changes_nothing_but_removes_what_was_confirmed() {
    let mut model = saved(&[Some("a"), Some("a")]);
    let old = claim(&mut model, lane("a"), &[1, 2]).unwrap();
    model.advance(LEASE);
    let new = claim(&mut model, lane("a"), &[1, 2]).unwrap();
    let outcomes = [(1, Outcome::Published), (2, retry(1_000))];
    assert_eq!(
        model.settle(old, &outcomes, true, false),
        Err(Fault::Fence { lost: false })
    );
    model.settle(old, &outcomes, true, true).unwrap();
    assert_eq!(standing(&model, 1).0, State::Published);
    assert_eq!(standing(&model, 2), (State::Held, 0, 0));
    assert_eq!(
        model.extend(old, LEASE, false),
        Err(Fault::Fence { lost: false })
    );
    assert_eq!(
        model.extend(new, LEASE, true),
        Err(Fault::Fence { lost: true })
    );
    settle(
        &mut model,
        new,
        &[(1, retry(1_000)), (2, Outcome::Published)],
    );
    assert_eq!(standing(&model, 1).0, State::Published);
    assert_eq!(standing(&model, 2).0, State::Published);
}

#[test]
fn d2_a_lease_that_ended_but_was_not_taken_over_may_be_answered_either_way() {
    for lost in [false, true] {
        let mut model = saved(&[Some("a")]);
        let lease = claim(&mut model, lane("a"), &[1]).unwrap();
        model.advance(LEASE);
        assert_eq!(model.extend(lease, LEASE, lost), Ok(()));
        let again = claim(&mut model, lane("a"), &[1]);
        assert_eq!(
            again.is_ok(),
            lost,
            "a renewal that was taken leases the lane again"
        );
    }
}

#[test]
fn d2_a_settlement_sent_twice_counts_once() {
    let mut model = saved(&[Some("a"), Some("a")]);
    let lease = claim(&mut model, lane("a"), &[1, 2]).unwrap();
    for _ in 0..2 {
        model.settle(lease, &[(1, retry(0))], false, false).unwrap();
    }
    assert_eq!(standing(&model, 1), (State::Ready, 1, 1));
    assert_eq!(
        claim(&mut model, lane("a"), &[1]),
        Err(Fault::LaneHeld { lane: lane("a") })
    );
    settle(&mut model, lease, &[(2, Outcome::Release)]);
    let late = model.settle(lease, &[(2, retry(0))], true, false);
    assert_eq!(
        late,
        Err(Fault::Fence { lost: false }),
        "a release changes the token"
    );
}

#[test]
fn f3_a_retry_that_does_not_count_is_a_try_and_no_attempt() {
    let mut model = saved(&[Some("a")]);
    let lease = claim(&mut model, lane("a"), &[1]).unwrap();
    settle(
        &mut model,
        lease,
        &[(
            1,
            Outcome::Retry {
                after: None,
                counted: false,
            },
        )],
    );
    assert_eq!(standing(&model, 1), (State::Ready, 0, 1));
    let given = vec![Given {
        position: 1,
        id: 1,
        attempts: 1,
        tries: 1,
    }];
    let report = Report {
        lanes: vec![Handed {
            lane: lane("a"),
            given,
        }],
        moved: 0,
    };
    let miscounted = Fault::Miscounted {
        position: 1,
        attempts: 0,
        tries: 1,
    };
    assert_eq!(model.claimed(&request(), &report), Err(miscounted));
}

#[test]
fn f8_of_several_retries_of_one_key_the_smallest_position_counts() {
    let mut model = saved(&[Some("a1"), Some("a1"), Some("a2")]);
    let lease = claim(&mut model, lane("a"), &[1, 2, 3]).unwrap();
    settle(
        &mut model,
        lease,
        &[(2, retry(9_000)), (1, retry(1_000)), (3, retry(0))],
    );
    assert_eq!(standing(&model, 1), (State::Waiting, 1, 1));
    assert_eq!(standing(&model, 2), (State::Ready, 0, 0));
    assert_eq!(standing(&model, 3), (State::Ready, 1, 1));
    assert_eq!(
        model.block(&"a1").map(|block| block.until),
        Some(Some(1_000))
    );
    assert!(model.retry_now(&"a1"));
    assert_eq!(model.block(&"a1"), None);
}
