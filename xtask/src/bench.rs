//! `cargo xtask bench`: the benches of outbox-tests. The only command that builds with full optimization.

use crate::server::Servers;
use crate::shell::{self, Result, cargo};

/// Runs the benches; `args` go to `cargo bench`. Their Postgres writes to the disk as one that is used in earnest.
pub(crate) fn run(args: &[String]) -> Result {
    let servers = Servers::find(&[("fsync", "on")])?;
    let mut bench = cargo(["bench", "-p", "outbox-tests"]);
    servers.lend(bench.args(args));
    shell::run(
        &mut bench,
        "run one bench alone: cargo xtask bench --bench <name>",
    )
}
