//! The writer side: saving inside a [`MemoryTx`].

use std::sync::Arc;

use async_trait::async_trait;
use outbox_message::{MAX_PAYLOAD_BYTES, Message};
use outbox_store::{OutboxWriter, Save, SaveError, SaveOrder, Saved};

use crate::{
    MemoryStore, MemoryTx,
    locks::{Lock, lock_or_roll_back},
};

impl MemoryStore {
    /// Saves one message in `tx`, as [`OutboxWriter::save`] does.
    ///
    /// # Errors
    ///
    /// [`SaveError::Invalid`] if the payload is too long, [`SaveError::NoTransaction`] if `tx` has ended or belongs to another
    /// store, [`SaveError::Conflict`] if `tx` was rolled back because it and another transaction waited for each other.
    pub async fn save<'a>(
        &self,
        tx: &mut MemoryTx,
        save: impl Into<Save<'a>>,
    ) -> Result<Saved, SaveError> {
        let save = save.into();
        let mut saved = OutboxWriter::save_all(self, tx, &[save]).await?;
        Ok(saved.pop().expect("there is one answer for one save"))
    }

    pub(crate) fn check_open(&self, tx: &MemoryTx) -> Result<(), SaveError> {
        let hint = if !Arc::ptr_eq(&self.shared, &tx.store.shared) {
            "this transaction belongs to another store"
        } else if !tx.is_open() {
            "this transaction has ended; begin another with MemoryStore::begin"
        } else {
            return Ok(());
        };
        Err(SaveError::NoTransaction { hint })
    }
}

#[async_trait]
impl OutboxWriter<MemoryTx> for MemoryStore {
    async fn save(&self, tx: &mut MemoryTx, save: Save<'_>) -> Result<Saved, SaveError> {
        MemoryStore::save(self, tx, save).await
    }

    async fn save_all(
        &self,
        tx: &mut MemoryTx,
        saves: &[Save<'_>],
    ) -> Result<Vec<Saved>, SaveError> {
        self.check_open(tx)?;
        for save in saves {
            save.message.check_payload(MAX_PAYLOAD_BYTES)?;
        }
        let locks = saves.iter().flat_map(locks_of).collect();
        lock_or_roll_back(self, tx, &locks).await?;
        Ok(self.with(|state| saves.iter().map(|save| tx.add(state, *save)).collect()))
    }

    async fn pending(&self, tx: &mut MemoryTx) -> Result<Vec<Message>, SaveError> {
        self.check_open(tx)?;
        Ok(self.with(|state| tx.sees(state)))
    }
}

/// An id that is saved idempotently is locked as a unique index would do it: a second transaction waits until the first has
/// ended, and then knows whether its own is a duplicate.
fn locks_of(save: &Save<'_>) -> impl Iterator<Item = Lock> + use<> {
    let id = save.once.map(|_| Lock::Id(save.message.id.clone()));
    let key = match save.order {
        SaveOrder::Position => None,
        SaveOrder::Commit => save.message.ordering_key().map(Lock::Key),
    };
    id.into_iter().chain(key)
}
