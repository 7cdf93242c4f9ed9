//! Who holds a key (O3), whose turn it is (O5), and who waits (O6, O9).

use super::*;

#[test]
fn o3_two_leases_of_one_key_are_seen() {
    let history = then([claimed(1, &[(1, "a")]), claimed(2, &[(2, "b")])]);
    assert_eq!(check_in_turn(history), [(Rule::O3, "a", "b", [4, 5])]);
    let history = then([
        claimed(1, &[(1, "a")]),
        released(1),
        claimed(2, &[(1, "a"), (2, "b")]),
    ]);
    assert_eq!(check_in_turn(history), []);
}

#[test]
fn o3_a_hold_ends_with_its_lease_by_the_stores_clock() {
    let claim = |time, token, lease_end| {
        Event::at(
            time,
            What::Claimed {
                token,
                lease_end,
                messages: vec![(1, "a")],
            },
        )
    };
    let renewed = |time, lease_end| {
        Event::at(
            time,
            What::Renewed {
                token: 1,
                lease_end,
            },
        )
    };
    let after = |second, renewals: &[(i64, i64)]| {
        let mut events = vec![Event::at(1, saved(1, "a")), Event::at(1, committed("a"))];
        events.push(claim(2, 1, 30));
        events.extend(renewals.iter().map(|(time, end)| renewed(*time, *end)));
        events.push(claim(second, 2, 90));
        found(&events).len()
    };
    assert_eq!(after(29, &[]), 1);
    assert_eq!(after(30, &[]), 0);
    assert_eq!(after(39, &[(10, 40)]), 1);
    assert_eq!(after(40, &[(10, 40)]), 0);
    assert_eq!(after(19, &[(10, 20)]), 1, "a renewal may also shorten");
    assert_eq!(after(20, &[(10, 20)]), 0);
}

#[test]
fn o3_a_hold_is_certain_from_the_answer_of_its_claim_to_the_request_of_its_release() {
    let second = |begun, answered| {
        let mut events: Vec<_> = then([claimed(1, &[(1, "a")])])
            .into_iter()
            .map(|what| Event::at(1, what))
            .collect();
        events.push(Event::during(10, 20, released(1)));
        events.push(Event::during(
            begun,
            answered,
            claimed(2, &[(1, "a"), (2, "b")]),
        ));
        found(&events)
    };
    assert_eq!(second(5, 9), [(Rule::O3, "a", "a", [4, 6])]);
    assert_eq!(second(5, 10), []);
    assert_eq!(second(5, 30), []);
}

#[test]
fn o3_a_renewal_counts_from_its_answer() {
    // Its lease had ended; in between another relay may have held the key and given it back.
    let renewed = |answered| {
        let claim = |token, lease_end| What::Claimed {
            token,
            lease_end,
            messages: vec![(1, "a")],
        };
        found(&[
            Event::at(1, saved(1, "a")),
            Event::at(1, committed("a")),
            Event::at(2, claim(1, 30)),
            Event::during(
                31,
                answered,
                What::Renewed {
                    token: 1,
                    lease_end: 90,
                },
            ),
            Event::at(40, claim(2, 80)),
            Event::at(45, released(2)),
        ])
    };
    assert_eq!(renewed(35), [(Rule::O3, "a", "a", [2, 4])]);
    assert_eq!(renewed(50), []);
}

#[test]
fn o3_a_long_hold_is_remembered_behind_short_ones() {
    let short = |token| [claimed(token, &[(2, "b")]), released(token)];
    let history = then(
        [claimed(1, &[(1, "a")])]
            .into_iter()
            .chain(short(2))
            .chain(short(3))
            .chain([released(1)]),
    );
    let held = [(Rule::O3, "a", "b", [4, 5]), (Rule::O3, "a", "b", [4, 7])];
    assert_eq!(check_in_turn(history), held);
}

