//! Scenarios 4 and 5: what a claim costs beside a million pending messages, and beside published ones that are kept.

use std::time::Instant;

use outbox::{
    Save,
    postgres_sqlx::{PostgresConfig, PostgresStore},
    store::{Entry, OutboxStore, Outcome},
};
use sqlx::postgres::PgPoolOptions;

use super::{Bench, Comparison, drains::relaying};
use crate::{
    Result,
    measurement::{Measurement, Rounds, median, quantile},
    program::rounds::{request, settlements, warm_up},
    system::System,
    template::Fill,
};

/// How many messages a claim takes here.
const BATCH: usize = 100;

/// 4: a million messages over ten keys, over 100,000, and behind one key that waits.
pub(crate) async fn pending(bench: &mut Bench<'_>) -> Result {
    let million = bench.messages(1_000_000);
    let few = 1_000;
    let healthy = bench.messages(20_000);
    let behind = |messages: u64| Fill {
        waiting: million,
        ..Fill::of(messages, 1_000)
    };
    let shapes = [
        ("1,000 over 10 keys", Fill::of(few, 10)),
        ("1,000,000 over 10 keys", Fill::of(million, 10)),
        ("1,000 over 1,000 keys", Fill::of(few, 1_000)),
        ("1,000,000 over 100,000 keys", Fill::of(million, 100_000)),
        ("20,000 over 1,000 keys", Fill::of(healthy, 1_000)),
        (
            "the same beside 1,000,000 behind one that waits",
            behind(healthy),
        ),
    ];
    let rounds = bench.rounds(3);
    for (variant, fill) in shapes {
        claims(bench, 4, variant, fill, rounds).await?;
        bench.templates.forget().await?;
    }
    for (variant, fill) in shapes.into_iter().filter(|(_, fill)| fill.messages > few) {
        // A fifth of a million is enough to tell a rate.
        let messages = fill.messages.min(bench.messages(200_000));
        let systems = if fill.waiting > 0 {
            vec![System::Outbox]
        } else {
            vec![System::Outbox, System::Plain]
        };
        let contenders = systems.into_iter().map(|system| (system, relaying(1, 500)));
        let what = Comparison {
            scenario: 4,
            variant,
            fill,
            messages,
            rounds,
            contenders: contenders.collect(),
        };
        bench.compare(what).await?;
        bench.templates.forget().await?;
    }
    Ok(())
}

/// 5: claims beside 0, 300,000 and 3,000,000 published messages.
pub(crate) async fn retained(bench: &mut Bench<'_>) -> Result {
    let rounds = bench.rounds(3);
    for (variant, published) in [
        ("none kept", 0),
        ("300,000 kept", 300_000),
        ("3,000,000 kept", 3_000_000),
    ] {
        let fill = Fill {
            published: if published > 0 {
                bench.messages(published)
            } else {
                0
            },
            ..Fill::of(bench.messages(100_000), 5_000)
        };
        claims(bench, 5, variant, fill, rounds).await?;
        bench.templates.forget().await?;
    }
    Ok(())
}

/// Times claims alone. Each is settled and its messages are saved again, so that there are as many for the next one.
async fn claims(
    bench: &mut Bench<'_>,
    scenario: u8,
    variant: &str,
    fill: Fill,
    rounds: usize,
) -> Result {
    let count = if bench.small { 20 } else { 400 };
    let (mut p50, mut p99, mut settle) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let url = bench.templates.lay(&System::Outbox, fill).await?;
        let pool = PgPoolOptions::new()
            .max_connections(3)
            .min_connections(3)
            .connect(&url)
            .await?;
        let config = PostgresConfig {
            retain: (fill.published > 0).then_some(std::time::Duration::from_hours(24)),
            ..PostgresConfig::default()
        };
        let store = PostgresStore::open_with(pool.clone(), config).await?;
        warm_up(&store).await?;
        let (mut claims, mut settles) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let began = Instant::now();
            let claim = store.claim(&request(BATCH)).await?;
            claims.push(began.elapsed().as_secs_f64() * 1e3);
            let again: Vec<_> = claim
                .entries
                .iter()
                .filter_map(|entry| match entry {
                    Entry::Message(delivery) => Some(delivery.message.clone()),
                    Entry::Unreadable(_) => None,
                })
                .collect();
            let settlements = settlements(claim, &Outcome::Published);
            let began = Instant::now();
            store.settle(&settlements).await?;
            settles.push(began.elapsed().as_secs_f64() * 1e3);
            let mut tx = pool.begin().await?;
            let saves: Vec<Save<'_>> = again.iter().map(Save::from).collect();
            store.save_all(&mut tx, &saves).await?;
            tx.commit().await?;
        }
        p50.push(quantile(&claims, 0.5));
        p99.push(quantile(&claims, 0.99));
        settle.push(median(&settles));
        pool.close().await;
    }
    let mut measurement = Measurement::new(scenario, variant, System::Outbox.name());
    measurement.batch = BATCH;
    measurement.figures = vec![
        ("claim p50, ms", Rounds::of(p50)),
        ("claim p99, ms", Rounds::of(p99)),
        ("settlement p50, ms", Rounds::of(settle)),
    ];
    eprintln!("  {variant}: {:?}", measurement.figures);
    bench.measurements.push(measurement);
    Ok(())
}
