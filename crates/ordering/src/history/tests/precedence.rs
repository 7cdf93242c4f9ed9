//! What precedes a message (O2), and what the broker may receive first (O11).

use super::*;

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
fn o2_a_release_counts_from_its_answer() {
    let after = |answered| {
        let mut events: Vec<_> = then([claimed(1, &[(1, "a")])])
            .into_iter()
            .map(|what| Event::at(1, what))
            .collect();
        events.push(Event::during(5, answered, released(1)));
        events.push(Event::at(9, claimed(2, &[(2, "b")])));
        found(&events)
    };
    assert_eq!(after(8), [(Rule::O2, "a", "b", [4, 6])]);
    assert_eq!(after(9), []);
}

#[test]
fn o2_a_lease_may_read_on_behind_what_it_holds() {
    for line in [Line::AtOnce, Line::Later] {
        let history = vec![
            What::Saved {
                message: "a",
                key: K,
                position: 1,
                line,
            },
            committed("a"),
            saved(2, "b"),
            committed("b"),
            claimed(1, &[(1, "a")]),
            claimed(1, &[(2, "b")]),
        ];
        assert_eq!(check_in_turn(history), []);
    }
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
