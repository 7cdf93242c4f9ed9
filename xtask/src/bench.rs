//! `cargo xtask bench`: the scenarios of outbox-bench, which write their part of `docs/performance.md`, and by name the benches of
//! publishers and of the envelope. The only command that builds with full optimization, beside `fuzz`.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::server::{self, Servers};
use crate::shell::{self, Failure, Result, cargo};
use crate::tools::{self, peers, peers::Peer};

/// The benches that are no scenarios.
const PUBLISHING: &str = "publishing";
const ENVELOPE: &str = "envelope";

/// The page that the scenarios are written into.
const PAGE: &str = "docs/performance.md";

/// Between the words of a peer's command.
const SEPARATOR: &str = "\u{1f}";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Numbers of scenarios, all if nothing is named; or `publishing`, `envelope`.
    names: Vec<String>,
    /// Published packages too, beside this one on the same server.
    #[arg(long)]
    peers: bool,
    /// Also writes every measurement of the scenarios to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Small amounts and single rounds, written nowhere: shows that the scenarios work.
    #[arg(long)]
    small: bool,
}

/// Runs what is named.
pub(crate) fn run(args: &Args) -> Result {
    let mut scenarios = Vec::new();
    for name in &args.names {
        match name.as_str() {
            PUBLISHING => publishing()?,
            ENVELOPE => envelope()?,
            number => scenarios.push(scenario(number)?),
        }
    }
    if scenarios.is_empty() && !args.names.is_empty() {
        return Ok(());
    }
    run_scenarios(args, &scenarios)
}

fn scenario(name: &str) -> Result<String> {
    match name.parse::<u8>() {
        Ok(number) => Ok(number.to_string()),
        Err(_) => Err(Failure::new(
            format!("there is no bench {name:?}"),
            format!("name a number of docs/performance.md, {PUBLISHING} or {ENVELOPE}"),
        )),
    }
}

/// The bench starts its own Postgres, since it reads what that one costs.
fn run_scenarios(args: &Args, scenarios: &[String]) -> Result {
    server::provide_postgres()?;
    let peers = if args.peers {
        peers::bring()?
    } else {
        Vec::new()
    };
    let mut bench = cargo(["run", "--release", "-p", "outbox-bench", "--", "run"]);
    bench.args(scenarios);
    for peer in &peers {
        bench.arg("--peer").arg(command(peer));
        bench.args(["--beside", &peer.packages]);
    }
    if let Some(file) = &args.json {
        bench.arg("--json").arg(file);
    }
    if args.small {
        bench.arg("--small");
    } else {
        bench.args(["--page", PAGE]);
    }
    shell::run(
        &mut bench,
        "run one scenario alone: cargo xtask bench <number>",
    )
}

fn command(peer: &Peer) -> OsString {
    let mut text = OsString::from(peer.name);
    for (place, word) in peer.command.iter().enumerate() {
        text.push(if place == 0 { "=" } else { SEPARATOR });
        text.push(word);
    }
    text
}

fn envelope() -> Result {
    let mut bench = cargo(["bench", "-p", "outbox-envelope", "--bench", ENVELOPE]);
    if let Some(python) = tools::bring()?.python {
        bench.env(tools::PYTHON, python);
    }
    shell::run(&mut bench, "mend what it says above")
}

/// With servers of all brokers, beside a Postgres that loses what it wrote when the machine stops.
fn publishing() -> Result {
    let servers = Servers::find(&[])?;
    let mut bench = cargo(["bench", "-p", "outbox-tests", "--bench", PUBLISHING]);
    servers.lend(&mut bench);
    shell::run(&mut bench, "mend what it says above")
}
