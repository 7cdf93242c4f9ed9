//! What is SQLite's own about the store: files, locks, drivers, plans. What all stores share is in the conformance suite.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

mod busy;
mod claiming;
mod full;
mod handling;
mod opening;
mod plans;
mod saving;
mod scratch;
mod stops;
mod tables;
mod volume;
