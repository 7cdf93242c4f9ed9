//! The tables as the migrations make them, and what stands beside the messages: what they let in, files for other tools, the SQL function `save`, views, upkeep and purge;
//! and the way into them from an outbox of another kind.
//! What the relay side does with them is in the conformance suite.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

mod files;
mod function;
mod inbox;
mod moving;
mod order;
mod rows;
#[path = "../support/schema.rs"]
#[allow(dead_code, reason = "each program of tests uses its part")]
mod schema;
#[path = "../postgres/scratch.rs"]
#[allow(dead_code, reason = "each program of tests uses its part")]
mod scratch;
mod upkeep;
mod views;
