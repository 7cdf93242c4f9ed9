//! The scenarios, each a file: what is filled, who takes it, how often, and what must hold.

mod backlogs;
mod claims;
mod drains;
mod idle;
mod latencies;
mod memory;
mod round_trips;
mod snapshot;
mod sqlite;
mod writers;

use std::collections::BTreeSet;

use crate::{
    Result, Run,
    costs::PerMessage,
    drain::{Drained, Ground, drain},
    measurement::{Measurement, Rounds},
    program,
    report::Report,
    server::Server,
    system::{Peer, Relaying, System},
    template::{Fill, Templates},
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

/// Drains of several systems, to be compared.
pub(crate) struct Comparison<'s> {
    pub(crate) scenario: u8,
    pub(crate) variant: &'s str,
    pub(crate) fill: Fill,
    /// How many messages are waited for.
    pub(crate) messages: u64,
    pub(crate) rounds: usize,
    pub(crate) contenders: Vec<(System, Relaying)>,
}

/// Runs what was asked for.
pub(crate) async fn run(run: Run) -> Result {
    let known: BTreeSet<u8> = SCENARIOS.iter().map(|it| it.number).collect();
    if let Some(unknown) = run.scenarios.iter().find(|it| !known.contains(it)) {
        return Err(format!("there is no scenario {unknown}; there are {known:?}").into());
    }
    let server = Server::start().await?;
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
    }
    let (postgres, sqlite) = (server.version(), program::sqlite::version().await?);
    let databases = format!("Postgres {postgres}, SQLite {sqlite}");
    let report = Report::new(&databases, &run.beside, bench.measurements)?;
    report.print();
    if let Some(file) = run.json {
        report.write_json(&file)?;
    }
    if let Some(page) = run.page {
        report.write_page(&page)?;
    }
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

    /// Runs the rounds of all contenders in turn, on the server.
    pub(crate) async fn compare(&mut self, what: Comparison<'_>) -> Result {
        let rounds = what.run(&mut self.templates).await?;
        self.take_in(&what, rounds);
        Ok(())
    }

    /// Runs them where it is said.
    pub(crate) async fn compare_on(
        &mut self,
        ground: &mut impl Ground,
        what: Comparison<'_>,
    ) -> Result {
        let rounds = what.run(ground).await?;
        self.take_in(&what, rounds);
        Ok(())
    }

    fn take_in(&mut self, what: &Comparison<'_>, rounds: Vec<Vec<Drained>>) {
        for ((system, how), drained) in what.contenders.iter().zip(rounds) {
            let mut measurement = Measurement::new(what.scenario, what.variant, system.name());
            measurement.relays = how.relays;
            measurement.batch = how.batch;
            let costs: Vec<_> = drained.iter().map(|it| it.costs).collect();
            measurement.costs = Some(PerMessage::median_of(&costs));
            measurement.messages_per_s = Some(Rounds::of(
                drained.iter().map(|it| it.messages_per_s).collect(),
            ));
            self.measurements.push(measurement);
        }
        self.rate_against(what.scenario, what.variant, System::Plain.name());
    }

    /// Sets the ratios of a variant against a system, with as many relays and the same batch.
    pub(crate) fn rate_against(&mut self, scenario: u8, variant: &str, ceiling: &str) {
        let mine = |it: &&Measurement| it.scenario == scenario && it.variant == variant;
        let ceilings: Vec<(usize, usize, f64)> = self
            .measurements
            .iter()
            .filter(mine)
            .filter(|it| it.system == ceiling)
            .filter_map(|it| Some((it.relays, it.batch, it.messages_per_s.as_ref()?.median)))
            .collect();
        for it in self.measurements.iter_mut().filter(|it| mine(&&**it)) {
            let same = |(relays, batch, _): &&(usize, usize, f64)| {
                *relays == it.relays && *batch == it.batch
            };
            let ceiling = ceilings.iter().find(same).map(|(_, _, rate)| *rate);
            it.ratio_to_ceiling = it
                .messages_per_s
                .as_ref()
                .zip(ceiling)
                .map(|(rounds, ceiling)| rounds.median / ceiling);
        }
    }
}

impl Comparison<'_> {
    /// The rounds of each contender.
    async fn run(&self, ground: &mut impl Ground) -> Result<Vec<Vec<Drained>>> {
        let mut rounds: Vec<Vec<Drained>> = self.contenders.iter().map(|_| Vec::new()).collect();
        for round in 1..=self.rounds {
            for ((system, how), rounds) in self.contenders.iter().zip(&mut rounds) {
                let drained = drain(ground, system, self.fill, *how, self.messages).await;
                let (name, variant) = (system.name(), self.variant);
                let drained =
                    drained.map_err(|error| format!("{name} in \"{variant}\": {error}"))?;
                eprintln!(
                    "  {variant}, round {round}: {name} x{} batch {}: {:.0} messages/s",
                    how.relays, how.batch, drained.messages_per_s
                );
                rounds.push(drained);
            }
        }
        Ok(rounds)
    }
}
