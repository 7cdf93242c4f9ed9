//! A lane that a claim works on, and what it found in it.

use outbox_ordering::{line::LineRead, share::Candidate};

use super::{choose::LaneSeen, line::Keyed};

/// A lane that was leased or is read on, and what was found in it.
pub(super) struct LaneWork {
    pub(super) seen: LaneSeen,
    /// It is read on: its place in the request.
    pub(super) read_on: Option<usize>,
    pub(super) epoch: i64,
    pub(super) careful: bool,
    /// How far the line is known to be of one key, as it was and as it is.
    pub(super) ahead_before: i64,
    pub(super) ahead: i64,
    pub(super) line: LineRead<Keyed>,
    /// Messages in line whose topics are stopped: those whose keys are to be blocked, and those without one.
    pub(super) stopped: Vec<i64>,
    pub(super) unkeyed: Vec<i64>,
    /// A key was found to keep the lane to itself.
    pub(super) busy: bool,
    /// Messages of due keys.
    pub(super) waiting: Vec<Candidate>,
    pub(super) chosen: Vec<Candidate>,
}

impl LaneWork {
    pub(super) fn new(seen: LaneSeen) -> Self {
        Self {
            epoch: seen.epoch,
            seen,
            read_on: None,
            careful: false,
            ahead_before: 0,
            ahead: 0,
            line: LineRead::default(),
            stopped: Vec::new(),
            unkeyed: Vec::new(),
            busy: false,
            waiting: Vec::new(),
            chosen: Vec::new(),
        }
    }

    pub(super) fn lane(&self) -> u16 {
        self.seen.lane
    }

    /// Whether it gave nothing only because the limits were used up; then it keeps its turn.
    pub(super) fn was_cut_off(&self) -> bool {
        self.chosen.is_empty() && !(self.line.runnable.is_empty() && self.waiting.is_empty())
    }
}
