//! What only a Postgres store through sqlx must do besides the suite of all stores, on a real server.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

mod cutting;
mod grants;
mod handling;
mod isolation;
mod opening;
mod pooler;
mod quiet;
mod saving;
#[path = "../support/schema.rs"]
#[allow(dead_code, reason = "each program of tests uses its part")]
mod schema;
mod scratch;
mod shape;
mod waking;
