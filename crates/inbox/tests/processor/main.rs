//! A relay whose publisher is a processor: effects happen once, and everything about a retry is the relay's.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

mod crashes;
mod failures;
mod notices;
mod once;
mod scene;
mod slowness;
