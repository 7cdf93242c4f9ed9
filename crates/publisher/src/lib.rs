//! The publisher port: a publisher takes a run of one ordering key and confirms a prefix of it.
//!
//! There is no IO here and no broker's client. An adapter implements [`Publisher`]; the relay holds it as
//! `Arc<dyn Publisher>`. A [`Router`] makes one of several, by topic.
//!
//! ```
//! use std::borrow::Cow;
//!
//! use async_trait::async_trait;
//! use outbox_message::Topic;
//! use outbox_publisher::{Published, Publisher, Run};
//!
//! /// Confirms everything without telling anybody.
//! #[derive(Debug)]
//! struct Nowhere;
//!
//! #[async_trait]
//! impl Publisher for Nowhere {
//!     fn destination<'a>(&'a self, _topic: &'a Topic) -> Cow<'a, str> {
//!         "nowhere".into()
//!     }
//!
//!     async fn publish(&self, run: Run<'_>) -> Published {
//!         Published::all(run)
//!     }
//! }
//! ```

mod error;
mod pattern;
mod publisher;
mod router;

pub use error::{PublishError, PublishErrorKind};
pub use pattern::{InvalidPattern, TopicPattern};
pub use publisher::{Published, Publisher, Run};
pub use router::Router;