#[test]
fn o5_a_hand_over_before_the_one_ahead_is_through_is_seen() {
    let both = || claimed(1, &[(1, "a"), (2, "b")]);
    let early = [(Rule::O5, "a", "b", [4, 6])];
    let in_flight = then([
        both(),
        handed(1, &["a"]),
        handed(1, &["b"]),
        confirmed(1, "a"),
    ]);
    assert_eq!(check_in_turn(in_flight), early);
    let skipped = then([both(), confirmed(1, "b"), handed(1, &["b"])]);
    assert_eq!(check_in_turn(skipped), early);
    let swapped = then([both(), handed(1, &["b", "a"])]);
    assert_eq!(check_in_turn(swapped), [(Rule::O5, "a", "b", [4, 5])]);
    for end in [confirmed(1, "a"), died("a", AfterDeath::Skip)] {
        let right = then([both(), handed(1, &["a"]), end, handed(1, &["b"])]);
        assert_eq!(check_in_turn(right), []);
    }
    assert_eq!(check_in_turn(then([both(), handed(1, &["a", "b"])])), []);
}

#[test]
fn o5_a_gap_inside_a_run_is_seen() {
    let three = || {
        [
            saved(3, "c"),
            committed("c"),
            claimed(1, &[(1, "a"), (2, "b"), (3, "c")]),
        ]
    };
    let history = then(three().into_iter().chain([handed(1, &["a", "c"])]));
    assert_eq!(check_in_turn(history), [(Rule::O5, "b", "c", [6, 7])]);
    let discarded = [What::Discarded { message: "b" }, handed(1, &["a", "c"])];
    assert_eq!(
        check_in_turn(then(three().into_iter().chain(discarded))),
        []
    );
}

#[test]
fn o5_a_death_counts_once_for_each_redrive() {
    let again = |end: Option<Happened>| {
        let redriven = [
            claimed(1, &[(1, "a")]),
            died("a", AfterDeath::Hold),
            released(1),
            What::Redriven {
                message: "a",
                position: 1,
            },
            claimed(2, &[(1, "a"), (2, "b")]),
            handed(2, &["a"]),
        ];
        then(redriven.into_iter().chain(end).chain([handed(2, &["b"])]))
    };
    assert_eq!(check_in_turn(again(None)), [(Rule::O5, "a", "b", [8, 10])]);
    assert_eq!(check_in_turn(again(Some(confirmed(2, "a")))), []);
}

#[test]
fn o5_a_retry_releases_the_rest_of_the_run_untried() {
    let run = || {
        [
            claimed(1, &[(1, "a"), (2, "b")]),
            handed(1, &["a", "b"]),
            failed(1, "a"),
        ]
    };
    for tried in [confirmed(1, "b"), failed(1, "b")] {
        let history = then(run().into_iter().chain([tried]));
        assert_eq!(check_in_turn(history), [(Rule::O5, "a", "b", [6, 7])]);
    }
}

#[test]
fn o6_nothing_behind_a_waiting_head_goes_out_in_any_relay() {
    let waiting = || {
        then([
            claimed(1, &[(1, "a"), (2, "b")]),
            handed(1, &["a"]),
            failed(1, "a"),
            released(1),
            claimed(2, &[(2, "b")]),
            handed(2, &["b"]),
        ])
    };
    let overtaken = [(Rule::O2, "a", "b", [4, 8]), (Rule::O6, "a", "b", [6, 9])];
    assert_eq!(check_in_turn(waiting()), overtaken);
    let late = then([
        claimed(1, &[(1, "a"), (2, "b")]),
        handed(1, &["a"]),
        failed(1, "a"),
        handed(1, &["b"]),
    ]);
    let past = [(Rule::O5, "a", "b", [4, 7]), (Rule::O6, "a", "b", [6, 7])];
    assert_eq!(check_in_turn(late), past);
}

