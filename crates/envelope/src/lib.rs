//! The BabelQueue wire envelope: made, encoded and decoded with the same bytes as the reference encoder, that of the
//! Python package.
//!
//! An envelope is a JSON object around the application's `data`: what it is (`job`, a URN), `trace_id`, `meta` and
//! `attempts`. Members this crate does not know are kept, in their place. Three questions about received bytes have
//! three answers that are never merged: whether they can be read ([`Envelope::decode`]), whether a strict consumer
//! takes them ([`Envelope::accepts`]), and whether they are poison to every consumer ([`Envelope::poison`]).
//!
//! # Where to find things
//!
//! * what an application sends: [`Envelope::make`], then [`queue`](Envelope::queue), [`trace_id`](Envelope::trace_id),
//!   [`meta`](Envelope::meta)
//! * what is saved: [`Envelope::to_message`]; bytes that already are an envelope: [`Envelope::message_from_raw`]
//! * what a consumer reads: [`Received`], which is the verdict on poison and what most consumers need, in one pass;
//!   or all of it: [`Envelope::decode`], [`Envelope::urn`], [`Envelope::data`]
//! * what goes to a dead-letter queue: [`DeadLetter::annotate`], and for poison [`DeadLetter::record`]; and what comes back
//!   from it: [`redrive`]
//! * whether the data is what was agreed on: [`schema`]; and its sensitive leaves, for holders of a key alone: [`encryption`]
//! * what a consumer does with what it could not handle: [`settlement`]
//! * the parent of the span in which a message is handled: [`otel`]
//! * what brokers show of a message beside its payload, envelope or not: [`projection`]
//!
//! ```
//! use outbox_envelope::Envelope;
//! use serde::Serialize;
//!
//! #[derive(Serialize)]
//! struct Order {
//!     id: u64,
//!     total: f64,
//! }
//!
//! let order = Order { id: 1042, total: 1e16 };
//! let envelope = Envelope::make("urn:babel:orders:created", &order)?.queue("orders");
//! let message = envelope.to_message()?;
//! assert_eq!(message.topic.as_str(), "orders");
//! assert_eq!(Some(message.id.as_str()), envelope.id());
//!
//! let received = Envelope::decode(&message.payload)?;
//! assert_eq!(received.urn(), Some("urn:babel:orders:created"));
//! assert!(received.encode()?.contains(r#""data":{"id":1042,"total":1e+16}"#));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What reading costs
//!
//! Every verdict takes time and memory in proportion to the bytes, but for the sorting of an object's names; nothing recurses
//! into what may be deep, so that no input overflows a stack; and nothing panics. Nesting beyond [`MAX_DEPTH`] is malformed.
//!
//! # What differs from the reference, on purpose
//!
//! * `NaN`, `Infinity`, an unpaired surrogate escape and invalid UTF-8 are malformed, and so poison; the reference decodes
//!   them, and then cannot write valid JSON or UTF-8. Only the surrogate escape is not poison to it.
//! * Bytes are UTF-8 without a byte order mark; the reference's decoder guesses UTF-16 and UTF-32, if it is given bytes.
//! * A number beyond the range of a double (`1e400`) keeps its literal; the reference writes `Infinity`.
//! * Like the reference, this crate reads no integer of more than [`MAX_INTEGER_DIGITS`] digits: it is malformed, and poison.
//! * Nesting is limited to [`MAX_DEPTH`]; the reference's limit depends on its interpreter's stack.
//! * `meta.lang` is `rust`; [`Envelope::lang`] changes it.

pub mod encryption;
mod envelope;
mod error;
mod json;
pub mod otel;
pub mod projection;
mod redrive;
pub mod schema;
pub mod settlement;

pub use envelope::{DeadLetter, DeadLetterReason, Decoded, Envelope, Received, Warning};
pub use error::{DecodeError, EnvelopeError, Malformed, Poison};
pub use redrive::{Redriven, redrive};

pub(crate) use envelope::DEAD_LETTER;

/// The most objects and arrays that may stand inside each other in an envelope, its own object included.
pub const MAX_DEPTH: usize = 1024;

/// The most digits an integer may have. The reference decoder reads no more.
pub const MAX_INTEGER_DIGITS: usize = 4300;
