//! Which claims are allowed.

use super::*;

#[test]
fn c1_nothing_uncommitted_or_rolled_back_may_be_handed_out() {
    let mut model = store();
    let (open, lost) = (model.begin(), model.begin());
    model.save(open, 1, 1, Some("a"), None);
    model.save(lost, 2, 2, Some("a"), None);
    model.rollback(lost);
    assert!(!model.must_progress());
    assert_eq!(
        claim(&mut model, lane("a"), &[1]),
        Err(Fault::Unknown { position: 1 })
    );
    assert_eq!(
        claim(&mut model, lane("a"), &[2]),
        Err(Fault::Unknown { position: 2 })
    );
    model.commit(open);
    assert!(claim(&mut model, lane("a"), &[1]).is_ok());
}

#[test]
fn c3_a_message_keeps_its_id() {
    let mut model = saved(&[Some("a")]);
    let given = vec![Given {
        position: 1,
        id: 7,
        attempts: 0,
        tries: 0,
    }];
    let report = Report {
        lanes: vec![Handed {
            lane: lane("a"),
            given,
        }],
        moved: 0,
    };
    assert_eq!(
        model.claimed(&request(), &report),
        Err(Fault::Unknown { position: 1 })
    );
}

#[test]
fn o2_a_claim_hands_out_a_prefix_of_each_key() {
    let mut model = saved(&[Some("a1"), Some("a2"), Some("a1"), Some("a1")]);
    let skips = claim(&mut model.clone(), lane("a"), &[1, 4]);
    assert_eq!(
        skips,
        Err(Fault::Overtakes {
            position: 4,
            first: Some(3)
        })
    );
    assert!(claim(&mut model, lane("a"), &[1, 3]).is_ok());
}

#[test]
fn o3_a_lane_is_leased_once_until_its_lease_ends() {
    let mut model = saved(&[Some("a1"), Some("a2")]);
    claim(&mut model, lane("a"), &[1]).unwrap();
    assert_eq!(
        claim(&mut model, lane("a"), &[2]),
        Err(Fault::LaneHeld { lane: lane("a") })
    );
    model.advance(LEASE - 1);
    assert_eq!(
        claim(&mut model, lane("a"), &[2]),
        Err(Fault::LaneHeld { lane: lane("a") })
    );
    model.advance(1);
    assert!(claim(&mut model, lane("a"), &[1, 2]).is_ok());
}

#[test]
fn o3_a_key_comes_out_of_its_own_lane() {
    let mut model = saved(&[Some("a")]);
    assert_eq!(
        claim(&mut model, lane("b"), &[1]),
        Err(Fault::WrongLane { position: 1 })
    );
}

#[test]
fn o4_a_lane_comes_in_position_order() {
    let mut model = saved(&[Some("a1"), Some("a2")]);
    let swapped = claim(&mut model.clone(), lane("a"), &[2, 1]);
    assert_eq!(swapped, Err(Fault::OutOfOrder { position: 1 }));
    assert_eq!(
        claim(&mut model, lane("a"), &[1, 1]),
        Err(Fault::OutOfOrder { position: 1 })
    );
}

#[test]
fn o6_a_key_waits_with_its_head() {
    let mut model = saved(&[Some("a"), Some("a")]);
    let lease = claim(&mut model, lane("a"), &[1, 2]).unwrap();
    settle(
        &mut model,
        lease,
        &[(1, retry(1_000)), (2, Outcome::Release)],
    );
    assert_eq!(standing(&model, 1), (State::Waiting, 1, 1));
    assert_eq!(standing(&model, 2), (State::Ready, 0, 0));
    for positions in [&[1][..], &[2], &[1, 2]] {
        let refused = claim(&mut model, lane("a"), positions);
        assert_eq!(
            refused,
            Err(Fault::KeyWaits {
                position: positions[0],
                head: 1
            })
        );
    }
    assert_eq!(empty_claim(&mut model), Ok(vec![]));
    model.advance(1_000);
    assert!(model.must_progress());
    let overtakes = claim(&mut model, lane("a"), &[2]);
    assert_eq!(
        overtakes,
        Err(Fault::Overtakes {
            position: 2,
            first: Some(1)
        })
    );
    assert!(claim(&mut model, lane("a"), &[1, 2]).is_ok());
}

