//! Both implementations by turns, and the table of what one call took.

use std::{
    fmt,
    time::{Duration, Instant},
};

use crate::reference::Reference;

/// How often each side has its turn.
const TURNS: usize = 101;

/// How long a turn is to take. Short, so that most turns are not interrupted.
const TURN: Duration = Duration::from_millis(2);

/// One thing that both sides do.
pub(crate) struct Operation<'a> {
    pub(crate) name: &'static str,
    /// As the reference calls it.
    theirs: &'static str,
    ours: Box<dyn Fn() + 'a>,
}

impl<'a> Operation<'a> {
    pub(crate) fn new(name: &'static str, theirs: &'static str, ours: impl Fn() + 'a) -> Self {
        Self {
            name,
            theirs,
            ours: Box::new(ours),
        }
    }

    pub(crate) fn once(&self) {
        (self.ours)();
    }

    fn times(&self, count: u32) -> Duration {
        let begin = Instant::now();
        for _ in 0..count {
            self.once();
        }
        begin.elapsed()
    }
}

/// Measures and prints, if there is a reference to measure.
pub(crate) fn print(operations: &[Operation<'_>]) {
    let mut reference = match Reference::start() {
        Ok(reference) => reference,
        Err(reason) => {
            report(format_args!("no reference to compare with: {reason}"));
            return;
        }
    };
    report(format_args!(
        "\n| one envelope of 328 bytes | outbox-envelope | {} | times |\n| --- | ---: | ---: | ---: |",
        reference.name()
    ));
    for operation in operations {
        let (ours, theirs) = medians(operation, &mut reference);
        report(format_args!(
            "| {} | {ours:.0} ns | {theirs:.0} ns | {:.1} |",
            operation.name,
            theirs / ours
        ));
    }
}

/// Nanoseconds a call.
fn medians(operation: &Operation<'_>, reference: &mut Reference) -> (f64, f64) {
    let mut ours = |count| operation.times(count);
    let mut theirs = |count| reference.times(operation.theirs, count);
    let counts = (suitable(&mut ours), suitable(&mut theirs));
    let turns: Vec<_> = (0..TURNS)
        .map(|_| {
            let one = ours(counts.0).as_secs_f64() / f64::from(counts.0);
            (one, theirs(counts.1).as_secs_f64() / f64::from(counts.1))
        })
        .collect();
    let (ours, theirs) = turns.into_iter().unzip();
    (median(ours), median(theirs))
}

/// How many calls take a turn.
fn suitable(times: &mut impl FnMut(u32) -> Duration) -> u32 {
    let mut count = 1;
    while times(count) < TURN {
        count *= 2;
    }
    count
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2] * 1e9
}

#[allow(
    clippy::print_stdout,
    reason = "a bench talks to the person who runs it"
)]
fn report(line: fmt::Arguments<'_>) {
    println!("{line}");
}
