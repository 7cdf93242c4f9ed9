//! Systems side by side: their rounds in turn, and how each does against the ceiling.

use super::Bench;
use crate::{
    Result,
    costs::PerMessage,
    drain::{Drained, Ground, drain},
    measurement::{Measurement, Rounds},
    system::{Relaying, System},
    template::Fill,
};

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

impl Bench<'_> {
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
