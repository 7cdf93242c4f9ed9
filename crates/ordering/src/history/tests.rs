//! What the judge sees and what it must not see, one rule at a time.

mod precedence;
mod turn;

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
