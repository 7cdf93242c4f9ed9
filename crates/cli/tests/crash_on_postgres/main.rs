//! The real program on a real server, attacked while writers write: relays killed, their sessions ended, one of them frozen
//! past its lease. Nothing is lost, first deliveries keep their order (O11), nobody dies. The long form runs with
//! `OUTBOX_SOAK=1`; a run is repeated by its `OUTBOX_SEED`.

#![cfg(unix)]
#![expect(
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong, and says with which seed"
)]

mod frozen;
#[path = "../support/program.rs"]
#[expect(dead_code, reason = "the other tests use more of it")]
mod program;
#[path = "../support/schema.rs"]
mod schema;
mod storm;

use std::process::{Child, Command};

/// Sends a signal to a process that was started here.
fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill")
        .args([name, &child.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
}
