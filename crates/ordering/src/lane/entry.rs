//! The values that go into a lane and come out of it.

use crate::state::AfterDeath;

/// One thing that a claim handed out of a lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<K, P> {
    /// Its place among the messages of the store.
    pub position: P,
    /// Its ordering key; `None` orders it against nothing.
    pub key: Option<K>,
    /// Whether it can be published at all.
    pub kind: EntryKind,
}

impl<K, P> Entry<K, P> {
    /// A message that can be published.
    pub fn message(position: P, key: Option<K>) -> Self {
        Self {
            position,
            key,
            kind: EntryKind::Message,
        }
    }

    /// A row that cannot be read and has to die in its turn, with its key if that much is known.
    pub fn unreadable(position: P, key: Option<K>) -> Self {
        Self {
            position,
            key,
            kind: EntryKind::Unreadable,
        }
    }
}

/// Whether an entry, or a run, can be published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EntryKind {
    /// It can be published.
    Message,
    /// It cannot be read. It is to be completed with [`Verdict::Dead`], without a publish call.
    Unreadable,
}

/// Names one run of one lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(pub(super) u64);

/// Messages of one ordering key, to be handed to the broker in this order; or one without a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run<P> {
    /// What to complete it by.
    pub id: RunId,
    /// An unreadable entry is always a run of one.
    pub kind: EntryKind,
    /// At least one position, ascending.
    pub positions: Vec<P>,
}

/// What a relay decided about the first message of a run that was not confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It is tried again in a later claim, at once or after a delay.
    Retry,
    /// It is given up on.
    Dead(AfterDeath),
    /// Nothing was learned about it.
    Release,
}

impl Verdict {
    pub(super) fn outcome(self) -> Outcome {
        match self {
            Self::Retry => Outcome::Retry,
            Self::Dead(_) => Outcome::Dead,
            Self::Release => Outcome::Release,
        }
    }
}

/// What is to be settled for one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The broker confirmed it.
    Published,
    /// It failed and is tried again: the message that [`Verdict::Retry`] judged.
    Retry,
    /// It is given up on: the message that [`Verdict::Dead`] judged.
    Dead,
    /// It is given back untried.
    Release,
}
