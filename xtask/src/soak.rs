//! `cargo xtask soak`: the long forms of the tests of the real program: killed again and again, and with large payloads.

use crate::shell::{self, Result, cargo};

pub(crate) fn run() -> Result {
    shell::run(
        cargo([
            "test",
            "--profile",
            "ci",
            "-p",
            "outbox-cli",
            "--test",
            "crash",
            "--test",
            "memory",
        ])
        .env("OUTBOX_SOAK", "1"),
        "the test prints its seed and what was lost or out of order",
    )
}
