//! What only this publisher does, on a real server: outages as Redis has them, its limits, and its three layouts.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

#[path = "../support/run.rs"]
mod run;
#[path = "../support/server.rs"]
#[allow(dead_code, reason = "each program of tests uses its part")]
mod server;

mod layouts;
mod limits;
mod logins;
mod outages;
