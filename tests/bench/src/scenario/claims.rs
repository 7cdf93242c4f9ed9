//! What a claim costs, without a relay.

use std::time::Instant;

use outbox::{
    Message,
    store::{Claim, Entry, OutboxStore, Outcome},
};

use crate::{
    Result,
    measurement::{Measurement, Rounds, median, quantile},
    program::{
        commit::Commit,
        rounds::{request, settlements, warm_up},
    },
};

/// How many messages a claim takes here.
const BATCH: usize = 100;

/// What each round found, in milliseconds.
#[derive(Debug, Default)]
pub(super) struct Claims {
    p50: Vec<f64>,
    p99: Vec<f64>,
    settlement: Vec<f64>,
}

impl Claims {
    /// One more round: times claims alone. Each is settled and its messages are saved again, so that there are as many for
    /// the next one.
    pub(super) async fn round(
        &mut self,
        store: &(impl OutboxStore + Commit),
        count: u32,
    ) -> Result {
        warm_up(store).await?;
        let (mut claims, mut settled) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let began = Instant::now();
            let claim = store.claim(&request(BATCH)).await?;
            claims.push(began.elapsed().as_secs_f64() * 1e3);
            let again = messages(&claim);
            let settlements = settlements(claim, &Outcome::Published);
            let began = Instant::now();
            store.settle(&settlements).await?;
            settled.push(began.elapsed().as_secs_f64() * 1e3);
            store.commit(&again).await?;
        }
        self.p50.push(quantile(&claims, 0.5));
        self.p99.push(quantile(&claims, 0.99));
        self.settlement.push(median(&settled));
        Ok(())
    }

    /// What all rounds found.
    pub(super) fn measurement(self, scenario: u8, variant: &str) -> Measurement {
        let mut measurement = Measurement::new(scenario, variant, "outbox");
        measurement.batch = BATCH;
        measurement.figures = vec![
            ("claim p50, ms", Rounds::of(self.p50)),
            ("claim p99, ms", Rounds::of(self.p99)),
            ("settlement p50, ms", Rounds::of(self.settlement)),
        ];
        eprintln!("  {variant}: {:?}", measurement.figures);
        measurement
    }
}

fn messages(claim: &Claim) -> Vec<Message> {
    let entries = claim.entries.iter();
    let message = |entry: &Entry| match entry {
        Entry::Message(delivery) => Some(delivery.message.clone()),
        Entry::Unreadable(_) => None,
    };
    entries.filter_map(message).collect()
}
