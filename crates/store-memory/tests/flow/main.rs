//! The faults that the flow of claims and settlements is built to avoid, on one lane unless a test is about several.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

mod claims;
mod scene;
mod settlements;
