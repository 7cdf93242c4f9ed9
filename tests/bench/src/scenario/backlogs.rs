//! Scenarios 4 and 5: what a claim costs beside a million pending messages, and beside published ones that are kept.

use std::time::Duration;

use outbox::postgres_sqlx::{PostgresConfig, PostgresStore};
use sqlx::postgres::PgPoolOptions;

use super::{Bench, Comparison, claims::Claims, drains::relaying};
use crate::{Result, drain::Ground as _, system::System, template::Fill};

/// What is small beside a million.
const FEW: u64 = 1_000;

/// Each beside what it is compared with: a million messages over ten keys, over 100,000, and behind one key that waits.
pub(super) fn shapes(bench: &Bench<'_>) -> [(&'static str, Fill); 6] {
    let million = bench.messages(1_000_000);
    let healthy = Fill::of(bench.messages(20_000), 1_000);
    [
        ("1,000 over 10 keys", Fill::of(FEW, 10)),
        ("1,000,000 over 10 keys", Fill::of(million, 10)),
        ("1,000 over 1,000 keys", Fill::of(FEW, 1_000)),
        ("1,000,000 over 100,000 keys", Fill::of(million, 100_000)),
        ("20,000 over 1,000 keys", healthy),
        (
            "the same beside 1,000,000 behind one that waits",
            Fill {
                waiting: million,
                ..healthy
            },
        ),
    ]
}

/// How many messages of a shape are drained, if it is one that is: a fifth of a million is enough to tell a rate.
pub(super) fn drained(bench: &Bench<'_>, fill: Fill) -> Option<u64> {
    (fill.messages > FEW || fill.waiting > 0).then(|| fill.messages.min(bench.messages(200_000)))
}

/// 4: a million pending.
pub(crate) async fn pending(bench: &mut Bench<'_>) -> Result {
    let shapes = shapes(bench);
    let rounds = bench.rounds(3);
    for (variant, fill) in shapes {
        claims(bench, 4, variant, fill, rounds).await?;
        bench.templates.forget().await?;
    }
    for (variant, fill) in shapes {
        let Some(messages) = drained(bench, fill) else {
            continue;
        };
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

async fn claims(
    bench: &mut Bench<'_>,
    scenario: u8,
    variant: &str,
    fill: Fill,
    rounds: usize,
) -> Result {
    let mut claims = Claims::default();
    for _ in 0..rounds {
        let url = bench.templates.lay(&System::Outbox, fill).await?;
        let pool = PgPoolOptions::new()
            .max_connections(3)
            .min_connections(3)
            .connect(&url)
            .await?;
        let config = PostgresConfig {
            retain: (fill.published > 0).then_some(Duration::from_hours(24)),
            ..PostgresConfig::default()
        };
        let store = PostgresStore::open_with(pool.clone(), config).await?;
        claims.round(&store, bench.claims()).await?;
        pool.close().await;
    }
    bench
        .measurements
        .push(claims.measurement(scenario, variant));
    Ok(())
}
