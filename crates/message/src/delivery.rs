//! A message on its way through a relay: where it stands in its store, and the token of the lane it was claimed with.

use std::{fmt, sync::Arc};

use crate::{Message, OrderingKey};

/// The number a store gives a message when it is saved; it grows in the order of saving and orders the messages of one store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(pub i64);

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One of a store's fixed number of hash buckets of ordering keys; leased by one relay at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lane(pub u16);

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The fencing token of a leased lane. It changes at every lease and at every release (contract D2).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LaneToken {
    /// The lane it holds.
    pub lane: Lane,
    /// Grows by one at every lease and every release of the lane.
    pub epoch: i64,
    /// Drawn at random for the claim, so that a store that lost commits cannot give the same token twice.
    pub holder: Arc<str>,
}

/// A claimed message: what a relay hands to a publisher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The lane it was claimed in.
    pub lane: Lane,
    /// Its place in the store's order.
    pub position: Position,
    /// Counted failures so far.
    pub attempts: u32,
    /// Publish calls whose outcome was recorded so far, counted or not.
    pub tries: u32,
    /// Hand-overs in careful service that ended with the process, in a row (contract F6).
    pub starts: u32,
    /// The message itself, byte for byte as it was saved.
    pub message: Message,
}

impl Delivery {
    /// The ordering key, if the message has a key.
    pub fn ordering_key(&self) -> Option<OrderingKey> {
        self.message.ordering_key()
    }
}
