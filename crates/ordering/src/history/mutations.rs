//! Histories of random right worlds to which something is done are accused of the right rule.

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use super::*;
use crate::model::LeaseId;
use crate::state::AfterDeath;
use crate::world::{Event as Recorded, Id, World, actions};

type Happened = What<u8, Id, LeaseId>;

/// Something done to a history, and the accusation that must follow.
type Mutated = (Vec<Recorded>, Rule, Id, Id);

fn position(events: &[Recorded], what: impl Fn(&Happened) -> bool) -> Option<usize> {
    events.iter().position(|event| what(&event.what))
}

fn key(events: &[Recorded], of: Id) -> Option<u8> {
    events.iter().find_map(|event| match &event.what {
        What::Saved { message, key, .. } if *message == of => *key,
        _ => None,
    })
}

/// Every claim with each two messages of one key in it, the earlier one first.
fn pairs(events: &[Recorded]) -> Vec<(usize, LeaseId, Id, Id)> {
    let mut pairs = Vec::new();
    for (at, event) in events.iter().enumerate() {
        if let What::Claimed {
            token, messages, ..
        } = &event.what
        {
            for (nth, (_, first)) in messages.iter().enumerate() {
                let first_key = key(events, *first);
                for (_, second) in &messages[nth + 1..] {
                    if first_key.is_some() && first_key == key(events, *second) {
                        pairs.push((at, *token, *first, *second));
                    }
                }
            }
        }
    }
    pairs
}

fn insert(events: &[Recorded], at: usize, more: Vec<Happened>) -> Vec<Recorded> {
    let when = events[at.saturating_sub(1)].when;
    let more = more.into_iter().map(|what| Event { when, what });
    events[..at]
        .iter()
        .cloned()
        .chain(more)
        .chain(events[at..].iter().cloned())
        .collect()
}

/// A token that the world has not used: it numbers its claims, which are fewer than the events.
fn new_token(events: &[Recorded]) -> LeaseId {
    LeaseId::nth(events.len())
}

/// A claim hands out a message without the one before it.
fn overtake(events: &[Recorded]) -> Option<Mutated> {
    pairs(events).into_iter().find_map(|(at, _, first, second)| {
        let before = |what: &Happened| {
            position(&events[..at], |other| other == what).is_some()
        };
        let committed = before(&What::Committed { message: first });
        let at_once = position(events, |what| {
            matches!(what, What::Saved { message, line: Line::AtOnce, .. } if *message == first)
        });
        let confirmed = position(&events[..at], |what| {
            matches!(what, What::Confirmed { message, .. } if *message == first)
        });
        if !committed || at_once.is_none() || confirmed.is_some() {
            return None;
        }
        let mut events = events.to_vec();
        if let What::Claimed { messages, .. } = &mut events[at].what {
            // The one right behind is the first to overtake; the pairs come in that order.
            messages.retain(|(_, message)| *message != first);
        }
        Some((events, Rule::O2, first, second))
    })
}

/// A second claim hands out the same while the first still holds it.
fn two_holders(events: &[Recorded]) -> Option<Mutated> {
    let keyed = |what: &Happened| match what {
        What::Claimed { messages, .. } => messages
            .iter()
            .map(|(_, message)| *message)
            .find(|message| key(events, *message).is_some()),
        _ => None,
    };
    let at = position(events, |what| keyed(what).is_some())?;
    let message = keyed(&events[at].what)?;
    let What::Claimed {
        lease_end,
        messages,
        ..
    } = events[at].what.clone()
    else {
        return None;
    };
    let again = What::Claimed {
        token: new_token(events),
        lease_end,
        messages,
    };
    Some((
        insert(events, at + 1, vec![again]),
        Rule::O3,
        message,
        message,
    ))
}

/// A failure of the first message of a claim's pair, and where it is.
fn failures(events: &[Recorded]) -> Vec<(usize, LeaseId, Id, Id)> {
    let failures = pairs(events)
        .into_iter()
        .filter_map(|(_, token, first, second)| {
            let failed = What::Failed {
                token,
                message: first,
            };
            Some((
                position(events, |what| *what == failed)?,
                token,
                first,
                second,
            ))
        });
    let confirmed_before = |at: usize, of: Id| {
        position(
            &events[..at],
            |what| matches!(what, What::Confirmed { message, .. } if *message == of),
        )
    };
    failures
        .filter(|(at, _, first, _)| confirmed_before(*at, *first).is_none())
        .collect()
}

/// A relay goes on with the run after a retry.
fn run_past_a_retry(events: &[Recorded]) -> Option<Mutated> {
    let (at, token, first, second) = *failures(events).first()?;
    let next = What::HandedOver {
        token,
        messages: vec![second],
    };
    Some((insert(events, at + 1, vec![next]), Rule::O5, first, second))
}

/// A publisher confirms what is behind a failure of the same call.
fn confirmed_past_a_retry(events: &[Recorded]) -> Option<Mutated> {
    let (at, token, first, second) = *failures(events).first()?;
    let next = What::Confirmed {
        token,
        message: second,
    };
    Some((insert(events, at + 1, vec![next]), Rule::O5, first, second))
}

/// Another relay hands over what is behind a waiting head.
fn past_a_waiting_head(events: &[Recorded]) -> Option<Mutated> {
    let (at, _, first, second) = *failures(events).first()?;
    let token = new_token(events);
    let next = What::HandedOver {
        token,
        messages: vec![second],
    };
    let claim = What::Claimed {
        token,
        lease_end: i64::MAX,
        messages: vec![(i64::MAX, second)],
    };
    Some((
        insert(events, at + 1, vec![claim, next]),
        Rule::O6,
        first,
        second,
    ))
}

