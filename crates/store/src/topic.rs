//! Stopped topics: what a store keeps to itself because an operator paused the topic, or because its destination is down.

use std::{sync::Arc, time::Duration};

use outbox_message::Topic;

/// A relay with several destinations says that one of them is down: messages of these topics stay with the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DestinationStop {
    /// The topics, each once.
    pub topics: Vec<Topic>,
    /// The destination that is down.
    pub destination: String,
    /// The relay that says so.
    pub relay: Arc<str>,
    /// How long it holds if the relay does not say so again.
    pub lease: Duration,
    /// The last error, cleaned.
    pub error: String,
}

/// A topic that is stopped, as `status` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoppedTopic {
    /// The topic.
    pub topic: String,
    /// Why.
    pub cause: StopCause,
    /// How long it has been stopped.
    pub stopped_for: Duration,
    /// How long it still is, if nobody says more: zero when it is over and what it set aside is being freed; `None` until it is resumed.
    pub until: Option<Duration>,
    /// The destination that is down.
    pub destination: Option<String>,
    /// The relay that said so last.
    pub relay: Option<String>,
    /// The last error.
    pub error: Option<String>,
}

/// Why a topic is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopCause {
    /// An operator paused it.
    Paused,
    /// Its destination is down.
    Destination,
}

impl StopCause {
    /// The word that stores keep.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Paused => "paused",
            Self::Destination => "destination",
        }
    }

    /// Reads the word back.
    pub fn parse(word: &str) -> Option<Self> {
        let all = [Self::Paused, Self::Destination];
        all.into_iter().find(|cause| cause.as_str() == word)
    }
}
