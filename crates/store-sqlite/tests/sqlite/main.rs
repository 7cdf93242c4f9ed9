//! What is SQLite's own about the store: files, locks, plans, drivers. What all stores share is a case of the conformance suite.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

mod claiming;
mod scratch;
