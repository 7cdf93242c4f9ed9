//! The consumer's half: each message has its effect once, in the transaction of its handler.
//!
//! A broker delivers at least once. A consumer that commits a row and then acknowledges can crash in between, and the row is there twice when the message
//! comes again. Here the message's id is a row of the same transaction, so that both are there or neither is.
//!
//! # Where to find things
//!
//! * the one call for those who run handlers themselves: [`Inbox::once`]
//! * saving what a broker delivers: [`Incoming`], [`Intake`]
//! * handling what was saved, in order for each key, with retries and dead letters: [`Processor`], which is given to a relay
//! * handlers by URN, with typed data: [`Dispatcher`], [`Delivered`], [`HandlerError`]; for other payloads [`Handler`]
//! * replays: [`is_replay`], [`bypass_external_effects`]
//!
//! ```
//! use outbox_engine::Relay;
//! use outbox_inbox::{Delivered, Dispatcher, HandlerError, Incoming, Intake, Processor};
//! use outbox_message::Message;
//! use outbox_store_memory::{MemoryStore, MemoryTx};
//! use serde::Deserialize;
//!
//! #[derive(Deserialize)]
//! struct OrderCreated {
//!     id: i64,
//! }
//!
//! struct Billing {
//!     outbox: MemoryStore,
//! }
//!
//! impl Billing {
//!     async fn order_created(&self, tx: &mut MemoryTx, order: Delivered<OrderCreated>) -> Result<(), HandlerError> {
//!         let bill = Message::new("bills", format!("the bill of order {}", order.data.id))?;
//!         self.outbox.save(tx, &bill).await?;
//!         Ok(())
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (service, incoming) = (MemoryStore::new(), MemoryStore::new());
//!
//! // What the broker delivers is saved, then acknowledged; here it comes twice.
//! let delivery = Incoming::new("orders", r#"{"job":"urn:babel:orders:created","data":{"id":1042},"meta":{"id":"m-1"}}"#);
//! let intake = Intake::new(incoming.clone());
//! intake.take(delivery.clone()).await?;
//! intake.take(delivery).await?;
//!
//! // Then it is handled, in transactions of the service.
//! let billing = Billing { outbox: service.clone() };
//! let dispatcher = Dispatcher::new(billing).on("urn:babel:orders:created", Billing::order_created);
//! let processor = Processor::new(service, "billing".parse()?, dispatcher);
//! let report = Relay::new(incoming, processor).drain().await?;
//! assert_eq!(report.published, 1);
//! # Ok(())
//! # }
//! ```
//!
//! Not promised: that effects outside of the handler's transaction happen once. A mail that was sent before a rollback is sent again.

mod delivered;
mod dispatcher;
mod error;
mod function;
mod handler;
mod inbox;
mod incoming;
mod intake;
mod missing;
mod processor;
mod replay;

pub use delivered::Delivered;
pub use dispatcher::{Dispatcher, UnknownUrn};
pub use error::HandlerError;
pub use function::{HandlerFn, Handling};
pub use handler::Handler;
pub use inbox::{Inbox, MaybeId, Once};
pub use incoming::Incoming;
pub use intake::{Intake, IntakeError};
pub use processor::Processor;
pub use replay::{bypass_external_effects, is_replay};
