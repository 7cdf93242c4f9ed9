//! Scenario 12: what applies of 1, 2, 3, 4 and 6 in SQLite files. One relay and two, since a file has one writer.

use outbox::sqlite::SqliteStore;

use super::{Bench, Comparison, backlogs, claims::Claims, drains::relaying, latencies};
use crate::{
    Result,
    drain::Ground as _,
    files::Files,
    program::sqlite,
    system::{Relaying, System},
    template::Fill,
};

const SCENARIO: u8 = 12;

/// 12: one after another.
pub(crate) async fn files(bench: &mut Bench<'_>) -> Result {
    let mut files = Files::new()?;
    drains(bench, &mut files).await?;
    pending(bench, &mut files).await?;
    commit_to_publish(bench, &mut files).await
}

/// Ours and the plain queue.
fn contenders(relays: &[usize], batches: &[usize]) -> Vec<(System, Relaying)> {
    let mut contenders = Vec::new();
    for &relays in relays {
        for &batch in batches {
            for system in [System::SqliteOutbox, System::SqlitePlain] {
                contenders.push((system, relaying(relays, batch)));
            }
        }
    }
    contenders
}

/// As 1, 2 and 3.
async fn drains(bench: &mut Bench<'_>, files: &mut Files) -> Result {
    let few = bench.messages(1_000);
    let messages = bench.messages(20_000);
    let many = bench.messages(100_000);
    let one = contenders(&[1, 2], &[500]);
    for (variant, fill, contenders) in [
        ("1,000 of one key", Fill::of(few, 1), &one),
        ("20,000 of one key", Fill::of(messages, 1), &one),
        (
            "20,000 over 5,000 keys",
            Fill::of(messages, messages / 4),
            &contenders(&[1, 2], &[100, 500]),
        ),
        ("100,000 without a key", Fill::of(many, 0), &one),
    ] {
        let what = Comparison {
            scenario: SCENARIO,
            variant,
            fill,
            messages: fill.messages,
            rounds: bench.rounds(5),
            contenders: contenders.clone(),
        };
        bench.compare_on(files, what).await?;
    }
    files.forget()
}

/// As 4.
async fn pending(bench: &mut Bench<'_>, files: &mut Files) -> Result {
    let rounds = bench.rounds(3);
    let before = bench.measurements.len();
    let mut found = Vec::new();
    for (variant, fill) in backlogs::shapes(bench) {
        let mut claims = Claims::default();
        for _ in 0..rounds {
            let url = files.lay(&System::SqliteOutbox, fill).await?;
            let pool = sqlite::pool(&url, 3).await?;
            let store = SqliteStore::open(pool.clone()).await?;
            claims.round(&store, bench.claims()).await?;
            pool.close().await;
        }
        found.push(claims.measurement(SCENARIO, variant));
        if let Some(messages) = backlogs::drained(bench, fill) {
            let mut contenders = contenders(&[1], &[500]);
            // The plain queue knows no key that waits.
            contenders.retain(|(system, _)| fill.waiting == 0 || *system == System::SqliteOutbox);
            let what = Comparison {
                scenario: SCENARIO,
                variant,
                fill,
                messages,
                rounds,
                contenders,
            };
            bench.compare_on(files, what).await?;
        }
        files.forget()?;
    }
    // All claims in one table, all drains in another.
    bench.measurements.splice(before..before, found);
    Ok(())
}

/// As 6, by polling alone: a file wakes nobody.
async fn commit_to_publish(bench: &mut Bench<'_>, files: &mut Files) -> Result {
    let cases = [50, 1_000].map(|rate| latencies::Case::of(rate, false));
    let rounds = bench.rounds(5);
    let seconds = bench.seconds(8);
    let system = System::SqliteOutbox;
    let found = latencies::measure(files, &system, SCENARIO, cases.into(), rounds, seconds).await?;
    bench.measurements.extend(found);
    Ok(())
}
