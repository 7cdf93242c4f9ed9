//! `Outbox`: the few lines that join an envelope codec and a writer. Everything else is the writer's.

use outbox_envelope::{Envelope, EnvelopeError};
use outbox_message::{InvalidMessage, Key, Message};
use outbox_store::{OutboxWriter, Save, SaveError, Saved, SyncOutboxWriter};
use thiserror::Error;

/// Saves messages inside the caller's own transaction. Cheap to clone, and shared between tasks.
#[derive(Debug, Clone, Default)]
pub struct Outbox<S> {
    store: S,
}

impl<S> Outbox<S> {
    /// An outbox on this store.
    pub const fn new(store: S) -> Self {
        Self { store }
    }

    /// The store, for a relay or an operator.
    pub fn store(&self) -> S
    where
        S: Clone,
    {
        self.store.clone()
    }

    /// Encodes an envelope and saves it in the caller's transaction, under a key of its topic ([`Key::NONE`]: unordered).
    ///
    /// # Errors
    ///
    /// [`WriteError`] if the envelope cannot be encoded, the key breaks a limit, or the store refuses. Nothing is saved then.
    pub async fn write<C: ?Sized + Send>(
        &self,
        tx: &mut C,
        envelope: Envelope,
        key: impl Into<Key<'_>>,
    ) -> Result<Saved, WriteError>
    where
        S: OutboxWriter<C>,
    {
        let message = message_of(&envelope, key.into())?;
        Ok(self.store.save(tx, Save::from(&message)).await?)
    }

    /// Saves a message, or a [`Save`] with more to say, in the caller's transaction.
    ///
    /// # Errors
    ///
    /// [`SaveError`] if the store refuses. Nothing is saved then.
    pub async fn save<'a, C: ?Sized + Send>(
        &self,
        tx: &mut C,
        save: impl Into<Save<'a>>,
    ) -> Result<Saved, SaveError>
    where
        S: OutboxWriter<C>,
    {
        self.store.save(tx, save.into()).await
    }

    /// Saves any number of messages, in order, in a fixed number of statements.
    ///
    /// # Errors
    ///
    /// [`SaveError`] if the store refuses any of them. Nothing is saved then.
    pub async fn save_all<C: ?Sized + Send>(
        &self,
        tx: &mut C,
        saves: &[Save<'_>],
    ) -> Result<Vec<Saved>, SaveError>
    where
        S: OutboxWriter<C>,
    {
        self.store.save_all(tx, saves).await
    }

    /// [`write`](Self::write) for connections that block, such as diesel's own.
    ///
    /// # Errors
    ///
    /// [`WriteError`] if the envelope cannot be encoded, the key breaks a limit, or the store refuses. Nothing is saved then.
    #[expect(clippy::needless_pass_by_value, reason = "as `write` takes it")]
    pub fn write_sync<'k, C: ?Sized>(
        &self,
        tx: &mut C,
        envelope: Envelope,
        key: impl Into<Key<'k>>,
    ) -> Result<Saved, WriteError>
    where
        S: SyncOutboxWriter<C>,
    {
        let message = message_of(&envelope, key.into())?;
        Ok(self.store.save(tx, Save::from(&message))?)
    }

    /// [`save`](Self::save) for connections that block.
    ///
    /// # Errors
    ///
    /// [`SaveError`] if the store refuses. Nothing is saved then.
    pub fn save_sync<'a, C: ?Sized>(
        &self,
        tx: &mut C,
        save: impl Into<Save<'a>>,
    ) -> Result<Saved, SaveError>
    where
        S: SyncOutboxWriter<C>,
    {
        self.store.save(tx, save.into())
    }

    /// [`save_all`](Self::save_all) for connections that block.
    ///
    /// # Errors
    ///
    /// [`SaveError`] if the store refuses any of them. Nothing is saved then.
    pub fn save_all_sync<C: ?Sized>(
        &self,
        tx: &mut C,
        saves: &[Save<'_>],
    ) -> Result<Vec<Saved>, SaveError>
    where
        S: SyncOutboxWriter<C>,
    {
        self.store.save_all(tx, saves)
    }
}

fn message_of(envelope: &Envelope, key: Key<'_>) -> Result<Message, WriteError> {
    let key = key.check()?;
    Ok(Message {
        key,
        ..envelope.to_message()?
    })
}

#[cfg(feature = "memory")]
impl Outbox<outbox_store_memory::MemoryStore> {
    /// An outbox in memory, for tests.
    pub fn memory() -> Self {
        Self::new(outbox_store_memory::MemoryStore::new())
    }
}

/// Why an envelope was not written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The envelope cannot be encoded.
    #[error("the envelope cannot be encoded")]
    Envelope(#[from] EnvelopeError),
    /// The store did not save it.
    #[error("the envelope was not saved")]
    Save(#[from] SaveError),
}

impl From<InvalidMessage> for WriteError {
    fn from(invalid: InvalidMessage) -> Self {
        Self::Save(SaveError::Invalid(invalid))
    }
}
