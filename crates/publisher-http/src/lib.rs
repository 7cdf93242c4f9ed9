//! A publisher that hands messages to an HTTP endpoint: as webhooks, signed if that is wanted, or as CloudEvents.
//!
//! * A message is confirmed by a status from 200 to 299 and by nothing else. What any other status means is one table, in
//!   `docs/http.md`.
//! * One request of a run is under way at a time, and many runs are: order within a key, speed from many keys.
//! * [`HttpPublisher`] connects at the first publish and keeps connections open. Addresses that are not public are refused unless
//!   they are allowed, redirects are not followed, and the proxies of the environment are not used.
//! * What a message brings can become a piece of the URL, or a header, and nothing else of a request.
//!
//! ```
//! use outbox_publisher_http::HttpPublisher;
//!
//! let publisher = HttpPublisher::new("https://shop.example/hooks/{topic}#secret_file=/run/secrets/hook")?;
//! # let _ = publisher;
//! # Ok::<(), outbox_publisher_http::InvalidUrl>(())
//! ```
//!
//! What stands before the `#` of the URL is the receiver's; what stands behind it is never sent and is what the publisher is told.
//! Every parameter there is a field of [`HttpConfig`].

mod address;
mod answer;
mod client;
mod config;
mod credentials;
mod error;
mod event;
mod evidence;
mod failure;
mod files;
mod headers;
mod hidden;
mod mode;
mod options;
mod publisher;
mod request;
mod resolver;
mod retry_after;
mod sending;
mod signature;
mod status;
mod target;

pub use config::HttpConfig;
pub use credentials::Credentials;
pub use error::InvalidUrl;
pub use mode::{CloudEvents, Mode};
pub use outbox_publisher::{InvalidParameter, InvalidTemplate};
pub use publisher::HttpPublisher;
pub use signature::{InvalidSecret, Secret};
