//! `cargo xtask soak`: the long forms of tests. Each runs the same code as its short form, with `OUTBOX_SOAK=1`, and prints
//! a report.

use std::process::Command;
use std::time::Instant;

use clap::builder::PossibleValuesParser;

use crate::server::Servers;
use crate::shell::{self, Failure, Result, cargo};

mod table;

use table::{SCENARIOS, Scenario};

/// The names that the command knows.
pub(crate) fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(SCENARIOS.iter().map(|scenario| scenario.name))
}

/// Prints what there is.
pub(crate) fn list() {
    for Scenario { name, shows, .. } in SCENARIOS {
        println!("{name:<12} {shows}");
    }
}

/// Runs the named scenarios, or all of them; one that fails does not keep the others from running.
pub(crate) fn run(names: &[String]) -> Result {
    let chosen =
        |scenario: &&Scenario| names.is_empty() || names.iter().any(|name| name == scenario.name);
    let servers = Servers::find(&[])?;
    let mut times = Vec::new();
    let mut failures = Vec::new();
    for scenario in SCENARIOS.iter().filter(chosen) {
        println!("\n{}: {}", scenario.name, scenario.shows);
        let begin = Instant::now();
        let done = soak(scenario, &servers);
        let word = if done.is_ok() { "ok" } else { "failed" };
        times.push((scenario.name, word, begin.elapsed().as_secs()));
        failures.extend(done.err());
    }
    println!();
    for (name, word, seconds) in times {
        println!("{name:<12} {word} after {seconds} s");
    }
    Failure::join(failures)
}

fn soak(scenario: &Scenario, servers: &Servers) -> Result {
    let name = scenario.name;
    let mut tests = command(scenario, &["--list"], servers);
    let there = shell::read(&mut tests, "mend what cargo says above")?;
    if !there.lines().any(|line| line.ends_with(": test")) {
        return Err(Failure::new(
            format!("the scenario {name} has no test"),
            "mend its row in xtask/src/soak/table.rs",
        ));
    }
    shell::run(
        &mut command(scenario, &["--nocapture"], servers),
        &format!("read the report above, and run it alone: cargo xtask soak {name}"),
    )
}

fn command(scenario: &Scenario, more: &[&str], servers: &Servers) -> Command {
    let mut command = cargo(["test", "--profile", "ci"]);
    command
        .args(scenario.tests.split(' '))
        .arg("--")
        .args(scenario.filter.split_whitespace())
        .args(more)
        .env("OUTBOX_SOAK", "1");
    servers.lend(&mut command);
    command
}
