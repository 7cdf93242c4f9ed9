//! `Inbox`: whether a message is handled for the first time, decided inside the handler's own transaction. Leaves out who runs handlers; that is
//! [`Processor`](crate::Processor).

use outbox_message::MessageId;
use outbox_store::{Consumer, Handled, InboxWriter, SaveError, SyncInboxWriter};
use tracing::warn;

/// Records in the caller's own transaction which messages were handled. Cheap to clone, and shared between tasks.
///
/// ```
/// use outbox_inbox::{Inbox, Once};
/// use outbox_store::Consumer;
/// use outbox_store_memory::MemoryStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = MemoryStore::new();
/// let (inbox, billing) = (Inbox::new(store.clone()), Consumer::new("billing")?);
/// for _delivery in 0..2 {
///     let mut tx = store.begin();
///     if inbox.once(&mut tx, &billing, "m-1").await? != Once::Duplicate {
///         // The effects of the message, in the same transaction.
///     }
///     tx.commit();
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Inbox<S> {
    store: S,
}

/// Whether a message is to be handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use = "a duplicate is not to be handled again"]
pub enum Once {
    /// Handle it: this transaction is the first, and its commit records the id.
    First,
    /// Do not handle it: a transaction that committed did, or this one did already.
    Duplicate,
    /// Handle it: it has no id that could be recorded, so it is handled each time it comes.
    WithoutId,
}

impl Once {
    /// Whether it was handled before.
    pub fn is_duplicate(self) -> bool {
        self == Self::Duplicate
    }
}

impl From<Handled> for Once {
    fn from(handled: Handled) -> Self {
        match handled {
            Handled::First => Self::First,
            Handled::Duplicate => Self::Duplicate,
        }
    }
}

impl<S> Inbox<S> {
    /// An inbox in this store.
    pub const fn new(store: S) -> Self {
        Self { store }
    }

    /// Records that `consumer` handles the message in this transaction, unless it was handled. Of two transactions that ask at the same time the
    /// second waits for the first. A transaction that is rolled back has handled nothing.
    ///
    /// It fails open: a message without an id, or with one that no store keeps because it is empty, longer than 255 bytes or has a NUL, is
    /// [`Once::WithoutId`] and to be handled, each time it comes. A log of level `warn` says so.
    ///
    /// # Errors
    ///
    /// [`SaveError`] if the store refuses. Roll the transaction back and try it again from its beginning.
    pub async fn once<'a, C: ?Sized + Send>(
        &self,
        tx: &mut C,
        consumer: &Consumer,
        id: impl Into<MaybeId<'a>>,
    ) -> Result<Once, SaveError>
    where
        S: InboxWriter<C>,
    {
        match usable(consumer, id.into()) {
            Some(id) => Ok(self.store.once(tx, consumer, &id).await?.into()),
            None => Ok(Once::WithoutId),
        }
    }

    /// Forgets that `consumer` handled the message, so that the next delivery is handled. `false` if it was not recorded.
    ///
    /// # Errors
    ///
    /// [`SaveError`] if the store refuses.
    pub async fn forget<C: ?Sized + Send>(
        &self,
        tx: &mut C,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Result<bool, SaveError>
    where
        S: InboxWriter<C>,
    {
        self.store.forget(tx, consumer, id).await
    }

    /// [`once`](Self::once) for connections that block, such as diesel's own.
    ///
    /// # Errors
    ///
    /// [`SaveError`] if the store refuses. Roll the transaction back and try it again from its beginning.
    pub fn once_sync<'a, C: ?Sized>(
        &self,
        tx: &mut C,
        consumer: &Consumer,
        id: impl Into<MaybeId<'a>>,
    ) -> Result<Once, SaveError>
    where
        S: SyncInboxWriter<C>,
    {
        match usable(consumer, id.into()) {
            Some(id) => Ok(self.store.once(tx, consumer, &id)?.into()),
            None => Ok(Once::WithoutId),
        }
    }

    /// [`forget`](Self::forget) for connections that block.
    ///
    /// # Errors
    ///
    /// [`SaveError`] if the store refuses.
    pub fn forget_sync<C: ?Sized>(
        &self,
        tx: &mut C,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Result<bool, SaveError>
    where
        S: SyncInboxWriter<C>,
    {
        self.store.forget(tx, consumer, id)
    }
}

/// The id of a message as it came, which may be missing or unusable: made of a [`MessageId`], a text, or an `Option` of either.
#[derive(Debug, Clone)]
pub struct MaybeId<'a>(Id<'a>);

#[derive(Debug, Clone)]
enum Id<'a> {
    Missing,
    Text(&'a str),
    Checked(&'a MessageId),
}

impl<'a> From<&'a MessageId> for MaybeId<'a> {
    fn from(id: &'a MessageId) -> Self {
        Self(Id::Checked(id))
    }
}

impl<'a> From<&'a str> for MaybeId<'a> {
    fn from(id: &'a str) -> Self {
        Self(Id::Text(id))
    }
}

impl<'a> From<&'a String> for MaybeId<'a> {
    fn from(id: &'a String) -> Self {
        Self(Id::Text(id))
    }
}

impl<'a, T: Into<MaybeId<'a>>> From<Option<T>> for MaybeId<'a> {
    fn from(id: Option<T>) -> Self {
        id.map_or(Self(Id::Missing), Into::into)
    }
}

impl MaybeId<'_> {
    /// The id, if it can be recorded.
    pub(crate) fn usable(self) -> Option<MessageId> {
        match self.0 {
            Id::Missing => None,
            Id::Text(text) => MessageId::new(text).ok(),
            Id::Checked(id) => Some(id.clone()),
        }
    }
}

fn usable(consumer: &Consumer, id: MaybeId<'_>) -> Option<MessageId> {
    let id = id.usable();
    if id.is_none() {
        warn!(%consumer, "a message has no usable id: it is handled each time it comes");
    }
    id
}
