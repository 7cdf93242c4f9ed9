//! The life of a lane with 500 messages, one path for each step of it: everything is confirmed.

use std::fmt;
use std::iter;

use outbox_message::{OrderingKey, PartitionKey, Position, Topic};
use outbox_ordering::Lane;
use outbox_ordering::lane::Entry;

use super::Path;
use crate::meter::Meter;

const MESSAGES: i64 = 500;

/// What a claim handed out, and how much of a key the publisher takes at once.
#[derive(Clone, Copy, Debug)]
struct Shape {
    name: &'static str,
    /// None if the messages have no key.
    keys: Option<i64>,
    longest_run: usize,
}

const SHAPES: [Shape; 4] = [
    Shape {
        name: "1 key, one by one",
        keys: Some(1),
        longest_run: 1,
    },
    Shape {
        name: "1 key, runs of 100",
        keys: Some(1),
        longest_run: 100,
    },
    Shape {
        name: "500 keys",
        keys: Some(500),
        longest_run: 1,
    },
    Shape {
        name: "unkeyed",
        keys: None,
        longest_run: 1,
    },
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Admit,
    NextRun,
    Complete,
    Settled,
}

const STEPS: [Step; 4] = [Step::Admit, Step::NextRun, Step::Complete, Step::Settled];

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Admit => "admit",
            Self::NextRun => "next_run",
            Self::Complete => "complete",
            Self::Settled => "settled",
        })
    }
}

pub(super) fn paths() -> impl Iterator<Item = Path> {
    SHAPES.into_iter().flat_map(|shape| {
        let steps = STEPS.into_iter().filter(move |step| shape.shows(*step));
        steps.map(move |step| {
            let name = format!("lane of {MESSAGES} messages, {}: {step}", shape.name);
            Path::new(name, move |meter| serve(shape, step, meter))
        })
    })
}

/// Serves a lane to its end, as many runs under way as there can be, and counts one step of it.
fn serve(shape: Shape, counted: Step, meter: Meter) {
    let when = |step| if step == counted { meter } else { Meter::Off };
    let entries = shape.entries();
    let mut lane = when(Step::Admit).count(|| Lane::admit(entries));
    while !lane.is_done() {
        let next = || when(Step::NextRun).count(|| lane.next_run(shape.longest_run));
        for run in iter::from_fn(next).collect::<Vec<_>>() {
            let confirmed = run.positions.len();
            let outcomes = when(Step::Complete).count(|| lane.complete(run.id, confirmed, None));
            for (position, _) in outcomes {
                when(Step::Settled).count(|| lane.settled(position));
            }
        }
    }
}

impl Shape {
    /// Whether a step costs something else than in another shape: how long runs are changes nothing before and after them.
    fn shows(self, step: Step) -> bool {
        self.longest_run == 1 || step == Step::NextRun || step == Step::Complete
    }

    fn entries(self) -> Vec<Entry<OrderingKey, Position>> {
        let entry = |at| Entry::message(Position(at), self.keys.map(|keys| key(at % keys)));
        (0..MESSAGES).map(entry).collect()
    }
}

fn key(number: i64) -> OrderingKey {
    OrderingKey {
        topic: Topic::new("orders").expect("it is a topic"),
        key: PartitionKey::new(format!("order-{number}")).expect("it is a key"),
    }
}
