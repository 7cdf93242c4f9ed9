//! Scenario 8: a broker that takes its time. The bound is what order and concurrency allow: one message of a key at a time.

use super::Bench;
use crate::{
    Result,
    costs::PerMessage,
    drain::drain,
    measurement::{Measurement, Rounds},
    system::{Relaying, System},
    template::Fill,
};

/// The default of a relay: so many runs are being published at once.
const CONCURRENCY: u64 = 64;

/// 8: by number of keys, round trips of 0, 2 and 5 ms.
pub(crate) async fn keys(bench: &mut Bench<'_>) -> Result {
    for round_trip_ms in [0, 2, 5] {
        for keys in [1, 10, 100, 1_000, 100_000] {
            let bound = bound(keys, round_trip_ms);
            let messages = messages(bench, keys, bound);
            let fill = Fill::of(messages.max(keys.min(bench.messages(keys))), keys);
            let how = Relaying {
                relays: 1,
                batch: 500,
                round_trip_ms,
            };
            let rounds = bench.rounds(5);
            let mut found = Vec::new();
            for _ in 0..rounds {
                found
                    .push(drain(&mut bench.templates, &System::Outbox, fill, how, messages).await?);
            }
            let variant = format!("{round_trip_ms} ms, {keys} keys");
            let rates: Vec<f64> = found.iter().map(|it| it.messages_per_s).collect();
            eprintln!("  {variant}: {rates:.0?} messages/s");
            let mut measurement = Measurement::new(8, variant, System::Outbox.name());
            measurement.relays = how.relays;
            measurement.batch = how.batch;
            let costs: Vec<_> = found.iter().map(|it| it.costs).collect();
            measurement.costs = Some(PerMessage::median_of(&costs));
            if let Some(bound) = bound {
                let shares = rates.iter().map(|rate| rate / bound).collect();
                measurement.figures = vec![("of the bound", Rounds::of(shares))];
            }
            measurement.messages_per_s = Some(Rounds::of(rates));
            bench.measurements.push(measurement);
        }
    }
    Ok(())
}

/// Messages a second that are possible at all.
#[allow(clippy::cast_precision_loss, reason = "small numbers")]
fn bound(keys: u64, round_trip_ms: u64) -> Option<f64> {
    (round_trip_ms > 0).then(|| keys.min(CONCURRENCY) as f64 * 1e3 / round_trip_ms as f64)
}

/// What takes about three seconds.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "small numbers"
)]
fn messages(bench: &Bench<'_>, keys: u64, bound: Option<f64>) -> u64 {
    let three_seconds = bound.map_or(100_000, |bound| (bound * 3.0) as u64);
    bench.messages(three_seconds.max(keys.min(20_000)))
}
