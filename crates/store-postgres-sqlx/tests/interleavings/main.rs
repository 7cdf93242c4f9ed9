//! Forced interleavings on real sessions: a call is stopped at a point, other sessions act, and it goes on.
//!
//! What all stores share is in the conformance suite; what is tried at random is there too. Here stands what random runs do not find.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

mod due;
mod floor;
mod freeing;
mod inbox;
mod invariants;
mod late;
mod many;
mod operators;
mod outlived;
mod overlap;
mod paused;
mod probes;
mod reading_on;
mod relay;
mod saving;
mod scene;
mod settling;
mod silent;
mod snapshot;
mod stall;
mod stopped;
mod stops;
mod upkeep;
mod version;
