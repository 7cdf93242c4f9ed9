//! The ordering rules of the outbox, and nothing else: no IO, no clock, no randomness, no
//! dependency. Everything is generic over the types of keys and ids, so that a rule can be tested
//! without a database, a broker or a message.
//!
//! Where to find things:
//!
//! - [`state`]: the states of a message and the steps between them.
//! - [`lane`]: the state machine that a relay drives for one claimed lane; it decides what may be
//!   handed to the broker next and what is to be settled.
//! - [`history`]: a judge of recorded histories, by rules O2, O3, O5, O6, O9 and O11.
//! - [`mod@line`]: what a claim found in the line of a lane, and how far what it found holds.
//! - [`share`]: what a claim hands out of what it found, within its limits.
//! - [`model`]: a whole store as a plain list of messages, to run beside a real one and judge it.
//!
//! The names `O1` to `O11` in these pages are the ordering rules of the outbox's contract, `S14` and `S15` the
//! obligations of its stores about stopped topics.

pub mod history;
pub mod lane;
pub mod line;
pub mod model;
pub mod share;
pub mod state;

pub use lane::Lane;
pub use model::Model;
pub use state::{AfterDeath, State};

#[cfg(test)]
mod world;
