//! What tests of an outbox need, for this project, for adapters of third parties, and for users' own tests.
//!
//! * for users' own tests: [`saved`] lists the messages an open transaction has saved, [`Recorder`] is a publisher that keeps what it got
//! * for tests of a store: [`Harness`] says how to make a fresh one, [`conformance!`] runs the whole suite on it
//! * for tests of a publisher: [`PublisherHarness`] says how to make a fresh destination on a real server and strike it with faults, [`publisher_conformance!`] runs the whole suite on it
//! * for tests of a dead-letter queue: [`DeadQueueHarness`] says how to make a fresh one on a real server, [`dead_queue_conformance!`] runs the suite on it
//! * for tests of a relay: [`ScriptedPublisher`] confirms, refuses, hangs or panics as it is told; [`FaultyStore`] fails chosen calls of a real store
//!
//! Nothing here reads a clock or sleeps: time is moved by the test.
//!
//! ```
//! use outbox_message::Message;
//! use outbox_store_memory::MemoryStore;
//! use outbox_testkit::saved;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // What a test of business code does: run it in a transaction, look at what it saved, roll back.
//! let store = MemoryStore::new();
//! let mut tx = store.begin();
//! let message = Message::new("orders", r#"{"id":1042}"#)?.with_key("order-1042")?;
//! store.save(&mut tx, &message).await?;
//!
//! assert_eq!(saved(&store, &mut tx).await?, [message]);
//! tx.rollback();
//! # Ok(())
//! # }
//! ```

#[doc(hidden)]
pub mod cases;
mod conformance;
#[doc(hidden)]
pub mod dead_queue_cases;
mod dead_queue_conformance;
mod dead_queue_harness;
mod faulty;
mod harness;
mod holder;
mod publisher_capabilities;
#[doc(hidden)]
pub mod publisher_cases;
mod publisher_conformance;
mod publisher_harness;
mod publisher_scene;
mod recorder;
mod saved;
mod scene;
mod scripted;
mod stateful;
mod taken;

#[doc(hidden)]
pub use conformance::run;
pub use dead_queue_harness::DeadQueueHarness;
pub use faulty::{Call, FaultyStore};
pub use harness::{Capabilities, Corruption, Harness};
pub use publisher_capabilities::{HeaderSupport, PublisherCapabilities};
#[doc(hidden)]
pub use publisher_conformance::{PublisherCase, run_publisher_case};
pub use publisher_harness::{Door, Fault, PublisherHarness, Received};
pub use recorder::Recorder;
pub use saved::saved;
pub use scripted::{Handed, Reply, ScriptedPublisher};
#[doc(hidden)]
pub use stateful::stateful;
