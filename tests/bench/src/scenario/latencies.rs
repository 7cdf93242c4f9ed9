//! Scenarios 6 and 10: from commit to publish, and beside a key that hangs.

use super::Bench;
use crate::{
    Result,
    drain::Ground,
    fleet::Fleet,
    measurement::{Measurement, Rounds},
    program::latency::Latency,
    report::thousands,
    system::{System, own},
    template::Fill,
};

/// One way to save and relay.
pub(super) struct Case {
    variant: String,
    rate: u32,
    wake_up: bool,
    hang: bool,
}

impl Case {
    /// So many transactions a second.
    pub(super) fn of(rate: u32, wake_up: bool) -> Self {
        let how = if wake_up { "wake-up" } else { "polling" };
        Self {
            variant: format!("{} a second, {how}", thousands(rate.into())),
            rate,
            wake_up,
            hang: false,
        }
    }
}

/// 6: 50 and 1,000 transactions a second, with wake-up and by polling alone.
pub(crate) async fn commit_to_publish(bench: &mut Bench<'_>) -> Result {
    let cases = vec![
        Case::of(50, true),
        Case::of(1_000, true),
        Case::of(50, false),
        Case::of(1_000, false),
    ];
    on_server(bench, 6, cases, 8).await
}

/// 10: 1,000 healthy keys at 500 messages a second, with and without one more whose publish calls take ten seconds.
pub(crate) async fn hanging_key(bench: &mut Bench<'_>) -> Result {
    let case = |variant: &str, hang: bool| Case {
        variant: variant.to_owned(),
        hang,
        ..Case::of(500, true)
    };
    let cases = vec![
        case("all keys are healthy", false),
        case("one key hangs", true),
    ];
    on_server(bench, 10, cases, 12).await
}

async fn on_server(bench: &mut Bench<'_>, scenario: u8, cases: Vec<Case>, seconds: u32) -> Result {
    let (rounds, seconds) = (bench.rounds(5), bench.seconds(seconds));
    let system = System::Outbox;
    let ground = &mut bench.templates;
    let found = measure(ground, &system, scenario, cases, rounds, seconds).await?;
    bench.measurements.extend(found);
    Ok(())
}

/// Runs the rounds of all cases in turn.
pub(super) async fn measure(
    ground: &mut impl Ground,
    system: &System,
    scenario: u8,
    cases: Vec<Case>,
    rounds: usize,
    seconds: u32,
) -> Result<Vec<Measurement>> {
    let mut found: Vec<Vec<Latency>> = cases.iter().map(|_| Vec::new()).collect();
    for _ in 0..rounds {
        for (case, found) in cases.iter().zip(&mut found) {
            let url = ground.lay(system, Fill::of(0, 0)).await?;
            let latency = round(case, &url, seconds)?;
            eprintln!("  {}: {latency:?}", case.variant);
            found.push(latency);
        }
    }
    let measurement = |(case, found): (Case, Vec<Latency>)| {
        let of = |field: fn(&Latency) -> f64| Rounds::of(found.iter().map(field).collect());
        let mut measurement = Measurement::new(scenario, case.variant, system.name());
        measurement.relays = 1;
        measurement.figures = vec![
            ("p99, ms", of(|it| it.p99_ms)),
            ("p50, ms", of(|it| it.p50_ms)),
            ("slowest, ms", of(|it| it.max_ms)),
            ("saved a second", of(|it| it.saved_per_s)),
        ];
        measurement
    };
    Ok(cases.into_iter().zip(found).map(measurement).collect())
}

fn round(case: &Case, url: &str, seconds: u32) -> Result<Latency> {
    let mut command = own("latency", url)?;
    command.args(["--rate", &case.rate.to_string()]);
    command.args(["--seconds", &seconds.to_string()]);
    command.args(case.wake_up.then_some("--wake-up"));
    command.args(case.hang.then_some("--hang"));
    let mut fleet = Fleet::start(vec![command])?;
    fleet.go()?;
    fleet.wait_for(1)?;
    let ended = fleet.end()?;
    let told = ended.told.first().ok_or("it told nothing")?;
    Ok(serde_json::from_str(told)?)
}
