//! A publisher for `RabbitMQ`.
//!
//! A message is confirmed when the broker confirmed it (publisher confirms, always) and did not send it back (`mandatory`,
//! always). Messages are persistent. Those that are BabelQueue envelopes have the properties that BabelQueue's own packages
//! give them; all others carry their own headers, content type and id.
//!
//! Messages go to queues, by default to the one that is named like their topic, or to an exchange with a routing key made of
//! topic, key and id. Everything is said in a URL:
//!
//! ```
//! use outbox_publisher_rabbitmq::RabbitMqPublisher;
//!
//! let queues = RabbitMqPublisher::new("amqp://user:secret@rabbit.example")?;
//! let exchange = RabbitMqPublisher::new(
//!     "amqps://user:secret@rabbit.example/shop?exchange=events&routing_key={topic}.{key}",
//! )?;
//! # let _ = (queues, exchange);
//! # Ok::<(), outbox_publisher_rabbitmq::InvalidUrl>(())
//! ```
//!
//! Nothing is connected to before the first message is published.

mod channel;
mod config;
mod connect;
mod dead_queue;
mod error;
mod failure;
mod in_flight;
mod link;
mod outgoing;
mod publisher;
mod returns;
mod url;

pub use config::{MissingQueue, RabbitMqConfig, Target, Tls};
pub use error::InvalidUrl;
pub use outbox_publisher::{InvalidParameter, InvalidTemplate, Template};
pub use publisher::RabbitMqPublisher;
