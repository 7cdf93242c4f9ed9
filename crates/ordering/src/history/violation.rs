//! What the judge reports.

use std::fmt;

use super::index::Index;

/// A rule of the contract that a history can break.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// A message was claimed without one that precedes it.
    O2,
    /// Two leases held messages of one ordering key at the same time.
    O3,
    /// A message was handed over before the one ahead of it in its run was confirmed or dead.
    O5,
    /// A message was handed over while one before it waits for a retry.
    O6,
    /// A message went out while a dead letter holds its key.
    O9,
    /// The broker first received a message before one that precedes it.
    O11,
}

/// One broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation<I> {
    /// The rule.
    pub rule: Rule,
    /// The message that should have come first, or that was held first.
    pub first: I,
    /// The message that should not have gone out yet.
    pub second: I,
    /// The indexes of the events that show it in the history: one that says why `first` comes
    /// before, and one that says what happened to `second`.
    pub events: [usize; 2],
}

impl<I: fmt::Display> fmt::Display for Violation<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            rule,
            first,
            second,
            events: [reason, event],
        } = self;
        match rule {
            Rule::O2 => write!(
                f,
                "O2: {second} was claimed (event {event}) without {first}, which was in line (event {reason})"
            ),
            Rule::O3 => write!(
                f,
                "O3: {second} was claimed (event {event}) while another lease held {first} of its key (event {reason})"
            ),
            Rule::O5 => write!(
                f,
                "O5: {second} was handed over (event {event}) before {first} was confirmed or dead (event {reason})"
            ),
            Rule::O6 => write!(
                f,
                "O6: {second} was handed over (event {event}) while {first} waits for a retry (event {reason})"
            ),
            Rule::O9 => write!(
                f,
                "O9: {second} went out (event {event}) while the dead letter {first} holds its key (event {reason})"
            ),
            Rule::O11 => write!(
                f,
                "O11: {second} was first received (event {event}) before {first}, which precedes it (event {reason})"
            ),
        }
    }
}

/// A violation whose messages are still indexes; ordered by the event that broke the rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Found {
    pub(super) event: usize,
    pub(super) rule: Rule,
    pub(super) second: usize,
    pub(super) first: usize,
    pub(super) reason: usize,
}

impl Found {
    pub(super) fn name<I: Clone>(self, index: &Index<'_, I>) -> Violation<I> {
        Violation {
            rule: self.rule,
            first: index.stories[self.first].id.clone(),
            second: index.stories[self.second].id.clone(),
            events: [self.reason, self.event],
        }
    }
}
