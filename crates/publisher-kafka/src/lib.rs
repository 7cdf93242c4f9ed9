//! A publisher that hands messages to Kafka and confirms what all replicas in sync have stored.
//!
//! * One record of an ordering key is under way at a time, and records of many keys are: order within a key, speed from many
//!   keys. A record that is not delivered stops its run, so that none behind it overtakes it.
//! * The producer is idempotent, `acks` is `all`, and every delivery report is awaited.
//! * A record's key is the message's key, and its partition the one that a Java client would choose.
//! * [`KafkaPublisher`] connects at the first publish and again by itself whenever a connection was lost.
//!
//! ```
//! use outbox_publisher_kafka::KafkaPublisher;
//!
//! let publisher = KafkaPublisher::new("kafka://localhost:9092/events.{topic}?compression=lz4")?;
//! # let _ = publisher;
//! # Ok::<(), outbox_publisher_kafka::InvalidUrl>(())
//! ```
//!
//! Every parameter of the URL is a field of [`KafkaConfig`].

mod client;
mod config;
mod credentials;
mod error;
mod failure;
mod link;
mod publisher;
mod record;
mod sending;
mod settings;
mod target;
mod topic;
mod url;

pub use config::{Compression, KafkaConfig};
pub use credentials::{Credentials, Mechanism};
pub use error::InvalidUrl;
pub use outbox_publisher::{InvalidParameter, InvalidTemplate};
pub use publisher::KafkaPublisher;
