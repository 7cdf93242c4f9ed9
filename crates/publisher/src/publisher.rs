//! The publisher port itself.

use std::{borrow::Cow, fmt::Debug, sync::Arc, time::Duration};

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
    /// Where messages of `topic` go: one circuit for each name (F3). The same topic always gives the same name. People read it in
    /// logs and in the status, so it holds no secret. What can be missing for one topic alone, such as a queue, is part of it.
    fn destination<'a>(&'a self, topic: &'a Topic) -> Cow<'a, str>;

    /// Whether every topic has the same destination. While it is down a relay then claims nothing but probes; otherwise it
    /// stops the topics whose destinations are down, and the others go on.
    fn has_one_destination(&self) -> bool {
        true
    }

    /// How long one call of `publish` may take by the publisher's own limits, which a relay must wait for: what is dropped before is
    /// neither confirmed nor known to be lost. Zero: dropping a call at any time does no more than that.
    fn longest_call(&self) -> Duration {
        Duration::ZERO
    }

    /// The most messages one call of `publish` is given. One lets each message have the whole time of a call for itself.
    fn longest_run(&self) -> usize {
        usize::MAX
    }

    /// Publishes a run and confirms a prefix of it.
    async fn publish(&self, run: Run<'_>) -> Published;

    /// Looks whether the broker answers and takes our credentials, whatever the topic. A publisher that cannot tell says yes.
    ///
    /// # Errors
    ///
    /// Why it cannot be reached.
    async fn reach(&self) -> Result<(), PublishError> {
        Ok(())
    }

    /// Looks whether messages of `topic` could be published now: the broker answers, takes our credentials, and has what it
    /// publishes to. Publishes nothing. A publisher that cannot tell says yes.
    ///
    /// # Errors
    ///
    /// What publishing a message would most likely fail with.
    async fn check(&self, _topic: &Topic) -> Result<(), PublishError> {
        Ok(())
    }
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
    fn destination<'a>(&'a self, topic: &'a Topic) -> Cow<'a, str> {
        (**self).destination(topic)
    }

    fn has_one_destination(&self) -> bool {
        (**self).has_one_destination()
    }

    fn longest_call(&self) -> Duration {
        (**self).longest_call()
    }

    fn longest_run(&self) -> usize {
        (**self).longest_run()
    }

    async fn publish(&self, run: Run<'_>) -> Published {
        (**self).publish(run).await
    }

    async fn reach(&self) -> Result<(), PublishError> {
        (**self).reach().await
    }

    async fn check(&self, topic: &Topic) -> Result<(), PublishError> {
        (**self).check(topic).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn _dyn_compatible(_: &dyn Publisher) {}
}
