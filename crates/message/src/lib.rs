//! The message as it is saved and published, and the small types that a store, a relay and a publisher share.
//!
//! Everything here is a value: a limit is checked once, where the value is made, and holds from then on
//! (contract C4). There is no IO, no clock and no database; [`MessageId::generate`] alone asks the operating
//! system for time and randomness.
//!
//! # Where to find things
//!
//! * what an application saves: [`Message`], made of [`Topic`], [`PartitionKey`], [`Headers`], [`ContentType`] and [`MessageId`]
//! * what orders messages: [`OrderingKey`] and its [`hash`](OrderingKey::hash), [`Position`], [`Lane`]
//! * what a relay hands to a publisher: [`Delivery`] and [`LaneToken`]
//!
//! ```
//! use outbox_message::Message;
//!
//! let message = Message::new("orders", r#"{"id":1042}"#)?
//!     .with_key("order-1042")?
//!     .with_header("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")?;
//! assert_eq!(message.topic.as_str(), "orders");
//! # Ok::<(), outbox_message::InvalidMessage>(())
//! ```

mod delivery;
mod headers;
mod invalid;
mod key;
mod message;
mod text;

pub use delivery::{Delivery, Lane, LaneToken, Position};
pub use headers::Headers;
pub use invalid::InvalidMessage;
pub use key::{Key, Lanes, OrderingKey};
pub use message::Message;
pub use text::{ContentType, MessageId, PartitionKey, Topic};

/// The longest payload any store takes, in bytes (64 MiB). A store can be told to take less.
pub const MAX_PAYLOAD_BYTES: usize = 64 * 1024 * 1024;

/// The most that the names and values of all headers of one message may have together, in bytes (64 KiB).
pub const MAX_HEADERS_BYTES: usize = 64 * 1024;
