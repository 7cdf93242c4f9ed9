//! What survives on Postgres when sessions, servers and relay processes are killed while writers write: nothing is lost,
//! no key has two holders, first deliveries keep their order. The program `outbox` has tests of its own for the like.
//!
//! The long forms run with `OUTBOX_SOAK=1`.

#![expect(
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong, and the long forms print what they saw"
)]

mod failover;
mod failover_under_load;
mod order;
mod place;
mod poison;
mod proxy;
mod recipe;
mod restarts;
mod sessions;
mod storm;
mod witness;
mod writers;

/// Whether the long forms are asked for.
fn soak() -> bool {
    std::env::var_os("OUTBOX_SOAK").is_some()
}
