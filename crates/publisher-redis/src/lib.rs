//! Publishes to Redis: to the lists that BabelQueue and Laravel read, or to streams.
//!
//! A [`RedisPublisher`] is made from a URL, or from a [`RedisConfig`]. Three [`Layout`]s say what arrives there:
//!
//! * `list`: an element of the list is the payload, or a frame around it if there are headers ([`Frame`]);
//! * `laravel`: the same without frames, in the lists that Laravel's workers read;
//! * `stream`: an entry of the stream has fields for all parts of a message: `id`, `topic`, `key`, `content_type`,
//!   `headers` (a JSON array of `[name, value]`) and `payload`. A part that a message has not is no field.
//!
//! The names of lists and streams are [`Template`]s.
//!
//! ```
//! use outbox_publisher_redis::RedisPublisher;
//!
//! // Nothing is connected yet.
//! let lists = RedisPublisher::new("redis://:secret@cache:6379/0")?;
//! let streams = RedisPublisher::new("rediss://cache/?layout=stream&stream=events:{topic}&max_len=100000")?;
//! # Ok::<(), outbox_publisher_redis::InvalidUrl>(())
//! ```

mod call;
mod config;
mod dead_queue;
mod dial;
mod entry;
mod failure;
mod frame;
mod job;
mod limits;
mod link;
mod publisher;
mod url;

pub use config::{Frame, Identity, Jobs, Layout, RedisConfig, Tls};
pub use outbox_publisher::{InvalidParameter, InvalidTemplate, Template};
pub use publisher::RedisPublisher;
pub use url::InvalidUrl;
