//! The scenarios, each a file: what is filled, who takes it, how often, and what must hold.

mod backlogs;
mod claims;
mod comparison;
mod drains;
mod idle;
mod latencies;
mod memory;
mod round_trips;
mod snapshot;
mod sqlite;
mod writers;

use std::collections::BTreeSet;

use self::comparison::Comparison;
use crate::{
    Result, Run, measurement::Measurement, program, report::Report, server::Server, system::Peer,
    template::Templates,
};

/// A scenario by its number.
#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) number: u8,
    pub(crate) title: &'static str,
}

/// All of them.
pub(crate) const SCENARIOS: [Scenario; 13] = [
    Scenario {
        number: 1,
        title: "One key",
    },
    Scenario {
        number: 2,
        title: "20,000 messages over 5,000 keys",
    },
    Scenario {
        number: 3,
        title: "100,000 messages without a key",
    },
    Scenario {
        number: 4,
        title: "A million pending",
    },
    Scenario {
        number: 5,
        title: "Published messages that are kept",
    },
    Scenario {
        number: 6,
        title: "From commit to publish",
    },
    Scenario {
        number: 7,
        title: "Saving",
    },
    Scenario {
        number: 8,
        title: "A broker that takes its time",
    },
    Scenario {
        number: 9,
        title: "Beside a held snapshot",
    },
    Scenario {
        number: 10,
        title: "Beside a key that hangs",
    },
    Scenario {
        number: 11,
        title: "Nothing to do",
    },
    Scenario {
        number: 12,
        title: "SQLite",
    },
    Scenario {
        number: 13,
        title: "Memory",
    },
];

/// What scenarios run with.
pub(crate) struct Bench<'a> {
    pub(crate) server: &'a Server,
    pub(crate) templates: Templates<'a>,
    pub(crate) peers: Vec<Peer>,
    pub(crate) small: bool,
    pub(crate) measurements: Vec<Measurement>,
}

/// Runs what was asked for.
pub(crate) async fn run(run: Run) -> Result {
    let known: BTreeSet<u8> = SCENARIOS.iter().map(|it| it.number).collect();
    if let Some(unknown) = run.scenarios.iter().find(|it| !known.contains(it)) {
        return Err(format!("there is no scenario {unknown}; there are {known:?}").into());
    }
    let server = Server::start().await?;
    let databases = format!(
        "Postgres {}, SQLite {}",
        server.version(),
        program::sqlite::version().await?
    );
    let mut bench = Bench {
        templates: Templates::new(&server),
        server: &server,
        peers: run.peer,
        small: run.small,
        measurements: Vec::new(),
    };
    for scenario in &SCENARIOS {
        if !run.scenarios.is_empty() && !run.scenarios.contains(&scenario.number) {
            continue;
        }
        eprintln!("scenario {}: {}", scenario.number, scenario.title);
        bench.measure(scenario.number).await?;
        bench.templates.forget().await?;
        // Whatever stops the next one, this one is written.
        let report = Report::new(&databases, &run.beside, bench.measurements.clone())?;
        if let Some(file) = &run.json {
            report.write_json(file)?;
        }
        if let Some(page) = &run.page {
            report.write_page(page)?;
        }
    }
    Report::new(&databases, &run.beside, bench.measurements)?.print();
    Ok(())
}

impl Bench<'_> {
    async fn measure(&mut self, scenario: u8) -> Result {
        match scenario {
            1 => drains::one_key(self).await,
            2 => drains::many_keys(self).await,
            3 => drains::unkeyed(self).await,
            4 => backlogs::pending(self).await,
            5 => backlogs::retained(self).await,
            6 => latencies::commit_to_publish(self).await,
            7 => writers::saves(self).await,
            8 => round_trips::keys(self).await,
            9 => snapshot::held(self).await,
            10 => latencies::hanging_key(self).await,
            11 => idle::four(self).await,
            12 => sqlite::files(self).await,
            _ => memory::million(self).await,
        }
    }

    /// So many rounds, or one in a small run.
    pub(crate) fn rounds(&self, rounds: usize) -> usize {
        if self.small { 1 } else { rounds }
    }

    /// So many messages, or a fraction in a small run.
    pub(crate) fn messages(&self, messages: u64) -> u64 {
        if self.small {
            (messages / 20).max(500)
        } else {
            messages
        }
    }

    /// How many claims are timed.
    pub(crate) fn claims(&self) -> u32 {
        if self.small { 20 } else { 400 }
    }

    /// So many seconds, or two in a small run.
    pub(crate) fn seconds(&self, seconds: u32) -> u32 {
        if self.small { 2 } else { seconds }
    }
}
