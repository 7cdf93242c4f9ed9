//! The port of handlers: whoever handles a message, whatever its payload is. For envelopes there is [`Dispatcher`](crate::Dispatcher).

use async_trait::async_trait;
use outbox_message::Delivery;

use crate::HandlerError;

/// Handles messages inside a transaction of type `Tx`.
///
/// Obligations:
///
/// * **H1** What is to happen once is done on `tx`, and nowhere else. A message may be handled, rolled back, and handled again.
/// * **H2** It neither commits nor rolls back; the [`Processor`](crate::Processor) does.
/// * **H3** It is safe to cancel: at the timeout its future is dropped.
#[async_trait]
pub trait Handler<Tx: ?Sized + Send>: Send + Sync + 'static {
    /// Whether it handles the message at all; asked before a transaction is begun. `false`: the message is done without a handler, and nothing is recorded.
    ///
    /// # Errors
    ///
    /// Why it will not, or not now.
    fn takes(&self, _delivery: &Delivery) -> Result<bool, HandlerError> {
        Ok(true)
    }

    /// Handles the message. `Ok` lets the transaction be committed.
    ///
    /// # Errors
    ///
    /// Why it did not. The transaction is rolled back.
    async fn handle(&self, tx: &mut Tx, delivery: &Delivery) -> Result<(), HandlerError>;
}
