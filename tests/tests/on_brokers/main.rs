//! The relay with a real store and real brokers that are restarted, away, or under their memory alarm: nothing is lost, first deliveries keep their
//! order, and an outage spends no attempt. What a publisher alone promises is tested beside it, by the conformance suite.
//!
//! The long forms run with `OUTBOX_SOAK=1`.

#![expect(
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong, and the long forms print what they saw"
)]

mod alarm;
mod brokers;
mod endpoint;
mod hearing;
mod outage;
mod redriving;
mod refusing;
mod relays;
mod returned;
#[path = "../on_postgres/schema.rs"]
#[allow(dead_code, reason = "each program of tests uses its part")]
mod schema;
mod storm;
mod too_large;

/// Whether the long forms are asked for.
fn soak() -> bool {
    std::env::var_os("OUTBOX_SOAK").is_some()
}

/// Says what a long form saw.
fn report(text: &str) {
    if soak() {
        eprintln!("{text}");
    }
}
