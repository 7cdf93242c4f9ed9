//! Scenario 9: beside a snapshot that somebody holds. Nothing that was deleted since can be removed.

use std::time::{Duration, Instant};

use sqlx::{AssertSqlSafe, Connection, PgConnection};

use super::Bench;
use crate::{
    Result,
    drain::{Ground as _, rate},
    fleet::Fleet,
    measurement::{Measurement, Rounds},
    program::outbox_tables,
    system::{Relaying, System},
    template::Fill,
};

/// What may grow, in bytes.
const SIZES: &str = "SELECT
    pg_relation_size('outbox.message')::float8,
    pg_indexes_size('outbox.message')::float8,
    (pg_relation_size('outbox.lane') + pg_indexes_size('outbox.lane'))::float8";

/// 9: each minute 60,000 messages are saved at once, and a relay takes them; for ten minutes.
pub(crate) async fn held(bench: &mut Bench<'_>) -> Result {
    let (minutes, minute) = if bench.small {
        (3, Duration::from_secs(1))
    } else {
        (10, Duration::from_mins(1))
    };
    let messages = bench.messages(60_000);
    let url = bench.templates.lay(&System::Outbox, Fill::of(0, 0)).await?;
    let mut holder = PgConnection::connect(&url).await?;
    sqlx::raw_sql("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM outbox.message")
        .execute(&mut holder)
        .await?;
    let how = Relaying {
        relays: 1,
        batch: 500,
        round_trip_ms: 0,
    };
    let mut fleet = Fleet::start(System::Outbox.relays(&url, how)?)?;
    fleet.go()?;
    let mut connection = PgConnection::connect(&url).await?;
    let mut saved = 0;
    for number in 1..=minutes {
        let began = Instant::now();
        let line = outbox_tables::line(messages, 5_000, 200);
        sqlx::raw_sql(AssertSqlSafe(line))
            .execute(&mut connection)
            .await?;
        saved += messages;
        let time = fleet.burst(saved)?;
        let rate = rate(messages, time);
        eprintln!("  minute {number}: {rate:.0} messages/s");
        let (heap, index, lanes): (f64, f64, f64) =
            sqlx::query_as(SIZES).fetch_one(&mut connection).await?;
        let one = |it: f64| Rounds::of(vec![it]);
        let mut measurement =
            Measurement::new(9, format!("minute {number}"), System::Outbox.name());
        measurement.figures = vec![
            ("messages/s", one(rate)),
            ("line, MiB", one(heap / 1_048_576.0)),
            ("its index, MiB", one(index / 1_048_576.0)),
            ("lanes, KiB", one(lanes / 1_024.0)),
        ];
        bench.measurements.push(measurement);
        if number < minutes {
            tokio::time::sleep(minute.saturating_sub(began.elapsed())).await;
        }
    }
    fleet.end()?;
    connection.close().await?;
    holder.close().await?;
    Ok(())
}
