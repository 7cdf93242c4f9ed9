//! One run on its way: each message is sent when the one before it was confirmed.

use std::time::Instant;

use outbox_message::{Delivery, Message};
use outbox_publisher::{PublishError, PublishErrorKind, Published, Run};

use crate::{
    failure::{self, Fault},
    link::Link,
    target::Target,
};

/// What one run needs.
pub(crate) struct Sending<'a> {
    target: &'a Target,
    topic: &'a str,
    began: Instant,
}

impl<'a> Sending<'a> {
    pub(crate) fn new(target: &'a Target, topic: &'a str) -> Self {
        Self {
            target,
            topic,
            began: Instant::now(),
        }
    }

    /// Publishes messages until one is not confirmed.
    ///
    /// The library cannot take a record back, so a call that is dropped may leave one that is delivered later. This is why the
    /// fate of every record is known within two message timeouts, which is before a relay drops the call: nothing is handed over
    /// after the first of them, and no record lives longer than the second.
    pub(crate) async fn publish(&self, run: Run<'_>) -> Published {
        for (confirmed, Delivery { message, .. }) in run.messages.iter().enumerate() {
            if let Err(failure) = self.publish_one(message).await {
                return Published::failed(confirmed, failure);
            }
        }
        Published::all(run)
    }

    /// Publishes one message, once more by itself if it was refused together with others: what a broker says of a batch may be
    /// said of any record in it.
    async fn publish_one(&self, message: &Message) -> Result<(), PublishError> {
        match self.deliver(&self.target.batching, message).await {
            Err(Refusal::Fault(fault, _)) if fault.may_be_of_another() => {
                let again = self.deliver(&self.target.single, message).await;
                again.map_err(Refusal::into_error)
            }
            delivered => delivered.map_err(Refusal::into_error),
        }
    }

    /// Hands a message to the client of this link.
    ///
    /// A client whose numbering of records has come to an end is given up. So is one that confirmed nothing in a whole message
    /// timeout: it may be the brokers, and then another one does no better, but a client can also be stuck where its cluster has lost
    /// what it knew of it.
    async fn deliver(&self, link: &Link, message: &Message) -> Result<(), Refusal> {
        let client = link.client().await;
        let client = client.map_err(|error| Refusal::Error(self.target.no_client(error)))?;
        if self.began.elapsed() >= self.target.config.message_timeout {
            return Err(Refusal::Error(late()));
        }
        let before = client.confirmed();
        match client.deliver(message, self.topic).await {
            Ok(()) => Ok(()),
            Err(code) => {
                let mut fault = failure::of(code);
                // A fatal error of the producer is the reason, whatever the code of this record.
                if client.fatal().is_some() {
                    fault = Fault::Numbering;
                }
                let is_silent = fault == Fault::Timeout && client.confirmed() == before;
                if is_silent || fault == Fault::Numbering {
                    link.forget(&client);
                }
                let error = self.target.not_delivered(self.topic, &client, fault, code);
                Err(Refusal::Fault(fault, error))
            }
        }
    }
}

/// Why a record was not delivered.
enum Refusal {
    /// The library said so about the record.
    Fault(Fault, PublishError),
    /// It was not handed over.
    Error(PublishError),
}

impl Refusal {
    fn into_error(self) -> PublishError {
        match self {
            Self::Fault(_, error) | Self::Error(error) => error,
        }
    }
}

/// The rest of a run that took long comes again in another one.
fn late() -> PublishError {
    let text = "the call has taken a whole message timeout already; the rest comes in another one";
    PublishError::new(PublishErrorKind::Interrupted, text)
}
