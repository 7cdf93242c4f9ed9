//! Random worlds on the model: what a right store does is allowed, and what it must not do is not.

use proptest::prelude::*;

use super::*;
use crate::lane::Verdict;
use crate::state::State;
use crate::world::{Action, Id, Key, TOPICS, World, actions};

type Judge = Model<Key, Id>;

/// Makes the right report of a claim wrong in each way that fits it, and expects the fault.
fn refuses_what_is_wrong(model: &Judge, request: &Request, report: &Report<Id>) {
    let judge = |report: &Report<Id>| model.clone().claimed(request, report).err();
    let lanes = &report.lanes;
    if model.must_progress() {
        let stalled = judge(&Report {
            lanes: vec![],
            moved: 0,
        });
        assert!(
            matches!(stalled, Some(Fault::Stalled { .. })),
            "{stalled:?}"
        );
    }
    for (at, Handed { lane, given }) in lanes.iter().enumerate() {
        let with = |given: Vec<Given<Id>>| {
            let mut report = report.clone();
            report.lanes[at].given = given;
            judge(&report)
        };
        let message = |one: &Given<Id>| {
            let found = model.messages().find(|message| message.id == one.id);
            found.expect("only saved messages are claimed")
        };
        for (nth, one) in given.iter().enumerate() {
            let mut without = given.clone();
            without.remove(nth);
            let Message {
                key,
                position: first,
                in_line,
                ..
            } = message(one);
            let next = without[nth..]
                .iter()
                .find(|later| message(later).key == *key);
            if let (true, Some(next), Some(_)) = (in_line, next, key) {
                let overtakes = Fault::Overtakes {
                    position: next.position,
                    first: *first,
                };
                assert_eq!(with(without), Some(overtakes));
            }
            let mut miscounted = given.clone();
            miscounted[nth].tries += 1;
            assert!(matches!(with(miscounted), Some(Fault::Miscounted { .. })));
        }
        let mut twice = model.clone();
        twice.claimed(request, report).unwrap();
        assert_eq!(
            twice.claimed(request, report).err(),
            Some(Fault::LaneHeld {
                lane: lanes[0].lane
            })
        );
        refuses_a_key_that_waits(model, request, *lane);
        refuses_a_stopped_topic(model, request, report, at);
    }
}

/// Whatever is handed out right must not be once its topic is stopped.
fn refuses_a_stopped_topic(model: &Judge, request: &Request, report: &Report<Id>, at: usize) {
    let first = report.lanes[at].given[0];
    let message = model.messages().find(|message| message.id == first.id);
    let topic = message.expect("only saved messages are claimed").topic;
    let mut paused = model.clone();
    paused.pause(topic, None);
    let only = Report {
        lanes: vec![report.lanes[at].clone()],
        moved: 0,
    };
    let position = first.position;
    let fault = Fault::TopicStopped { position, topic };
    assert_eq!(paused.claimed(request, &only).err(), Some(fault));
    let mut resumed = paused;
    resumed.resume(topic);
    assert!(resumed.claimed(request, &only).is_ok());
}

fn refuses_a_key_that_waits(model: &Judge, request: &Request, lane: u32) {
    let waits = model.messages().filter(|message| {
        let key = message.key.filter(|key| (model.lane_of)(key) == lane);
        let blocked = key
            .and_then(|key| model.block(&key))
            .is_some_and(|block| block.firm);
        blocked
            && matches!(message.state, State::Ready | State::Waiting)
            && message.position.is_some()
    });
    for message in waits {
        let given = vec![Given {
            position: message.position.unwrap(),
            id: message.id,
            attempts: message.attempts,
            tries: message.tries,
        }];
        let fault = model
            .clone()
            .claimed(
                request,
                &Report {
                    lanes: vec![Handed { lane, given }],
                    moved: 0,
                },
            )
            .unwrap_err();
        assert!(
            matches!(fault, Fault::KeyWaits { .. } | Fault::KeyHeld { .. }),
            "{fault}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// O2, O3, O6, O7, O9: a right store is never faulted, a wrong claim always is, and whatever
    /// happened before, everything that is committed is published in the end or in an operator's hands.
    #[test]
    fn o7_a_right_store_is_allowed_everything_and_gets_everything_out(actions in actions()) {
        let mut world = World::new(refuses_what_is_wrong);
        for action in actions {
            world.take(action);
        }
        for topic in 0..TOPICS {
            world.take(Action::Resume { topic });
        }
        world.take(Action::Free);
        world.take(Action::Crash { relay: 0 });
        world.take(Action::Crash { relay: 1 });
        world.take(Action::Advance { by: 1_000 });
        let (relay, pick) = (0, 0);
        while world.model.must_progress() {
            world.take(Action::Claim { relay, first: 0, max_lanes: 2, limit: 100 });
            for _ in 0..100 {
                world.take(Action::Start { relay, pick, max: 9 });
                let verdict = Verdict::Release;
                world.take(Action::Complete { relay, pick, received: 9, verdict, after: 1 });
                world.take(Action::Settle { relay, pick });
            }
        }
        for message in world.model.messages() {
            let held = message.key.and_then(|key| world.model.block(&key));
            prop_assert!(!message.state.is_pending() || held.is_some(), "{message:?}");
        }
    }
}
