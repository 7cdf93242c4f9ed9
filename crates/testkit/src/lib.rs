//! What tests of an outbox need, for this project, for adapters of third parties, and for users' own tests.
//!
//! * for users' own tests: [`saved`] lists the messages an open transaction has saved, [`Recorder`] is a publisher that keeps what it got
//! * for tests of a relay: [`ScriptedPublisher`] confirms, refuses, hangs or panics as it is told; [`FaultyStore`] fails chosen calls of a real store
//!
//! Nothing here reads a clock or sleeps: time is moved by the test.

mod faulty;
mod recorder;
mod saved;
mod scripted;

pub use faulty::{Call, FaultyStore};
pub use recorder::Recorder;
pub use saved::saved;
pub use scripted::{Handed, Reply, ScriptedPublisher};
