//! The port to the dead-letter queues of brokers, and the redrive over it, which loses nothing. Leaves out which dead letters
//! go back, and to where: that is for whoever knows the wire format.

mod letter;
mod redrive;

use std::fmt::Debug;

use async_trait::async_trait;
use outbox_message::Topic;

use crate::{PublishError, Publisher};

pub use letter::Letter;
pub use redrive::{Choice, Redrive, RedriveError, Step};

/// A broker whose dead-letter queues can be read without emptying them.
///
/// ```
/// use outbox_message::Topic;
/// use outbox_publisher::{Choice, DeadQueues, Redrive, RedriveError, Step};
///
/// /// Returns everything to the topic `orders`, as it is, and says how much that was.
/// async fn redrive(broker: &dyn DeadQueues) -> Result<u64, RedriveError> {
///     let dead = Topic::new("orders.dlq").expect("it is a topic");
///     let orders = Topic::new("orders").expect("it is a topic");
///     let mut redriven = 0;
///     let mut redrive = Redrive::open(broker, &dead).await?;
///     loop {
///         let step = redrive.step(|letter| {
///             Choice::Publish(letter.message(orders.clone(), letter.payload.clone()).into())
///         });
///         match step.await? {
///             Step::Redriven | Step::Gone => redriven += 1,
///             Step::End => break,
///             _ => {}
///         }
///     }
///     redrive.close().await?;
///     Ok(redriven)
/// }
/// ```
#[async_trait]
pub trait DeadQueues: Publisher {
    /// Opens the queue that messages of `topic` go to, to read what is in it now. A queue that is not there is an error, unless
    /// the broker knows no difference between that and an empty one. So is a broker whose queues are not named after topics: dead
    /// letters would be read from the very queue that they return to.
    ///
    /// # Errors
    ///
    /// Why it cannot be read.
    async fn dead_queue(&self, topic: &Topic) -> Result<Box<dyn DeadQueue>, PublishError>;

    /// What dead letters are published through. It takes no "I have had that" for a confirmation, since a source may remember
    /// the message that died.
    fn redriver(&self) -> Box<dyn Publisher>;

    /// Whether what is published there has its headers.
    fn keeps_headers(&self) -> bool {
        true
    }
}

/// A dead-letter queue that is being read.
///
/// Obligations:
///
/// * **Q1** `next` removes nothing: a crash, an error, or dropping this leaves every dead letter in the queue that was not removed.
/// * **Q2** What is read is bounded by what was there when it was opened: dead letters that come later are not read.
/// * **Q3** Dead letters are read in the order of the queue. Those that are not removed stay, in their order.
/// * **Q4** `remove` removes the dead letter that `next` returned last, or, if that is not there any more, nothing.
/// * **Q5** Every call is safe to cancel: dropping its future loses nothing, though a removal may have happened or not.
#[async_trait]
pub trait DeadQueue: Debug + Send {
    /// Reads the next dead letter; `None` behind the last.
    ///
    /// # Errors
    ///
    /// Why it cannot be read.
    async fn next(&mut self) -> Result<Option<Letter>, PublishError>;

    /// Removes the dead letter that [`next`](Self::next) returned last. False if somebody else removed it meanwhile, as far as
    /// the broker tells.
    ///
    /// # Errors
    ///
    /// Why it may be there still.
    async fn remove(&mut self) -> Result<bool, PublishError>;

    /// Gives back what was read and not removed, and waits until what was removed is gone. What is only dropped is given back
    /// too, some time later.
    ///
    /// # Errors
    ///
    /// Why a removal may not have happened.
    async fn close(&mut self) -> Result<(), PublishError> {
        Ok(())
    }
}
