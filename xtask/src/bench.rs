//! `cargo xtask bench`: the benches of outbox-tests and of outbox-envelope. The only command that builds with full
//! optimization, beside `fuzz` and `instructions`.

use crate::server::Servers;
use crate::shell::{self, Result, cargo};
use crate::tools;

/// The bench of outbox-envelope. It needs the reference in Python beside it, and no server.
const ENVELOPE: &str = "envelope";

/// Runs the benches, or the one that is named first; all other `args` go to `cargo bench`.
pub(crate) fn run(args: &[String]) -> Result {
    let (name, args) = match args {
        [name, args @ ..] if !name.starts_with('-') => (Some(name.as_str()), args),
        args => (None, args),
    };
    if name.is_none_or(|name| name == ENVELOPE) {
        envelope(args)?;
    }
    match name {
        Some(ENVELOPE) => Ok(()),
        name => on_servers(name, args),
    }
}

fn envelope(args: &[String]) -> Result {
    let mut bench = cargo(["bench", "-p", "outbox-envelope", "--bench", ENVELOPE]);
    if let Some(python) = tools::bring()?.python {
        bench.env(tools::PYTHON, python);
    }
    shell::run(bench.args(args), "mend what it says above")
}

/// Their Postgres writes to the disk as one that is used in earnest.
fn on_servers(name: Option<&str>, args: &[String]) -> Result {
    let servers = Servers::find(&[("fsync", "on")])?;
    let mut bench = cargo(["bench", "-p", "outbox-tests"]);
    if let Some(name) = name {
        bench.args(["--bench", name]);
    }
    servers.lend(&mut bench);
    shell::run(
        bench.args(args),
        "run one bench alone: cargo xtask bench <name>",
    )
}
