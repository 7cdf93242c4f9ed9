//! The publisher port itself.

use std::{fmt::Debug, sync::Arc};

use async_trait::async_trait;
use outbox_message::{Delivery, LaneToken, Topic};

use crate::PublishError;

/// Hands messages to a broker.
///
/// Obligations:
///
/// * **B1** A message counts as confirmed only after the broker said that it has it (D1).
/// * **B2** Within a run, a message is given to the broker only after all before it were confirmed, unless the broker guarantees that
///   the failure of one fails those after it too (O5).
/// * **B3** The payload's bytes are published as they are (C2), with the message id, so that consumers can drop duplicates (C3).
/// * **B4** `publish` is safe to cancel: dropping its future may leave a message published or not, and breaks nothing else.
/// * **B5** A publisher may be called for many runs at once, never for two of one ordering key.
/// * **B6** It never sleeps to wait out a failure; it says what happened and returns.
#[async_trait]
pub trait Publisher: Debug + Send + Sync + 'static {
    /// Where messages of `topic` go: one circuit for each name (F3). The same topic always gives the same name.
    fn destination(&self, topic: &Topic) -> &str;

    /// Publishes a run and confirms a prefix of it.
    async fn publish(&self, run: Run<'_>) -> Published;
}

/// Messages of one ordering key in position order, all to one destination; an unkeyed message is a run of one. Never empty.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// What [`Publisher::destination`] said.
    pub destination: &'a str,
    /// The token of the lane, for brokers that can fence.
    pub token: &'a LaneToken,
    /// The messages.
    pub messages: &'a [Delivery],
}

/// How far a run got.
#[derive(Debug)]
pub struct Published {
    /// How many messages were confirmed, from the first on.
    pub confirmed: usize,
    /// Why the next one was not. `None` is right only if all were confirmed.
    pub failure: Option<PublishError>,
}

impl Published {
    /// Every message of the run was confirmed.
    pub fn all(run: Run<'_>) -> Self {
        Self {
            confirmed: run.messages.len(),
            failure: None,
        }
    }

    /// The first `confirmed` messages were confirmed, and the next one failed.
    pub fn failed(confirmed: usize, failure: PublishError) -> Self {
        Self {
            confirmed,
            failure: Some(failure),
        }
    }
}

#[async_trait]
impl<P: Publisher + ?Sized> Publisher for Arc<P> {
    fn destination(&self, topic: &Topic) -> &str {
        (**self).destination(topic)
    }

    async fn publish(&self, run: Run<'_>) -> Published {
        (**self).publish(run).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn _dyn_compatible(_: &dyn Publisher) {}
}
