//! Clients that nobody here wrote read what the relay published, and save what it publishes. They are programs in Python and in
//! JavaScript, in `tests/interop`; they print what they saw, and here it is compared with what was saved.
//!
//! `cargo xtask test` brings their packages, and the servers.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

mod application;
mod babelqueue;
mod envelopes;
mod four;
mod jetstream;
mod kafka;
mod node;
mod others;
mod page;
mod programs;
mod rabbitmq;
mod read;
mod redis;
mod redriving;
#[path = "../on_postgres/schema.rs"]
#[allow(dead_code, reason = "each program of tests uses its part")]
mod schema;
mod stand;
