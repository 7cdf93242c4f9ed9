//! One message of the model, and why a key waits.

use crate::state::State;

/// One message of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message<K, I> {
    /// Its id.
    pub id: I,
    /// Its position. `None` after a redrive to the tail, until a claim tells it.
    pub position: Option<i64>,
    /// Its topic.
    pub topic: u32,
    /// Its ordering key.
    pub key: Option<K>,
    /// Its state. The model sets nothing aside, so only a message that waits for its own retry is
    /// [`Waiting`](State::Waiting), and a message whose lease ended is held until a claim takes it.
    pub state: State,
    /// When it may run, in milliseconds; a keyed retry waits by its key's [`Block`] instead.
    pub due: u64,
    /// Counted failures.
    pub attempts: u32,
    /// Publish calls whose outcome was recorded.
    pub tries: u32,
    /// Whether it is in line for certain (O1).
    pub(super) in_line: bool,
    /// Its place among all allocations of positions.
    pub(super) born: u64,
}

impl<K, I> Message<K, I> {
    /// Whether this one has the smaller position. Two whose positions are unknown and were
    /// allocated together have no order.
    pub(super) fn is_before(&self, other: &Self) -> bool {
        match (self.position, other.position) {
            (Some(this), Some(other)) => this < other,
            _ => self.born < other.born,
        }
    }
}

/// Why a key waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// The position it waits for.
    pub position: i64,
    /// Until when, in milliseconds; `None` when only an operator ends it.
    pub until: Option<u64>,
    /// Whether the key must wait until then. It only may once what it waits for is gone.
    pub(super) firm: bool,
}
