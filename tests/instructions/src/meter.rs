//! Tells the work that is counted from what prepares it.

use std::hint::black_box;

/// Whether instructions are to be counted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Meter {
    On,
    Off,
}

impl Meter {
    /// Does some work and, if it is on, has its instructions counted. What it returns is dropped by the caller, uncounted.
    pub(crate) fn count<T>(self, work: impl FnOnce() -> T) -> T {
        match self {
            Self::On => instructions_of(work),
            Self::Off => black_box(work()),
        }
    }
}

/// Callgrind is told to count from where a function of this name is entered to where it is left.
#[inline(never)]
fn instructions_of<T>(work: impl FnOnce() -> T) -> T {
    black_box(work())
}
