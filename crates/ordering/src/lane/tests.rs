//! What a lane does in each situation that the contract names, one at a time.

use super::*;

const A: Option<&str> = Some("a");
const B: Option<&str> = Some("b");
const NO_KEY: Option<&str> = None;

fn lane_of(keys: &[Option<&'static str>]) -> Lane<&'static str, usize> {
    Lane::admit(
        keys.iter()
            .enumerate()
            .map(|(at, key)| Entry::message(at + 1, *key)),
    )
}

fn start(lane: &mut Lane<&'static str, usize>, max: usize) -> Run<usize> {
    lane.next_run(max).expect("something is runnable")
}

#[test]
fn o3_a_key_in_flight_is_not_started_again() {
    let mut lane = lane_of(&[A, A, A]);
    let run = start(&mut lane, 2);
    assert_eq!(lane.next_run(2), None);
    assert_eq!(lane.in_flight(), 1);
    lane.complete(run.id, 2, None);
    assert_eq!(start(&mut lane, 2).positions, [3]);
}

#[test]
fn o4_a_run_is_the_head_and_what_follows_it_up_to_the_bound() {
    let mut lane = lane_of(&[A, B, A, A, A]);
    assert_eq!(start(&mut lane, 3).positions, [1, 3, 4]);
    assert_eq!(start(&mut lane, 3).positions, [2]);
}

#[test]
fn o4_a_bound_of_zero_still_takes_one() {
    assert_eq!(start(&mut lane_of(&[A, A]), 0).positions, [1]);
}

#[test]
fn o4_entries_are_served_by_position_in_whatever_order_they_were_admitted() {
    let mut lane = Lane::admit([3, 1, 2].map(|position| Entry::message(position, A)));
    assert_eq!(start(&mut lane, 9).positions, [1, 2, 3]);
}

#[test]
fn o3_a_position_that_is_admitted_twice_runs_once() {
    let mut lane = Lane::admit([1, 1].map(|position| Entry::message(position, NO_KEY)));
    let run = start(&mut lane, 1);
    assert_eq!(lane.next_run(1), None);
    assert_eq!(lane.complete(run.id, 1, None), [(1, Outcome::Published)]);
    lane.settled(1);
    assert!(lane.is_done());
}

#[test]
fn o5_a_key_goes_on_after_a_confirmation_without_waiting_for_its_settlement() {
    let mut lane = lane_of(&[A, A]);
    let run = start(&mut lane, 1);
    assert_eq!(lane.complete(run.id, 1, None), [(1, Outcome::Published)]);
    assert_eq!(start(&mut lane, 1).positions, [2]);
}

#[test]
fn o5_a_retry_hands_back_the_rest_of_the_run_and_of_the_key() {
    let mut lane = lane_of(&[A, A, A, B, A]);
    let run = start(&mut lane, 3);
    let outcomes = lane.complete(run.id, 1, Some(Verdict::Retry));
    assert_eq!(
        outcomes,
        [
            (1, Outcome::Published),
            (2, Outcome::Retry),
            (3, Outcome::Release),
            (5, Outcome::Release)
        ]
    );
    assert_eq!(start(&mut lane, 3).positions, [4]);
    assert_eq!(lane.next_run(3), None);
}

#[test]
fn o5_after_a_death_the_key_waits_until_the_death_is_settled() {
    let mut lane = lane_of(&[A, A, A]);
    let run = start(&mut lane, 2);
    let outcomes = lane.complete(run.id, 0, Some(Verdict::Dead(AfterDeath::Skip)));
    assert_eq!(outcomes, [(1, Outcome::Dead)]);
    assert_eq!(lane.next_run(2), None);
    lane.settled(1);
    assert_eq!(start(&mut lane, 2).positions, [2, 3]);
}

#[test]
fn o5_an_interrupted_run_hands_back_its_key() {
    let mut lane = lane_of(&[A, A, A]);
    let run = start(&mut lane, 2);
    let outcomes = lane.complete(run.id, 1, None);
    assert_eq!(
        outcomes,
        [
            (1, Outcome::Published),
            (2, Outcome::Release),
            (3, Outcome::Release)
        ]
    );
    assert_eq!(lane.next_run(2), None);
}

#[test]
fn o7_an_unkeyed_failure_touches_nobody_else() {
    let mut lane = lane_of(&[NO_KEY, NO_KEY, A]);
    let first = start(&mut lane, 9);
    let second = start(&mut lane, 9);
    assert_eq!(
        (&*first.positions, &*second.positions),
        (&[1][..], &[2][..])
    );
    assert_eq!(
        lane.complete(first.id, 0, Some(Verdict::Retry)),
        [(1, Outcome::Retry)]
    );
    assert_eq!(start(&mut lane, 9).positions, [3]);
    assert_eq!(lane.complete(second.id, 1, None), [(2, Outcome::Published)]);
}

#[test]
fn o9_a_death_under_hold_hands_back_its_key_at_once() {
    let mut lane = lane_of(&[A, A, A]);
    let run = start(&mut lane, 2);
    let outcomes = lane.complete(run.id, 0, Some(Verdict::Dead(AfterDeath::Hold)));
    assert_eq!(
        outcomes,
        [
            (1, Outcome::Dead),
            (2, Outcome::Release),
            (3, Outcome::Release)
        ]
    );
    lane.settled(1);
    assert_eq!(lane.next_run(2), None);
}

#[test]
fn f7_an_unreadable_entry_runs_alone_and_in_its_turn() {
    let mut lane = Lane::admit([
        Entry::message(1, A),
        Entry::unreadable(2, A),
        Entry::message(3, A),
        Entry::unreadable(4, NO_KEY),
    ]);
    let run = start(&mut lane, 9);
    assert_eq!((run.kind, &*run.positions), (EntryKind::Message, &[1][..]));
    let unkeyed = start(&mut lane, 9);
    assert_eq!(
        (unkeyed.kind, &*unkeyed.positions),
        (EntryKind::Unreadable, &[4][..])
    );
    lane.complete(run.id, 1, None);
    let run = start(&mut lane, 9);
    assert_eq!(
        (run.kind, &*run.positions),
        (EntryKind::Unreadable, &[2][..])
    );
    lane.complete(run.id, 0, Some(Verdict::Dead(AfterDeath::Skip)));
    lane.settled(2);
    assert_eq!(start(&mut lane, 9).positions, [3]);
}

#[test]
fn d4_a_release_hands_back_what_has_not_started_and_lets_the_rest_complete() {
    let mut lane = lane_of(&[A, A, A, NO_KEY]);
    let run = start(&mut lane, 2);
    assert_eq!(
        lane.release(),
        [(3, Outcome::Release), (4, Outcome::Release)]
    );
    assert_eq!(lane.next_run(2), None);
    let outcomes = lane.complete(run.id, 0, Some(Verdict::Dead(AfterDeath::Skip)));
    assert_eq!(outcomes, [(1, Outcome::Dead), (2, Outcome::Release)]);
    assert!(!lane.is_done());
    for position in 1..=4 {
        lane.settled(position);
    }
    assert!(lane.is_done());
    assert_eq!(lane.release(), []);
}

#[test]
fn d4_a_release_takes_back_what_waits_for_a_death_to_be_settled() {
    let mut lane = lane_of(&[A, A]);
    let run = start(&mut lane, 1);
    lane.complete(run.id, 0, Some(Verdict::Dead(AfterDeath::Skip)));
    assert_eq!(lane.release(), [(2, Outcome::Release)]);
    lane.settled(1);
    assert_eq!(lane.next_run(1), None);
}

#[test]
fn a_run_completes_once_and_a_message_settles_once() {
    let mut lane = lane_of(&[A, A]);
    let run = start(&mut lane, 1);
    lane.complete(run.id, 1, None);
    assert_eq!(lane.complete(run.id, 0, Some(Verdict::Retry)), []);
    lane.settled(2);
    lane.settled(7);
    lane.settled(1);
    lane.settled(1);
    assert!(!lane.is_done());
}

#[test]
fn more_confirmations_than_messages_confirm_the_run() {
    let mut lane = lane_of(&[A, A]);
    let run = start(&mut lane, 1);
    assert_eq!(
        lane.complete(run.id, usize::MAX, None),
        [(1, Outcome::Published)]
    );
    assert_eq!(start(&mut lane, 1).positions, [2]);
}

#[test]
fn o7_a_holder_reads_on_past_a_key_in_flight() {
    let mut lane = lane_of(&[A]);
    let hanging = start(&mut lane, 9);
    assert_eq!(lane.admit_more([2, 3].map(|at| Entry::message(at, B))), []);
    assert_eq!(lane.admit_more([Entry::message(4, NO_KEY)]), []);
    let run = start(&mut lane, 9);
    assert_eq!(run.positions, [2, 3]);
    assert_eq!(start(&mut lane, 9).positions, [4]);
    assert_eq!(lane.complete(run.id, 2, None).len(), 2);
    assert_eq!(
        lane.complete(hanging.id, 1, None),
        [(1, Outcome::Published)]
    );
}

#[test]
fn o3_what_is_read_of_a_key_in_flight_waits_for_it() {
    let mut lane = lane_of(&[NO_KEY, A, A]);
    start(&mut lane, 1);
    let run = start(&mut lane, 1);
    lane.admit_more([4, 1].map(|at| Entry::message(at, A)));
    assert_eq!(lane.startable(), 0);
    lane.complete(run.id, 1, None);
    assert_eq!(start(&mut lane, 9).positions, [3, 4]);
}

#[test]
fn o5_a_smaller_position_that_is_read_later_goes_before_what_has_not_started() {
    let mut lane = Lane::admit([5, 6].map(|at| Entry::message(at, A)));
    lane.admit_more([Entry::message(4, A)]);
    assert_eq!(lane.heads().collect::<Vec<_>>(), [4]);
    let run = start(&mut lane, 9);
    assert_eq!(run.positions, [4, 5, 6]);
    lane.admit_more([Entry::message(3, A)]);
    let outcomes = lane.complete(run.id, 1, Some(Verdict::Retry));
    assert_eq!(
        outcomes,
        [
            (3, Outcome::Release),
            (4, Outcome::Published),
            (5, Outcome::Retry),
            (6, Outcome::Release)
        ]
    );
}

#[test]
fn o3_a_position_that_is_known_is_not_admitted_again_before_it_is_settled() {
    let mut lane = lane_of(&[NO_KEY]);
    let run = start(&mut lane, 1);
    lane.admit_more([Entry::message(1, NO_KEY)]);
    assert_eq!(lane.startable(), 0);
    lane.complete(run.id, 0, Some(Verdict::Retry));
    lane.admit_more([Entry::message(1, NO_KEY)]);
    assert_eq!(lane.startable(), 0);
    lane.settled(1);
    assert!(!lane.knows(1));
    lane.admit_more([Entry::message(1, NO_KEY)]);
    assert_eq!(start(&mut lane, 1).positions, [1]);
}

#[test]
fn o6_nothing_of_a_key_is_admitted_that_was_given_back_and_not_settled() {
    let mut lane = lane_of(&[A, A]);
    let run = start(&mut lane, 1);
    lane.complete(run.id, 0, Some(Verdict::Retry));
    assert_eq!(
        lane.admit_more([Entry::message(3, A)]),
        [(3, Outcome::Release)]
    );
    lane.settled(1);
    lane.settled(2);
    assert_eq!(
        lane.admit_more([Entry::message(4, A)]),
        [(4, Outcome::Release)]
    );
    lane.settled(3);
    lane.settled(4);
    assert_eq!(lane.admit_more([Entry::message(1, A)]), []);
    assert_eq!(start(&mut lane, 9).positions, [1]);
}

#[test]
fn d4_a_released_lane_admits_nothing_more() {
    let mut lane = lane_of(&[A]);
    start(&mut lane, 1);
    lane.release();
    assert!(lane.is_released());
    assert_eq!(
        lane.admit_more([Entry::message(2, B)]),
        [(2, Outcome::Release)]
    );
    assert_eq!(lane.next_run(1), None);
}

#[test]
fn an_empty_lane_is_done() {
    assert!(lane_of(&[]).is_done());
}
