//! The redrive: read one dead letter, publish it, and remove it only after it was confirmed.

use outbox_message::{Delivery, Lane, LaneToken, Message, Position, Topic};
use thiserror::Error;

use super::{DeadQueue, DeadQueues, Letter};
use crate::{PublishError, PublishErrorKind, Publisher, Run};

/// Brings dead letters back, one a [`step`](Self::step).
///
/// Nothing is lost, whatever fails: a dead letter is removed only after the broker confirmed its message. What fails in between,
/// or ends the process, leaves it in its queue, and then it may come twice, with the same id.
///
/// Several may run over one queue at the same time. None loses anything; where the broker lets two read the same dead letter, which
/// Redis and NATS do and `RabbitMQ` does not, both may publish it.
#[derive(Debug)]
pub struct Redrive {
    topic: Topic,
    queue: Box<dyn DeadQueue>,
    publisher: Box<dyn Publisher>,
    token: LaneToken,
}

/// What becomes of a dead letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// This message is published in its place.
    Publish(Box<Message>),
    /// It stays where it is.
    Leave,
}

/// What became of one.
#[derive(Debug)]
#[non_exhaustive]
pub enum Step {
    /// It was published, and removed.
    Redriven,
    /// It was published, and somebody else has removed it meanwhile: it may have come twice.
    Gone,
    /// It stays where it is, as was chosen.
    Left,
    /// It stays where it is: the broker can take no such message, now or later. Those behind it may go all the same.
    Refused(PublishError),
    /// There are no more.
    End,
}

/// Why a redrive cannot go on. All that was not redriven before is still in the dead-letter queue.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RedriveError {
    /// The dead-letter queue cannot be read.
    #[error("the dead-letter queue cannot be read")]
    Read(#[source] PublishError),
    /// A message was not confirmed; its dead letter is where it was. It may have arrived all the same.
    #[error("a dead letter was not confirmed and stays where it is")]
    Publish(#[source] PublishError),
    /// A message was confirmed, and its dead letter may not be removed: then it comes twice.
    #[error("a dead letter was published and may not be removed, so that it may come twice")]
    Remove(#[source] PublishError),
}

impl Redrive {
    /// Opens the dead-letter queue that messages of `topic` go to.
    ///
    /// # Errors
    ///
    /// [`RedriveError::Read`].
    pub async fn open(queues: &dyn DeadQueues, topic: &Topic) -> Result<Self, RedriveError> {
        let queue = queues.dead_queue(topic).await;
        Ok(Self {
            topic: topic.clone(),
            queue: queue.map_err(RedriveError::Read)?,
            publisher: queues.redriver(),
            // There is no lane: no broker fences what is published without a key of the store.
            token: LaneToken {
                lane: Lane(0),
                epoch: 0,
                holder: "redrive".into(),
            },
        })
    }

    /// Takes the next dead letter to where `choose` says. Without a limit of time: dropping the future leaves that dead letter
    /// where it is, though its message may have arrived, and the next step is about the one behind it.
    ///
    /// # Errors
    ///
    /// [`RedriveError`]; the redrive should end then.
    pub async fn step(
        &mut self,
        choose: impl FnOnce(&Letter) -> Choice,
    ) -> Result<Step, RedriveError> {
        let Some(mut letter) = self.queue.next().await.map_err(RedriveError::Read)? else {
            return Ok(Step::End);
        };
        letter.queue = Some(self.topic.clone());
        let message = match choose(&letter) {
            Choice::Publish(message) => *message,
            Choice::Leave => return Ok(Step::Left),
        };
        drop(letter);
        if let Err(failure) = self.publish(message).await {
            return match failure.kind {
                PublishErrorKind::TooLarge | PublishErrorKind::Malformed => {
                    Ok(Step::Refused(failure))
                }
                _ => Err(RedriveError::Publish(failure)),
            };
        }
        let removed = self.queue.remove().await;
        let removed = removed.map_err(RedriveError::Remove)?;
        Ok(if removed { Step::Redriven } else { Step::Gone })
    }

    /// Ends it: what was left is in the queue again, and what was redriven is not.
    ///
    /// # Errors
    ///
    /// [`RedriveError::Remove`].
    pub async fn close(mut self) -> Result<(), RedriveError> {
        let closed = self.queue.close().await;
        closed.map_err(RedriveError::Remove)
    }

    async fn publish(&self, message: Message) -> Result<(), PublishError> {
        let delivery = Delivery {
            lane: self.token.lane,
            position: Position(0),
            attempts: 0,
            tries: 0,
            starts: 0,
            message,
        };
        let destination = self.publisher.destination(&delivery.message.topic);
        let run = Run {
            destination: &destination,
            token: &self.token,
            messages: std::slice::from_ref(&delivery),
        };
        let published = self.publisher.publish(run).await;
        match (published.confirmed, published.failure) {
            (1.., _) => Ok(()),
            (0, Some(failure)) => Err(failure),
            (0, None) => Err(PublishError::new(
                PublishErrorKind::Unknown,
                "the publisher neither confirmed the message nor said why",
            )),
        }
    }
}
