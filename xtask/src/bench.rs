//! `cargo xtask bench`: the benches of outbox-tests. The only command that builds with full optimization.

use crate::shell::{self, Result, cargo};

/// Runs the benches; `args` go to `cargo bench`.
pub(crate) fn run(args: &[String]) -> Result {
    shell::run(
        cargo(["bench", "-p", "outbox-tests"]).args(args),
        "run one bench alone: cargo xtask bench --bench <name>",
    )
}
