//! The writer side: saving inside the caller's own transaction.

use async_trait::async_trait;
use outbox_message::Message;

use crate::{Save, SaveError, Saved};

/// Saves messages inside a transaction of type `C` that the caller opened and will end.
///
/// Obligations:
///
/// * **W1** A message becomes visible to relays if and only if the caller's transaction commits (C1).
/// * **W2** It begins nothing and commits nothing, and refuses a connection without an open transaction with [`SaveError::NoTransaction`] (C1).
/// * **W3** Payload, headers, id and content type are stored so that they come back byte for byte (C2, C3).
/// * **W4** A message that breaks a limit is refused before any SQL runs (C4); of `save_all` nothing is stored then.
/// * **W5** Positions grow in the order of the calls, and within one `save_all` in the order of the slice (O10).
/// * **W6** With [`Save::once`], the second save of an id within the remembered time is [`Saved::Duplicate`] and does not fail the transaction (C3).
///   A save that failed leaves no id remembered whose message is not stored, even if the caller commits.
/// * **W7** `save_all` costs a fixed number of statements for any number of messages.
///
/// A store type has exactly one implementation, so that `outbox.write(&mut tx, ..)` infers `C`.
#[async_trait]
pub trait OutboxWriter<C: ?Sized + Send>: Send + Sync {
    /// Saves one message.
    async fn save(&self, tx: &mut C, save: Save<'_>) -> Result<Saved, SaveError>;

    /// Saves any number of messages, in order.
    async fn save_all(&self, tx: &mut C, saves: &[Save<'_>]) -> Result<Vec<Saved>, SaveError>;

    /// The pending messages that this transaction sees, its own included, by position: for users' own tests.
    async fn pending(&self, tx: &mut C) -> Result<Vec<Message>, SaveError>;
}

/// The obligations of [`OutboxWriter`] for connections that block.
pub trait SyncOutboxWriter<C: ?Sized> {
    /// Saves one message.
    fn save(&self, tx: &mut C, save: Save<'_>) -> Result<Saved, SaveError>;

    /// Saves any number of messages, in order.
    fn save_all(&self, tx: &mut C, saves: &[Save<'_>]) -> Result<Vec<Saved>, SaveError>;

    /// The pending messages that this transaction sees, its own included, by position: for users' own tests.
    fn pending(&self, tx: &mut C) -> Result<Vec<Message>, SaveError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn _dyn_compatible(_: &dyn OutboxWriter<str>, _: &dyn SyncOutboxWriter<str>) {}
}