#[test]
fn o6_a_smaller_position_that_arrives_meanwhile_goes_first_at_the_keys_next_due_time() {
    let mut model = store();
    let slow = model.begin();
    model.save(slow, 1, 1, Some("a"), None);
    save(&mut model, 2, Some("a"));
    let lease = claim(&mut model, lane("a"), &[2]).unwrap();
    settle(&mut model, lease, &[(2, retry(1_000))]);
    model.commit(slow);
    let early = claim(&mut model, lane("a"), &[1]);
    assert_eq!(
        early,
        Err(Fault::KeyWaits {
            position: 1,
            head: 2
        })
    );
    model.advance(1_000);
    let overtakes = claim(&mut model, lane("a"), &[2]);
    assert_eq!(
        overtakes,
        Err(Fault::Overtakes {
            position: 2,
            first: Some(1)
        })
    );
    assert!(claim(&mut model, lane("a"), &[1, 2]).is_ok());
}

#[test]
fn o7_an_empty_claim_is_a_fault_while_something_is_due_and_nothing_is_leased() {
    let mut model = saved(&[Some("a"), Some("b")]);
    assert!(matches!(
        empty_claim(&mut model),
        Err(Fault::Stalled { .. })
    ));
    let moved = Report {
        lanes: vec![],
        moved: 1,
    };
    assert_eq!(model.claimed(&request(), &moved), Ok(vec![]));
    let elsewhere = Request {
        lanes: Some([lane("c")].into()),
        ..request()
    };
    assert_eq!(
        model.claimed(
            &elsewhere,
            &Report {
                lanes: vec![],
                moved: 0
            }
        ),
        Ok(vec![])
    );
    claim(&mut model, lane("a"), &[1]).unwrap();
    assert_eq!(empty_claim(&mut model), Ok(vec![]));
}

#[test]
fn o7_an_unkeyed_retry_waits_alone() {
    let mut model = saved(&[None, None]);
    let lease = claim(&mut model, 0, &[1]).unwrap();
    settle(&mut model, lease, &[(1, retry(1_000))]);
    assert_eq!(standing(&model, 1), (State::Scheduled, 1, 1));
    assert_eq!(
        claim(&mut model.clone(), 0, &[1]),
        Err(Fault::Early { position: 1 })
    );
    let lease = claim(&mut model, 0, &[2]).unwrap();
    settle(&mut model, lease, &[(2, Outcome::Published)]);
    assert!(!model.must_progress());
    model.advance(1_000);
    assert_eq!(empty_claim(&mut model), Err(Fault::Stalled { lane: None }));
    assert!(claim(&mut model, 0, &[1]).is_ok());
}

#[test]
fn o8_a_scheduled_message_joins_never_early_and_holds_nobody_back_before() {
    let mut model = store();
    let tx = model.begin();
    model.save(tx, 1, 1, Some("a"), Some(500));
    model.save(tx, 2, 2, Some("a"), None);
    model.save(tx, 3, 3, Some("a"), None);
    model.commit(tx);
    assert_eq!(
        claim(&mut model, lane("a"), &[1, 2]),
        Err(Fault::Early { position: 1 })
    );
    let lease = claim(&mut model, lane("a"), &[2]).unwrap();
    settle(&mut model, lease, &[(2, Outcome::Published)]);
    model.advance(500);
    // It may join late; once it was handed out it is in line and precedes.
    assert!(claim(&mut model.clone(), lane("a"), &[3]).is_ok());
    let lease = claim(&mut model, lane("a"), &[1, 3]).unwrap();
    settle(&mut model, lease, &[(1, retry(0)), (3, Outcome::Release)]);
    let overtakes = claim(&mut model, lane("a"), &[3]);
    assert_eq!(
        overtakes,
        Err(Fault::Overtakes {
            position: 3,
            first: Some(1)
        })
    );
}

