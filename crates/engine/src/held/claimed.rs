//! A message that a lane holds and that has no outcome yet: to be handed over, or to die without.

use outbox_message::{Delivery, OrderingKey};
use outbox_store::{DeathReason, Entry, Target, clean_error};

use crate::RelayConfig;

/// A message that has no outcome yet.
#[derive(Debug)]
pub(super) enum Claimed {
    Message(Delivery),
    /// It must die without being handed over: each of its recorded starts ended with the process.
    Poison(Delivery),
    /// So must this: it cannot be read, and this is why.
    Unreadable(Target, String),
}

impl Claimed {
    pub(super) fn from(entry: Entry, config: &RelayConfig) -> Self {
        match entry {
            Entry::Message(delivery) if delivery.starts >= config.careful_limit => {
                Self::Poison(delivery)
            }
            Entry::Message(delivery) => Self::Message(delivery),
            Entry::Unreadable(row) => Self::Unreadable(Target::from(&row), clean_error(&row.error)),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Message(delivery) | Self::Poison(delivery) => delivery.message.weight(),
            Self::Unreadable(..) => 0,
        }
    }

    pub(super) fn key(&self) -> Option<OrderingKey> {
        match self {
            Self::Message(delivery) | Self::Poison(delivery) => delivery.ordering_key(),
            Self::Unreadable(target, _) => target.key.clone(),
        }
    }

    /// Why it must die without being handed over, if it must.
    pub(super) fn doom(&self) -> Option<(DeathReason, String)> {
        match self {
            Self::Message(_) => None,
            Self::Poison(delivery) => {
                let starts = delivery.starts;
                let error = format!("each of its {starts} recorded starts ended with the process");
                Some((DeathReason::Poison, error))
            }
            Self::Unreadable(_, error) => Some((DeathReason::Unreadable, error.clone())),
        }
    }
}
