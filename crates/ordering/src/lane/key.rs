//! One ordering key of a lane: what of it has not started, and what keeps that from starting.

use std::collections::VecDeque;

/// What is left of one ordering key in this lane.
#[derive(Debug, Clone)]
pub(super) struct KeyLine<P> {
    /// Entries that have not started, in position order.
    pub(super) queue: VecDeque<P>,
    pub(super) runs: bool,
    /// The death that must be settled before the queue may go on.
    pub(super) burying: Option<P>,
    /// How many entries have an outcome that ends the key and is not settled.
    pub(super) ended: usize,
}

impl<P: Copy + Ord> KeyLine<P> {
    pub(super) fn new() -> Self {
        Self {
            queue: VecDeque::new(),
            runs: false,
            burying: None,
            ended: 0,
        }
    }

    /// What may start next of this key.
    pub(super) fn head(&self) -> Option<P> {
        let idle = !self.runs && self.burying.is_none();
        self.queue.front().copied().filter(|_| idle)
    }

    /// Puts an entry into its place by position.
    pub(super) fn push(&mut self, position: P) {
        let at = match self.queue.back() {
            Some(last) if *last > position => self.queue.partition_point(|it| *it < position),
            _ => self.queue.len(),
        };
        self.queue.insert(at, position);
    }
}
