//! What the judge sees and what it must not see, one rule at a time.

use super::*;
use crate::state::AfterDeath;

type Happened = What<&'static str, &'static str, u32>;

const K: Option<&str> = Some("k");
const FAR: i64 = 1_000;

/// Instants one after another, from 1.
fn check_in_turn(history: Vec<Happened>) -> Vec<(Rule, &'static str, &'static str, [usize; 2])> {
    let events: Vec<_> = (1..)
        .zip(history)
        .map(|(time, what)| Event::at(time, what))
        .collect();
    found(&events)
}

fn found(
    events: &[Event<&'static str, &'static str, u32>],
) -> Vec<(Rule, &'static str, &'static str, [usize; 2])> {
    let violations = check(events);
    violations
        .into_iter()
        .map(|found| (found.rule, found.first, found.second, found.events))
        .collect()
}

fn saved(position: i64, message: &'static str) -> Happened {
    What::Saved {
        message,
        key: K,
        position,
        line: Line::AtOnce,
    }
}

fn committed(message: &'static str) -> Happened {
    What::Committed { message }
}

fn claimed(token: u32, messages: &[(i64, &'static str)]) -> Happened {
    What::Claimed {
        token,
        lease_end: FAR,
        messages: messages.to_vec(),
    }
}

fn released(token: u32) -> Happened {
    What::Released { token }
}

fn handed(token: u32, messages: &[&'static str]) -> Happened {
    What::HandedOver {
        token,
        messages: messages.to_vec(),
    }
}

fn confirmed(token: u32, message: &'static str) -> Happened {
    What::Confirmed { token, message }
}

fn failed(token: u32, message: &'static str) -> Happened {
    What::Failed { token, message }
}

fn died(message: &'static str, after: AfterDeath) -> Happened {
    What::Died { message, after }
}

fn received(token: u32, message: &'static str) -> Happened {
    What::Received {
        message,
        token: Some(token),
    }
}

/// `a` at 1 and `b` at 2, both of one key and committed: events 0 to 3.
fn two_saved() -> Vec<Happened> {
    vec![saved(1, "a"), committed("a"), saved(2, "b"), committed("b")]
}

fn then(more: impl IntoIterator<Item = Happened>) -> Vec<Happened> {
    two_saved().into_iter().chain(more).collect()
}

#[test]
fn o2_a_claim_without_an_earlier_message_of_the_key_is_seen() {
    let history = then([claimed(1, &[(2, "b")])]);
    assert_eq!(check_in_turn(history), [(Rule::O2, "a", "b", [1, 4])]);
    assert_eq!(check_in_turn(then([claimed(1, &[(1, "a"), (2, "b")])])), []);
}

#[test]
fn o2_a_message_precedes_only_from_its_commit() {
    let open = [
        saved(1, "a"),
        saved(2, "b"),
        committed("b"),
        claimed(1, &[(2, "b")]),
    ];
    let later = [committed("a"), released(1), claimed(2, &[(2, "b")])];
    assert_eq!(check_in_turn(open.to_vec()), []);
    let history = open.into_iter().chain(later).collect();
    assert_eq!(check_in_turn(history), [(Rule::O2, "a", "b", [4, 6])]);
}

#[test]
fn o2_a_scheduled_message_precedes_only_once_it_joined() {
    let scheduled = What::Saved {
        message: "a",
        key: K,
        position: 1,
        line: Line::Later,
    };
    let before = [
        scheduled,
        committed("a"),
        saved(2, "b"),
        committed("b"),
        claimed(1, &[(2, "b")]),
    ];
    let joins = [
        released(1),
        What::Joined { message: "a" },
        claimed(2, &[(2, "b")]),
    ];
    assert_eq!(check_in_turn(before.to_vec()), []);
    let history = before.into_iter().chain(joins).collect();
    assert_eq!(check_in_turn(history), [(Rule::O2, "a", "b", [6, 7])]);
}

#[test]
fn o2_what_was_released_or_lapsed_is_in_line_again() {
    for over in [released(1), What::Lapsed { token: 1 }] {
        let history = then([claimed(1, &[(1, "a")]), over, claimed(2, &[(2, "b")])]);
        assert_eq!(check_in_turn(history), [(Rule::O2, "a", "b", [4, 6])]);
    }
    let mut lapsed: Vec<_> = then([claimed(1, &[(1, "a")])])
        .into_iter()
        .map(|what| Event::at(1, what))
        .collect();
    lapsed.push(Event::at(FAR, claimed(2, &[(2, "b")])));
    assert_eq!(found(&lapsed), [(Rule::O2, "a", "b", [4, 5])]);
}

#[test]
fn o2_what_was_confirmed_given_up_or_discarded_precedes_nothing() {
    let ends = [
        confirmed(1, "a"),
        died("a", AfterDeath::Skip),
        What::Discarded { message: "a" },
    ];
    for end in ends {
        let history = then([
            claimed(1, &[(1, "a")]),
            end,
            released(1),
            claimed(2, &[(2, "b")]),
        ]);
        assert_eq!(check_in_turn(history), []);
    }
}

#[test]
fn o2_a_redriven_message_takes_the_place_of_its_new_position() {
    let redrive = |position| {
        then([
            saved(3, "c"),
            committed("c"),
            claimed(1, &[(1, "a")]),
            died("a", AfterDeath::Hold),
            released(1),
            What::Redriven {
                message: "a",
                position,
            },
            claimed(2, &[(2, "b")]),
            released(2),
        ])
    };
    assert_eq!(check_in_turn(redrive(1)), [(Rule::O2, "a", "b", [9, 10])]);
    assert_eq!(check_in_turn(redrive(4)), []);
}

#[test]
fn o2_keys_and_unkeyed_messages_do_not_precede_each_other() {
    let other = |position, message, key| What::Saved {
        message,
        key,
        position,
        line: Line::AtOnce,
    };
    let history = vec![
        other(1, "a", Some("other")),
        committed("a"),
        other(2, "b", None),
        committed("b"),
        other(3, "c", None),
        committed("c"),
        claimed(1, &[(3, "c")]),
    ];
    assert_eq!(check_in_turn(history), []);
}

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
fn o11_first_deliveries_keep_precedence_and_duplicates_do_not_count() {
    let both = || claimed(1, &[(1, "a"), (2, "b")]);
    let swapped = then([both(), received(1, "b"), received(1, "a")]);
    assert_eq!(check_in_turn(swapped), [(Rule::O11, "a", "b", [1, 5])]);
    let lost = then([both(), received(1, "b")]);
    assert_eq!(check_in_turn(lost), [(Rule::O11, "a", "b", [1, 5])]);
    let twice = then([
        both(),
        received(1, "a"),
        received(1, "b"),
        received(1, "a"),
        received(1, "b"),
    ]);
    assert_eq!(check_in_turn(twice), []);
}

#[test]
fn o11_precedence_is_that_of_the_claim_that_was_received_first() {
    let late = |token| {
        vec![
            saved(1, "a"),
            saved(2, "b"),
            committed("b"),
            claimed(1, &[(2, "b")]),
            committed("a"),
            released(1),
            claimed(2, &[(1, "a"), (2, "b")]),
            received(token, "b"),
            received(2, "a"),
        ]
    };
    assert_eq!(check_in_turn(late(1)), []);
    assert_eq!(check_in_turn(late(2)), [(Rule::O11, "a", "b", [4, 7])]);
}

#[test]
fn o11_what_was_given_up_on_or_discarded_before_is_excused() {
    let both = || claimed(1, &[(1, "a"), (2, "b")]);
    for end in [
        died("a", AfterDeath::Skip),
        What::Discarded { message: "a" },
    ] {
        let excused = then([both(), end.clone(), received(1, "b")]);
        assert_eq!(check_in_turn(excused), []);
        let too_late = then([both(), received(1, "b"), end]);
        assert_eq!(check_in_turn(too_late), [(Rule::O11, "a", "b", [1, 5])]);
    }
    let redriven = then([both(), died("b", AfterDeath::Skip), received(1, "b")]);
    assert_eq!(check_in_turn(redriven), []);
}

#[test]
fn o11_without_a_token_only_what_was_in_line_before_precedes() {
    let unknown = |message| What::Received {
        message,
        token: None,
    };
    let history = then([unknown("b"), unknown("a")]);
    assert_eq!(check_in_turn(history), [(Rule::O11, "a", "b", [1, 4])]);
    let open = [saved(1, "a"), saved(2, "b"), committed("b"), committed("a")];
    let history = open
        .into_iter()
        .chain([unknown("b"), unknown("a")])
        .collect();
    assert_eq!(check_in_turn(history), []);
}

#[test]
fn o2_an_overlap_proves_nothing() {
    let commit = |answered| {
        vec![
            Event::at(1, saved(1, "a")),
            Event::during(2, answered, committed("a")),
            Event::at(3, saved(2, "b")),
            Event::at(4, committed("b")),
            Event::during(6, 9, claimed(1, &[(2, "b")])),
        ]
    };
    assert_eq!(found(&commit(5)), [(Rule::O2, "a", "b", [1, 4])]);
    assert_eq!(found(&commit(6)), []);
    assert_eq!(
        found(&commit(i64::MAX)),
        [],
        "a commit that was never answered"
    );
}

#[test]
fn o2_a_late_removal_of_what_was_confirmed_is_no_overtaking() {
    // The first relay outlives its lease; its settlement removes `a` while the second holds it.
    let history = then([
        claimed(1, &[(1, "a")]),
        handed(1, &["a"]),
        confirmed(1, "a"),
        What::Lapsed { token: 1 },
        claimed(2, &[(1, "a"), (2, "b")]),
        released(2),
        claimed(3, &[(2, "b")]),
    ]);
    assert_eq!(check_in_turn(history), []);
}

#[test]
fn what_nobody_saved_or_claimed_is_not_judged() {
    let history = then([
        claimed(1, &[(0, "ghost"), (1, "a"), (2, "b")]),
        handed(7, &["b"]),
        received(7, "ghost"),
        confirmed(7, "a"),
        failed(7, "ghost"),
        released(7),
    ]);
    assert_eq!(check_in_turn(history), []);
}

#[test]
fn a_violation_reads_as_a_sentence() {
    let events: Vec<_> = then([claimed(1, &[(2, "b")])])
        .into_iter()
        .map(|what| Event::at(1, what))
        .collect();
    assert_eq!(
        check(&events)[0].to_string(),
        "O2: b was claimed (event 4) without a, which was in line (event 1)"
    );
}
