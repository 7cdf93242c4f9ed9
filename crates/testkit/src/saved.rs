//! What an open transaction has saved, for tests that assert and roll back.

use outbox_message::Message;
use outbox_store::{OutboxWriter, SaveError};

/// Lists the pending messages that the open transaction `tx` sees, its own included, by position.
///
/// A test of business code calls it before it rolls its transaction back, so that it needs no relay, no broker and no cleaning up.
///
/// # Errors
///
/// [`SaveError`] as the store's writer has it.
pub async fn saved<W, C>(writer: &W, tx: &mut C) -> Result<Vec<Message>, SaveError>
where
    W: OutboxWriter<C> + ?Sized,
    C: ?Sized + Send,
{
    writer.pending(tx).await
}