#[test]
fn o6_a_wait_ends_when_the_head_is_claimed_again_or_gone() {
    let wait = |end: Happened| {
        then([
            claimed(1, &[(1, "a")]),
            handed(1, &["a"]),
            failed(1, "a"),
            released(1),
            end,
            claimed(3, &[(2, "b")]),
            handed(3, &["b"]),
        ])
    };
    for end in [confirmed(1, "a"), What::Discarded { message: "a" }] {
        assert_eq!(check_in_turn(wait(end)), []);
    }
    let again = then([
        claimed(1, &[(1, "a")]),
        handed(1, &["a"]),
        failed(1, "a"),
        released(1),
        claimed(2, &[(1, "a"), (2, "b")]),
        handed(2, &["a", "b"]),
    ]);
    assert_eq!(check_in_turn(again), []);
}

#[test]
fn o6_a_late_removal_of_what_was_confirmed_ends_the_wait() {
    // The first relay outlives its lease; its settlement removes `a` while `a` waits for a retry.
    let history = then([
        claimed(1, &[(1, "a")]),
        handed(1, &["a"]),
        confirmed(1, "a"),
        What::Lapsed { token: 1 },
        claimed(2, &[(1, "a"), (2, "b")]),
        handed(2, &["a"]),
        failed(2, "a"),
        released(2),
        claimed(3, &[(2, "b")]),
        handed(3, &["b"]),
    ]);
    assert_eq!(check_in_turn(history), []);
}

#[test]
fn o9_a_dead_letter_that_holds_its_key_holds_all_of_it() {
    let hold = |after, operator: Option<Happened>| {
        let dead = [claimed(1, &[(1, "a")]), died("a", after), released(1)];
        let next = [claimed(2, &[(2, "b")]), handed(2, &["b"]), released(2)];
        check_in_turn(then(dead.into_iter().chain(operator).chain(next)))
    };
    let seen = [(Rule::O9, "a", "b", [5, 7]), (Rule::O9, "a", "b", [5, 8])];
    assert_eq!(hold(AfterDeath::Hold, None), seen);
    assert_eq!(hold(AfterDeath::Skip, None), []);
    assert_eq!(
        hold(AfterDeath::Hold, Some(What::Discarded { message: "a" })),
        []
    );
    let tail = What::Redriven {
        message: "a",
        position: 3,
    };
    assert_eq!(hold(AfterDeath::Hold, Some(tail)), []);
}

#[test]
fn o5_what_its_holder_reads_later_is_not_passed() {
    let late = |more: &[Happened]| {
        let begin = [
            saved(1, "a"),
            saved(2, "b"),
            committed("b"),
            claimed(1, &[(2, "b")]),
            handed(1, &["b"]),
            committed("a"),
            claimed(1, &[(1, "a")]),
        ];
        check_in_turn(
            begin
                .into_iter()
                .chain(more.iter().cloned())
                .collect::<Vec<_>>(),
        )
    };
    assert_eq!(
        late(&[confirmed(1, "b"), handed(1, &["a"]), failed(1, "a")]),
        []
    );
    let third = [
        saved(3, "c"),
        committed("c"),
        claimed(1, &[(3, "c")]),
        confirmed(1, "b"),
        handed(1, &["c"]),
    ];
    assert_eq!(late(&third), [(Rule::O5, "a", "c", [6, 11])]);
}

#[test]
fn o5_what_failed_and_comes_again_under_the_same_lease_has_its_place() {
    let again = [
        claimed(1, &[(1, "a"), (2, "b")]),
        handed(1, &["a"]),
        failed(1, "a"),
        claimed(1, &[(1, "a"), (2, "b")]),
    ];
    let well = [handed(1, &["a"]), confirmed(1, "a"), handed(1, &["b"])];
    assert_eq!(check_in_turn(then(again.iter().cloned().chain(well))), []);
    let early = [handed(1, &["b"])];
    let found = check_in_turn(then(again.into_iter().chain(early)));
    assert!(!found.is_empty(), "{found:?}");
}
