//! `Intake`: saving what a broker delivers, so that the delivery can be acknowledged. Leaves out the broker's client, which is the service's own.

use std::time::Duration;

use outbox_message::{InvalidMessage, Message};
use outbox_store::{BoxError, OutboxWriter, Save, SaveError, Saved, Transactions};
use thiserror::Error;

use crate::{Incoming, is_replay};

/// Saves deliveries in the store from which a relay hands them to a [`Processor`](crate::Processor). Cheap to clone, and shared between tasks.
///
/// The store is one of its own, not the outbox of the service: another schema, another file. Otherwise the relay of that outbox would publish what came in.
/// It is of one consumer: an id that was saved is a duplicate, from whatever topic it comes.
///
/// ```
/// use outbox_inbox::{Incoming, Intake};
/// use outbox_store::Saved;
/// use outbox_store_memory::MemoryStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let intake = Intake::new(MemoryStore::new());
/// let delivery = Incoming::new("orders", r#"{"job":"urn:babel:orders:created","meta":{"id":"m-1"}}"#);
/// assert!(matches!(intake.take(delivery.clone()).await?, Saved::New(_)));
/// // Acknowledge it now. When it comes again all the same:
/// assert_eq!(intake.take(delivery).await?, Saved::Duplicate);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Intake<S> {
    store: S,
    remember: Duration,
}

impl<S> Intake<S> {
    /// An intake into this store that remembers ids for 7 days.
    pub const fn new(store: S) -> Self {
        Self {
            store,
            remember: Duration::from_hours(7 * 24),
        }
    }

    /// For how long a second delivery of an id is not saved again. Zero saves every delivery. That saves work and no more: what is saved twice is handled
    /// once all the same.
    #[must_use]
    pub fn remember(self, remember: Duration) -> Self {
        Self { remember, ..self }
    }

    /// Saves a delivery in a transaction of its own. After this answer, and not before, acknowledge it to the broker; a duplicate too.
    ///
    /// A [replay](is_replay) is saved even if its id is remembered.
    ///
    /// # Errors
    ///
    /// [`IntakeError`]: what to do with the delivery.
    pub async fn take(&self, incoming: Incoming) -> Result<Saved, IntakeError>
    where
        S: Transactions + OutboxWriter<<S as Transactions>::Tx>,
    {
        let message = incoming.into_message()?;
        let store = &self.store;
        let mut open = store.begin().await.map_err(IntakeError::unsaved)?;
        let saved = store
            .save(store.tx(&mut open), self.save_of(&message))
            .await;
        match saved {
            Ok(saved) => {
                store.commit(open).await.map_err(IntakeError::unsaved)?;
                Ok(saved)
            }
            Err(error) => {
                store.rollback(open).await;
                Err(error.into())
            }
        }
    }

    /// Saves a delivery in the caller's transaction, for those who save several in one.
    ///
    /// # Errors
    ///
    /// [`SaveError`] if a part of it breaks a limit, or the store refuses. Nothing is saved then.
    pub async fn save<C: ?Sized + Send>(
        &self,
        tx: &mut C,
        incoming: Incoming,
    ) -> Result<Saved, SaveError>
    where
        S: OutboxWriter<C>,
    {
        let message = incoming.into_message()?;
        self.store.save(tx, self.save_of(&message)).await
    }

    fn save_of<'m>(&self, message: &'m Message) -> Save<'m> {
        let remembered = !self.remember.is_zero() && !is_replay(&message.headers);
        Save {
            once: remembered.then_some(self.remember),
            ..Save::from(message)
        }
    }
}

/// Why a delivery was not saved, by what is to be done with it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum IntakeError {
    /// It breaks a limit, and always will: leave it to the broker's own dead letters, so that it does not come again and again.
    #[error("the delivery cannot be saved; leave it to the broker's dead letters")]
    Invalid(#[from] InvalidMessage),
    /// The database did not save it, or did not say so: do not acknowledge it, so that the broker delivers it again.
    #[error("the delivery was not saved; do not acknowledge it")]
    Unsaved(#[source] BoxError),
}

impl IntakeError {
    fn unsaved(error: impl Into<BoxError>) -> Self {
        Self::Unsaved(error.into())
    }
}

impl From<SaveError> for IntakeError {
    fn from(error: SaveError) -> Self {
        match error {
            SaveError::Invalid(invalid) => Self::Invalid(invalid),
            other => Self::unsaved(other),
        }
    }
}
