//! `cargo xtask soak`: the long form of the crash test, with the real program killed again and again.

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
        ])
        .env("OUTBOX_SOAK", "1"),
        "the test prints its seed and what was lost or out of order",
    )
}
