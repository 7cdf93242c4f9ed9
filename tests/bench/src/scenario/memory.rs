//! Scenario 13: the memory of a relay, over a million messages.

use super::{Bench, drains::relaying};
use crate::{
    Result,
    drain::Ground as _,
    fleet::Fleet,
    measurement::{Measurement, Rounds},
    system::System,
    template::Fill,
};

/// 13: batches of 500, payloads of 1 KiB.
pub(crate) async fn million(bench: &mut Bench<'_>) -> Result {
    let messages = bench.messages(1_000_000);
    let fill = Fill {
        payload: 1_024,
        ..Fill::of(messages, 5_000)
    };
    let url = bench.templates.lay(&System::Outbox, fill).await?;
    let mut fleet = Fleet::start(System::Outbox.relays(&url, relaying(1, 500))?)?;
    fleet.go()?;
    let mut figures = Vec::new();
    for (name, share) in [
        ("after a tenth, MiB", 10),
        ("after a half, MiB", 2),
        ("at the end, MiB", 1),
    ] {
        fleet.wait_for(messages / share)?;
        figures.push((name, mebibytes(fleet.memory()?)));
    }
    let ended = fleet.end()?;
    figures.push(("peak, MiB", mebibytes(ended.peak_memory)));
    let mut measurement = Measurement::new(13, "1,000,000 of 1 KiB", System::Outbox.name());
    measurement.relays = 1;
    measurement.batch = 500;
    measurement.figures = figures;
    bench.measurements.push(measurement);
    Ok(())
}

#[allow(clippy::cast_precision_loss, reason = "bytes far below 2^52")]
fn mebibytes(bytes: u64) -> Rounds {
    Rounds::of(vec![bytes as f64 / 1_048_576.0])
}
