//! Scenarios 6 and 10: from commit to publish, and beside a key that hangs.

use super::Bench;
use crate::{
    Result,
    fleet::Fleet,
    measurement::{Measurement, Rounds},
    program::latency::Latency,
    system::{System, own},
    template::Fill,
};

/// One way to save and relay.
struct Case {
    variant: String,
    rate: u32,
    wake_up: bool,
    hang: bool,
}

/// 6: 50 and 1,000 transactions a second, with wake-up and by polling alone.
pub(crate) async fn commit_to_publish(bench: &mut Bench<'_>) -> Result {
    let case = |rate: u32, wake_up: bool| Case {
        variant: format!(
            "{rate} a second, {}",
            if wake_up { "wake-up" } else { "polling" }
        ),
        rate,
        wake_up,
        hang: false,
    };
    let cases = vec![
        case(50, true),
        case(1_000, true),
        case(50, false),
        case(1_000, false),
    ];
    let rounds = bench.rounds(5);
    measure(bench, 6, cases, rounds, 8).await
}

/// 10: 1,000 healthy keys at 500 messages a second, with and without one more whose publish calls take ten seconds.
pub(crate) async fn hanging_key(bench: &mut Bench<'_>) -> Result {
    let case = |hang: bool| Case {
        variant: if hang {
            "one key hangs"
        } else {
            "all keys are healthy"
        }
        .to_owned(),
        rate: 500,
        wake_up: true,
        hang,
    };
    let rounds = bench.rounds(5);
    measure(bench, 10, vec![case(false), case(true)], rounds, 12).await
}

async fn measure(
    bench: &mut Bench<'_>,
    scenario: u8,
    cases: Vec<Case>,
    rounds: usize,
    seconds: u32,
) -> Result {
    let seconds = if bench.small { 2 } else { seconds };
    let mut found: Vec<Vec<Latency>> = cases.iter().map(|_| Vec::new()).collect();
    for _ in 0..rounds {
        for (case, found) in cases.iter().zip(&mut found) {
            let url = bench.templates.lay(&System::Outbox, Fill::of(0, 0)).await?;
            let mut command = own("latency", &url)?;
            command.args([
                "--rate",
                &case.rate.to_string(),
                "--seconds",
                &seconds.to_string(),
            ]);
            command.args(case.wake_up.then_some("--wake-up"));
            command.args(case.hang.then_some("--hang"));
            let mut fleet = Fleet::start(vec![command])?;
            fleet.go()?;
            fleet.wait_for(1)?;
            let ended = fleet.end()?;
            let told = ended.told.first().ok_or("it told nothing")?;
            let latency: Latency = serde_json::from_str(told)?;
            eprintln!("  {}: {latency:?}", case.variant);
            found.push(latency);
        }
    }
    for (case, found) in cases.into_iter().zip(found) {
        let of = |field: fn(&Latency) -> f64| Rounds::of(found.iter().map(field).collect());
        let mut measurement = Measurement::new(scenario, case.variant, System::Outbox.name());
        measurement.relays = 1;
        measurement.figures = vec![
            ("p99, ms", of(|it| it.p99_ms)),
            ("p50, ms", of(|it| it.p50_ms)),
            ("slowest, ms", of(|it| it.max_ms)),
        ];
        bench.measurements.push(measurement);
    }
    Ok(())
}
