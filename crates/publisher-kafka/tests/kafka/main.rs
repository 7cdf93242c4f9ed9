//! What only this publisher does, on the cluster that the client library brings for tests of faults.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

mod batches;
mod delivering;
mod outages;
mod producers;

#[path = "../support/cluster.rs"]
mod cluster;
#[path = "../support/publishing.rs"]
mod publishing;
#[path = "../support/reader.rs"]
#[allow(dead_code, reason = "each program of tests uses its part")]
mod reader;