#[test]
fn p4_a_claim_keeps_its_limits() {
    let model = saved(&[Some("a"), Some("a"), Some("b")]);
    let give = |position| Given {
        position,
        id: position,
        attempts: 0,
        tries: 0,
    };
    let handed = |key, positions: &[i64]| Handed {
        lane: lane(key),
        given: positions.iter().copied().map(give).collect(),
    };
    let judge = |request: &Request, lanes: Vec<Handed<i64>>| {
        model.clone().claimed(request, &Report { lanes, moved: 0 })
    };
    let two = Request {
        limit: 2,
        max_lanes: 1,
        ..request()
    };
    let over = judge(&two, vec![handed("a", &[1, 2]), handed("b", &[3])]);
    assert_eq!(over, Err(Fault::TooMany { given: 3 }));
    let lanes = judge(&two, vec![handed("a", &[1]), handed("b", &[3])]);
    assert_eq!(lanes, Err(Fault::TooManyLanes { leased: 2 }));
    let not_asked = Fault::LaneNotAsked { lane: lane("a") };
    let only = Request {
        lanes: Some([lane("b")].into()),
        ..request()
    };
    assert_eq!(judge(&only, vec![handed("a", &[1])]), Err(not_asked));
    assert_eq!(judge(&request(), vec![handed("a", &[])]), Err(not_asked));
    let twice = judge(&request(), vec![handed("a", &[1]), handed("a", &[2])]);
    assert_eq!(twice, Err(not_asked));
}

#[test]
fn within_its_slack_the_model_takes_either_answer() {
    let mut model = Model::new(|_: &&str| 0, 100);
    let tx = model.begin();
    model.save(tx, 1, 1, Some("a"), Some(1_000));
    model.commit(tx);
    let claim = |model: &mut Store| claim(model, 0, &[1]);
    model.advance(899);
    assert_eq!(claim(&mut model.clone()), Err(Fault::Early { position: 1 }));
    model.advance(1);
    assert!(claim(&mut model.clone()).is_ok() && empty_claim(&mut model.clone()).is_ok());
    model.advance(199);
    assert!(claim(&mut model.clone()).is_ok() && empty_claim(&mut model.clone()).is_ok());
    model.advance(1);
    assert!(empty_claim(&mut model.clone()).is_err());
    let lease = claim(&mut model).unwrap();
    model.advance(LEASE - 100);
    assert!(claim(&mut model.clone()).is_ok());
    model
        .settle(lease, &[(1, Outcome::Release)], true, false)
        .unwrap();
}

#[test]
fn a_fault_leaves_the_model_as_it_was() {
    let mut model = saved(&[Some("a"), Some("b"), Some("b")]);
    let give = |position| Given {
        position,
        id: position,
        attempts: 0,
        tries: 0,
    };
    let lanes = vec![
        Handed {
            lane: lane("a"),
            given: vec![give(1)],
        },
        Handed {
            lane: lane("b"),
            given: vec![give(3)],
        },
    ];
    let before = format!("{model:?}");
    assert!(
        model
            .claimed(&request(), &Report { lanes, moved: 0 })
            .is_err()
    );
    assert_eq!(format!("{model:?}"), before);
}

#[test]
fn o3_a_holder_that_reads_on_gets_nothing_that_it_has_in_hand() {
    let mut model = saved(&[Some("a1"), Some("a1"), Some("a2"), Some("a2")]);
    let lease = claim(&mut model, lane("a"), &[1, 3]).unwrap();
    let read = |model: &mut Store, position: i64, confirmed: &[&'static str]| {
        let closed = ["a1", "a2"]
            .into_iter()
            .filter(|key| !confirmed.contains(key));
        let given = Given {
            position,
            id: position,
            attempts: 0,
            tries: 0,
        };
        model.read_on(lease, &[1, 3].into(), &closed.collect(), &[given])
    };
    let held = State::Held;
    assert_eq!(
        read(&mut model, 1, &[]),
        Err(Fault::NotPossible {
            position: 1,
            state: held
        })
    );
    assert_eq!(
        read(&mut model, 2, &["a2"]),
        Err(Fault::InHand { position: 2 })
    );
    assert_eq!(read(&mut model, 4, &["a2"]), Ok(()));
    settle(&mut model, lease, &[(4, Outcome::Published)]);
    assert_eq!(
        read(&mut model, 2, &["a1"]),
        Err(Fault::Fence { lost: false })
    );
}
