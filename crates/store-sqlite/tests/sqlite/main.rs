//! What is SQLite's own about the store: files, locks, plans, drivers. What all stores share is a case of the conformance suite.

mod claiming;
mod scratch;
