//! `cargo xtask test`: every test of the workspace.

use crate::shell::{self, Result, cargo};

pub(crate) fn run() -> Result {
    shell::run(
        &mut cargo(["test", "--profile", "ci", "--workspace"]),
        "run the failed test alone: cargo test --profile ci -p <crate> <name>",
    )
}
