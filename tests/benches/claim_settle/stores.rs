//! What the benches need of a kind of store.

use outbox::{Save, store::OutboxStore};

use crate::shape::Shape;

/// A kind of store.
pub(crate) trait Kind {
    /// How the rounds are called.
    const ROUNDS: &'static str;
    /// How the drains are called.
    const DRAINS: &'static str;
    /// One of them.
    type Opened: Opened;

    /// Makes one of this shape.
    async fn open(&self, shape: Shape) -> Self::Opened;
}

/// A store that nobody else uses.
pub(crate) trait Opened {
    /// Its relay side.
    type Store: OutboxStore + Clone;

    /// The relay side.
    fn store(&self) -> &Self::Store;

    /// Saves in a transaction of its own.
    async fn save(&self, saves: &[Save<'_>]);

    /// Closes it, and removes what was made.
    async fn close(self);
}
