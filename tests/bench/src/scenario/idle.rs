//! Scenario 11: relays that have nothing to do.

use std::time::Duration;

use super::Bench;
use crate::{
    Result,
    drain::Ground as _,
    fleet::Fleet,
    measurement::{Measurement, Rounds},
    system::{Relaying, System},
    template::{Fill, WORK},
};

/// 11: four relays, for a minute.
pub(crate) async fn four(bench: &mut Bench<'_>) -> Result {
    let seconds = if bench.small { 5.0 } else { 60.0 };
    let relays = 4;
    for (variant, wake_up) in [("polling", false), ("wake-up", true)] {
        let url = bench.templates.lay(&System::Outbox, Fill::of(0, 0)).await?;
        let how = Relaying {
            relays,
            batch: 100,
            round_trip_ms: 0,
        };
        let mut commands = System::Outbox.relays(&url, how)?;
        for command in &mut commands {
            command.args(wake_up.then_some("--wake-up"));
        }
        let mut fleet = Fleet::start(commands)?;
        fleet.go()?;
        // Until they have come to rest.
        tokio::time::sleep(Duration::from_secs(5)).await;
        let used: Duration = fleet.cpu()?;
        let begin = bench.server.moment(WORK).await?;
        tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
        let costs = bench.server.moment(WORK).await?.since(&begin);
        let cpu = fleet.cpu()?.saturating_sub(used).as_secs_f64();
        let ended = fleet.end()?;
        bench.server.wait_until_left(WORK).await?;
        let one = |it: f64| Rounds::of(vec![it]);
        let mut measurement = Measurement::new(11, variant, System::Outbox.name());
        measurement.relays = relays;
        measurement.batch = how.batch;
        #[allow(clippy::cast_precision_loss, reason = "small numbers")]
        let (count, memory) = (relays as f64, ended.peak_memory as f64);
        measurement.figures = vec![
            (
                "statements a second and relay",
                one(costs.statements / seconds / count),
            ),
            ("CPU of a relay, %", one(cpu / seconds / count * 100.0)),
            ("CPU of the server, %", one(costs.cpu / seconds * 100.0)),
            ("WAL bytes a second", one(costs.wal_bytes / seconds)),
            (
                "peak memory of a relay, MiB",
                one(memory / count / 1_048_576.0),
            ),
        ];
        bench.measurements.push(measurement);
    }
    Ok(())
}
