//! Seeded randomness, and how much of it a run takes.

use std::env;

use rand::{RngExt, SeedableRng, rngs::StdRng};

/// A seeded source of choices.
#[derive(Debug)]
pub(crate) struct Dice(StdRng);

impl Dice {
    /// The choices of one role in the run with this seed.
    pub(crate) fn new(seed: u64, role: u64) -> Self {
        Self(StdRng::seed_from_u64(
            seed.wrapping_mul(1_000).wrapping_add(role),
        ))
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0.random_range(..end)
    }

    /// True in so many of a hundred cases.
    pub(crate) fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// Whether the long forms are asked for.
pub(crate) fn soak() -> bool {
    env::var_os("OUTBOX_SOAK").is_some()
}

/// So many seeds, or more of them in the long form; or the one that is asked for.
pub(crate) fn seeds(short: u64, long: u64) -> Vec<u64> {
    match env::var("OUTBOX_SEED") {
        Ok(seed) => vec![seed.parse().expect("OUTBOX_SEED is a number")],
        Err(_) => (1..=if soak() { long } else { short }).collect(),
    }
}

/// A line of the report of a long form.
#[expect(clippy::print_stdout, reason = "the report of the long form")]
pub(crate) fn report(line: &str) {
    println!("{line}");
}