/// A relay hands over the next message before the death of the one before is settled.
fn death_not_settled(events: &[Recorded]) -> Option<Mutated> {
    pairs(events).into_iter().find_map(|(claim, token, first, second)| {
        let over = |what: &Happened| {
            matches!(what,
                What::Died { message, .. } | What::Confirmed { message, .. } | What::Discarded { message }
                if *message == first)
        };
        let since = events.iter().position(|event| {
            matches!(event.what, What::Redriven { message, .. } if message == first)
        });
        let at = position(events, over)?;
        let died = matches!(events[at].what, What::Died { .. });
        let next = What::HandedOver { token, messages: vec![second] };
        (died && at > claim && since.is_none_or(|since| since > at))
            .then(|| (insert(events, at, vec![next]), Rule::O5, first, second))
    })
}

/// A relay hands over a run in the wrong order.
fn run_in_disorder(events: &[Recorded]) -> Option<Mutated> {
    let keyed_run =
        |what: &Happened| matches!(what, What::HandedOver { messages, .. } if messages.len() > 1);
    let at = position(events, keyed_run)?;
    let mut events = events.to_vec();
    let What::HandedOver { messages, .. } = &mut events[at].what else {
        return None;
    };
    let (first, second) = (messages[0], messages[1]);
    messages.swap(0, 1);
    Some((events, Rule::O5, first, second))
}

/// A store goes on with a key that a dead letter holds.
fn past_a_dead_letter(events: &[Recorded]) -> Option<Mutated> {
    events.iter().enumerate().find_map(|(at, event)| {
        let What::Died {
            message: first,
            after: AfterDeath::Hold,
        } = event.what
        else {
            return None;
        };
        let second = events.iter().find_map(|event| match event.what {
            What::Saved {
                message, key: of, ..
            } if message != first && of == key(events, first) => of.map(|_| message),
            _ => None,
        })?;
        let token = new_token(events);
        let claim = What::Claimed {
            token,
            lease_end: i64::MAX,
            messages: vec![(i64::MAX, second)],
        };
        Some((insert(events, at + 1, vec![claim]), Rule::O9, first, second))
    })
}

/// Two messages of one key in one claim that the broker received in turn under its token, each for the
/// first time and with neither given up on: where the claim and the two are.
fn received_in_turn(events: &[Recorded]) -> Option<(usize, usize, Id, Id)> {
    pairs(events).into_iter().find_map(|(claim, token, first, second)| {
        let receipt = |of: Id| {
            let at = position(events, |what| {
                matches!(what, What::Received { message, .. } if *message == of)
            })?;
            let died = position(&events[..at], |what| {
                matches!(what, What::Died { message, .. } | What::Discarded { message } if *message == of)
            });
            let ours = events[at].what == What::Received { message: of, token: Some(token) };
            (ours && died.is_none()).then_some(at)
        };
        let known = position(&events[..claim], |what| *what == What::Committed { message: first });
        let later = position(events, |what| {
            matches!(what, What::Saved { message, line: Line::Later, .. } if *message == first)
        });
        let (one, two) = (receipt(first)?, receipt(second)?);
        (known.is_some() && later.is_none()).then_some((one, two, first, second))
    })
}

/// The broker receives two messages in the wrong order.
fn received_in_disorder(events: &[Recorded]) -> Option<Mutated> {
    let (one, two, first, second) = received_in_turn(events)?;
    let mut events = events.to_vec();
    let receipt = events.remove(two).what;
    Some((
        insert(&events, one, vec![receipt]),
        Rule::O11,
        first,
        second,
    ))
}

/// The broker never receives a message.
fn lost(events: &[Recorded]) -> Option<Mutated> {
    let (_, _, first, second) = received_in_turn(events)?;
    let excused = |what: &Happened| matches!(what, What::Died { message, .. } | What::Discarded { message } if *message == first);
    if position(events, excused).is_some() {
        return None;
    }
    let kept = events
        .iter()
        .filter(|event| !matches!(event.what, What::Received { message, .. } if message == first));
    Some((kept.cloned().collect(), Rule::O11, first, second))
}

#[test]
fn o11_every_kind_of_wrong_history_is_accused_of_the_right_rule() {
    type Mutation = (&'static str, fn(&[Recorded]) -> Option<Mutated>);
    let mutations: [Mutation; 10] = [
        ("overtake", overtake),
        ("two holders", two_holders),
        ("run past a retry", run_past_a_retry),
        ("confirmed past a retry", confirmed_past_a_retry),
        ("past a waiting head", past_a_waiting_head),
        ("death not settled", death_not_settled),
        ("run in disorder", run_in_disorder),
        ("past a dead letter", past_a_dead_letter),
        ("received in disorder", received_in_disorder),
        ("lost", lost),
    ];
    let mut applied = [0; 10];
    let mut runner = TestRunner::deterministic();
    for _ in 0..500 {
        let events = World::history(actions().new_tree(&mut runner).unwrap().current());
        for ((name, mutation), applied) in mutations.iter().zip(&mut applied) {
            if let Some((mutated, rule, first, second)) = mutation(&events) {
                *applied += 1;
                let violations = check(&mutated);
                let accused = violations.iter().any(|violation| {
                    violation.rule == rule && violation.first == first && violation.second == second
                });
                assert!(
                    accused,
                    "{name}: {rule:?} {first} {second} in {mutated:#?}\n{violations:?}"
                );
            }
        }
    }
    for ((name, _), applied) in mutations.iter().zip(applied) {
        assert!(
            applied >= 20,
            "{name} could be done to {applied} histories only"
        );
    }
}
