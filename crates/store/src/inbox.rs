//! The inbox side of the port: which messages a consumer has handled, recorded inside the transaction that handles them, and how that transaction is opened.
//! Leaves out who handles, and in which order.

use std::{fmt, str::FromStr, sync::Arc};

use async_trait::async_trait;
use outbox_message::{InvalidMessage, MessageId};

use crate::{SaveError, StoreError};

/// Who handles: a name of 1 to 255 bytes without control characters. Each consumer handles a message id once, whatever others did with it.
///
/// ```
/// use outbox_store::Consumer;
///
/// let consumer = Consumer::new("billing")?;
/// assert_eq!(consumer.as_str(), "billing");
/// assert!(Consumer::new("").is_err());
/// # Ok::<(), outbox_message::InvalidMessage>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Consumer(Arc<str>);

impl Consumer {
    /// The most bytes it may have.
    pub const MAX_BYTES: usize = 255;

    /// Checks `text` and takes it.
    ///
    /// # Errors
    ///
    /// [`InvalidMessage`] if `text` is empty, too long, or has a control character.
    pub fn new(text: impl AsRef<str>) -> Result<Self, InvalidMessage> {
        const PART: &str = "consumer";
        let (text, max) = (text.as_ref(), Self::MAX_BYTES);
        if text.is_empty() {
            return Err(InvalidMessage::Empty { part: PART, max });
        }
        if text.len() > max {
            return Err(InvalidMessage::TooLong {
                part: PART,
                len: text.len(),
                max,
            });
        }
        match text.chars().find(|c| c.is_control()) {
            Some(c) => Err(InvalidMessage::Control {
                part: PART,
                code: u32::from(c),
            }),
            None => Ok(Self(Arc::from(text))),
        }
    }

    /// The text itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Consumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl fmt::Display for Consumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for Consumer {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl FromStr for Consumer {
    type Err = InvalidMessage;

    fn from_str(text: &str) -> Result<Self, InvalidMessage> {
        Self::new(text)
    }
}

/// Whether a message is handled for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use = "a duplicate is not to be handled again"]
pub enum Handled {
    /// This transaction is the one that handles it; the id is recorded if it commits.
    First,
    /// A transaction that committed handled it, or this one did already. Nothing was recorded.
    Duplicate,
}

/// Records handled message ids inside a transaction of type `C` that handles them.
///
/// Obligations:
///
/// * **I1** An id is recorded if and only if the transaction commits; what it rolls back, a savepoint included, it forgets.
/// * **I2** Of two transactions that ask for one id of one consumer at the same time the second waits for the first, and is then told
///   [`Handled::Duplicate`] if the first committed and [`Handled::First`] if it rolled back. Where it cannot be told that, because it must not see what the
///   first did, it fails with [`SaveError::Conflict`] or [`SaveError::Busy`], and is to be tried again from its beginning.
/// * **I3** Consumers do not see each other's ids. An id is compared byte for byte.
/// * **I4** It begins nothing and commits nothing, and refuses a connection without an open transaction with [`SaveError::NoTransaction`].
/// * **I5** `once` costs one statement, and its cost does not grow with the number of ids.
/// * **I6** An id is recorded until it is forgotten: by `forget`, or by age, by a purge or by upkeep that was told to do so.
///
/// Not promised: that a handler's effects outside of this transaction happen once, and that an id is known as handled after it was forgotten.
///
/// A store type has exactly one implementation, so that `once(&mut tx, ..)` infers `C`.
#[async_trait]
pub trait InboxWriter<C: ?Sized + Send>: Send + Sync {
    /// Records that `consumer` handles the message in this transaction, unless it was handled.
    ///
    /// Dropping the future midway leaves open whether the id is recorded in the transaction: roll it back.
    async fn once(
        &self,
        tx: &mut C,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Result<Handled, SaveError>;

    /// Forgets that `consumer` handled the message, so that the next delivery is handled. `false` if it was not recorded. Whether it waits for another
    /// transaction that records the id, or does not see it yet, differs between stores.
    async fn forget(
        &self,
        tx: &mut C,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Result<bool, SaveError>;
}

/// The obligations of [`InboxWriter`] for connections that block.
pub trait SyncInboxWriter<C: ?Sized> {
    /// Records that `consumer` handles the message in this transaction, unless it was handled.
    fn once(&self, tx: &mut C, consumer: &Consumer, id: &MessageId) -> Result<Handled, SaveError>;

    /// Forgets that `consumer` handled the message, so that the next delivery is handled. `false` if it was not recorded.
    fn forget(&self, tx: &mut C, consumer: &Consumer, id: &MessageId) -> Result<bool, SaveError>;
}

/// Opens the transactions in which messages are handled.
///
/// Obligations:
///
/// * **T1** `Tx` is what the store's [`OutboxWriter`](crate::OutboxWriter) and [`InboxWriter`] take, so that a handler can save messages in the same transaction.
/// * **T2** A transaction that is dropped unfinished, whatever its statements were doing, is rolled back. Its connection does not go back to a pool unless the
///   database said that the transaction is over.
/// * **T3** `commit` succeeds only if the database committed: a transaction that a failed statement aborted, and that a handler wants to commit all the
///   same, is [`StoreError::Unusable`]. After any other error it is open whether it committed; `once` in a new transaction tells.
///
/// Not promised: that a statement which runs when its transaction is dropped ends at once; it may go on, with its locks, until the server is through with it
/// (a `statement_timeout` of the role bounds that). A handler that ends the transaction by a statement of its own, such as `COMMIT`, breaks T2 and T3.
#[async_trait]
pub trait Transactions: Send + Sync + 'static {
    /// What the statements of a handler run on.
    type Tx: ?Sized + Send;
    /// An open transaction.
    type Open: Send + 'static;

    /// Begins a transaction.
    async fn begin(&self) -> Result<Self::Open, StoreError>;

    /// What a handler and the writers get.
    fn tx<'a>(&self, open: &'a mut Self::Open) -> &'a mut Self::Tx;

    /// Commits. Dropping the future midway leaves open whether it did.
    async fn commit(&self, open: Self::Open) -> Result<(), StoreError>;

    /// Rolls back. It cannot fail: a connection on which it does not succeed is closed, which rolls it back as well. It waits for a statement that still
    /// runs; dropping `open` does not.
    async fn rollback(&self, open: Self::Open);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn _dyn_compatible(
        _: &dyn InboxWriter<str>,
        _: &dyn SyncInboxWriter<str>,
        _: &dyn Transactions<Tx = str, Open = ()>,
    ) {
    }

    #[test]
    fn a_consumer_is_a_short_name_without_control_characters() {
        assert!(Consumer::new("c".repeat(255)).is_ok());
        assert_eq!(
            Consumer::new("c".repeat(256)),
            Err(InvalidMessage::TooLong {
                part: "consumer",
                len: 256,
                max: 255
            })
        );
        assert!(Consumer::new("größe").is_ok());
        for refused in ["", "a\0b", "line\nfeed", "\u{85}"] {
            assert!(Consumer::new(refused).is_err(), "{refused:?}");
        }
    }
}
