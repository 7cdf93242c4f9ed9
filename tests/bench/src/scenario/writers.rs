//! Scenario 7: what a save costs its transaction.

use super::Bench;
use crate::{
    Result,
    costs::PerMessage,
    drain::{Ground as _, costs, rate},
    fleet::Fleet,
    measurement::{Measurement, Rounds},
    program::save::{How, Saving},
    system::{Relaying, System, own},
    template::{Fill, WORK},
};

/// Who saves, and whether a relay takes it out meanwhile.
struct Case {
    how: How,
    word: &'static str,
    system: &'static str,
    beside_relay: bool,
}

const CASES: [Case; 6] = [
    Case {
        how: How::Insert,
        word: "insert",
        system: "plain insert",
        beside_relay: false,
    },
    Case {
        how: How::InsertIntoLanes,
        word: "insert-into-lanes",
        system: "plain insert into lanes",
        beside_relay: false,
    },
    Case {
        how: How::Save,
        word: "save",
        system: "outbox",
        beside_relay: false,
    },
    Case {
        how: How::OrderLock,
        word: "order-lock",
        system: "outbox, order lock",
        beside_relay: false,
    },
    Case {
        how: How::Save,
        word: "save",
        system: "outbox beside a relay",
        beside_relay: true,
    },
    Case {
        how: How::WakeUp,
        word: "wake-up",
        system: "outbox beside a relay, wake-up",
        beside_relay: true,
    },
];

/// 7: one writer and 16, one message a transaction and 100.
pub(crate) async fn saves(bench: &mut Bench<'_>) -> Result {
    let rounds = bench.rounds(5);
    let seconds = if bench.small { 1 } else { 3 };
    for (writers, per) in [(1, 1), (16, 1), (1, 100), (16, 100)] {
        let who = if writers == 1 { "writer" } else { "writers" };
        let variant = format!("{writers} {who}, {per} a transaction");
        let mut found: Vec<Vec<(f64, PerMessage)>> = CASES.iter().map(|_| Vec::new()).collect();
        for _ in 0..rounds {
            for (case, found) in CASES.iter().zip(&mut found) {
                let round = round(bench, case, writers, per, seconds).await?;
                eprintln!("  {variant}: {} {:.0} messages/s", case.system, round.0);
                found.push(round);
            }
        }
        for (case, found) in CASES.iter().zip(found) {
            let mut measurement = Measurement::new(7, variant.as_str(), case.system);
            measurement.batch = per;
            let costs: Vec<_> = found.iter().map(|it| it.1).collect();
            measurement.costs = Some(PerMessage::median_of(&costs));
            measurement.messages_per_s = Some(Rounds::of(found.iter().map(|it| it.0).collect()));
            bench.measurements.push(measurement);
        }
        bench.rate_against(7, &variant, "plain insert");
    }
    Ok(())
}

async fn round(
    bench: &mut Bench<'_>,
    case: &Case,
    writers: u32,
    per: usize,
    seconds: u64,
) -> Result<(f64, PerMessage)> {
    let url = bench.templates.lay(&System::Outbox, Fill::of(0, 0)).await?;
    let relays = if case.beside_relay {
        let how = Relaying {
            relays: 1,
            batch: 100,
            round_trip_ms: 0,
        };
        let mut relays = System::Outbox.relays(&url, how)?;
        for relay in &mut relays {
            relay.args((case.how == How::WakeUp).then_some("--wake-up"));
        }
        let mut relays = Fleet::start(relays)?;
        relays.go()?;
        Some(relays)
    } else {
        None
    };
    let mut command = own("save", &url)?;
    command.args(["--how", case.word, "--writers", &writers.to_string()]);
    command.args([
        "--per-transaction",
        &per.to_string(),
        "--seconds",
        &seconds.to_string(),
    ]);
    let mut fleet = Fleet::start(vec![command])?;
    let begin = bench.server.moment(WORK).await?;
    fleet.go()?;
    fleet.wait_for(1)?;
    let ended = fleet.end()?;
    let told: Saving = serde_json::from_str(ended.told.first().ok_or("it told nothing")?)?;
    let server = bench.server.moment(WORK).await?.since(&begin);
    let costs = costs(Some(server), &ended);
    if let Some(relays) = relays {
        relays.end()?;
    }
    bench.server.wait_until_left(WORK).await?;
    let rate = rate(
        told.messages,
        std::time::Duration::from_secs_f64(told.seconds),
    );
    Ok((rate, costs.per_message(told.messages)))
}
