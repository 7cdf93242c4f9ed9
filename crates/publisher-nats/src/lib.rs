//! A publisher that hands messages to NATS JetStream and confirms what a stream has stored.
//!
//! * One message of a run is under way at a time, and many runs are: order within a key, speed from many keys.
//! * `Nats-Msg-Id` is the message id, so a stream drops what comes again within its duplicate window.
//! * [`NatsPublisher`] connects at the first publish and again whenever the connection was lost. A connection is never
//!   used twice: what was not sent when it ended is not sent later behind the relay's back.
//! * A subject is made of a [`SubjectTemplate`], such as `events.{topic}`.
//!
//! ```
//! use outbox_publisher_nats::NatsPublisher;
//!
//! let publisher = NatsPublisher::new("nats://localhost:4222?subject=events.{topic}&stream=EVENTS")?;
//! # let _ = publisher;
//! # Ok::<(), outbox_publisher_nats::InvalidUrl>(())
//! ```
//!
//! Every parameter of the URL is a field of [`NatsConfig`].

mod ack;
mod config;
mod connection;
mod credentials;
mod dead_queue;
mod error;
mod fence;
mod headers;
mod link;
mod login;
mod publisher;
mod sending;
mod signals;
mod stream;
mod subject;
mod target;
mod tls;
mod url;

pub use config::NatsConfig;
pub use credentials::Credentials;
pub use error::InvalidUrl;
pub use outbox_publisher::{InvalidParameter, InvalidTemplate};
pub use publisher::NatsPublisher;
pub use subject::{InvalidSubject, SubjectTemplate};
