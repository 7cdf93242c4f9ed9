//! `cargo xtask bench`: the benches of outbox-tests. The only command that builds with full optimization.

use crate::server::Servers;
use crate::shell::{self, Result, cargo};

/// Runs the benches, or the one that is named first; all other `args` go to `cargo bench`. Their Postgres writes to the disk as one that is used in earnest.
pub(crate) fn run(args: &[String]) -> Result {
    let servers = Servers::find(&[("fsync", "on")])?;
    let mut bench = cargo(["bench", "-p", "outbox-tests"]);
    let (name, args) = match args {
        [name, args @ ..] if !name.starts_with('-') => (Some(name), args),
        args => (None, args),
    };
    if let Some(name) = name {
        bench.arg("--bench").arg(name);
    }
    servers.lend(bench.args(args));
    shell::run(&mut bench, "run one bench alone: cargo xtask bench <name>")
}
