//! What is particular to the store through diesel: its connections, its errors, its transactions.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

#[path = "../support/pool.rs"]
mod pool;
#[path = "../../../store-postgres-sqlx/tests/support/schema.rs"]
#[allow(dead_code, reason = "each program of tests uses its part")]
mod schema;

mod blocking;
mod files;
mod handling;
mod opening;
mod pooler;
mod saving;
mod scratch;
mod statements;
mod transactions;
mod waking;
