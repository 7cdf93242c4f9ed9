//! The publisher port: a publisher takes a run of one ordering key and confirms a prefix of it.
//!
//! There is no IO here and no broker's client. An adapter implements [`Publisher`]; the relay holds it as
//! `Arc<dyn Publisher>`. A [`Router`] makes one of several, by topic. What adapters have in common is here too: names made of
//! messages ([`Template`]), and the [`Parameters`] of their URLs. Where a broker's dead-letter queues can be read they are
//! [`DeadQueues`], and a [`Redrive`] brings dead letters back.
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

mod dead_queue;
mod error;
mod parameters;
mod pattern;
mod publisher;
mod router;
mod server;
mod template;

pub use dead_queue::{Choice, DeadQueue, DeadQueues, Letter, Redrive, RedriveError, Step};
pub use error::{PublishError, PublishErrorKind};
pub use parameters::{InvalidParameter, Parameters, percent_decode};
pub use pattern::{InvalidPattern, TopicPattern};
pub use publisher::{Published, Publisher, Run};
pub use router::Router;
pub use server::host_and_port;
pub use template::{InvalidTemplate, Template, TemplateField};
