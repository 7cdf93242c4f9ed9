//! What the open transaction of somebody else adds to claims (ADR 0013): nothing that grows if it only reads; if it wrote, as much as is drained meanwhile.

use std::time::{Duration, Instant};

use outbox_store::{OutboxOperator, Outcome};
use sqlx::{AssertSqlSafe, Executor, Postgres, Transaction};
use tokio::{task::JoinHandle, time::interval};

use crate::{
    place::{Place, is_soak},
    scratch::{Keys, Scratch, messages},
};

/// Begins like a report that reads for long.
const READS: &str =
    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM outbox.message";

/// Begins like an import that writes for long.
const WRITES: &str = "SELECT pg_current_xact_id()";

async fn hold(scratch: &Scratch, statements: &str) -> Transaction<'static, Postgres> {
    let mut held = scratch.place.pool.begin().await.unwrap();
    let sql = sqlx::raw_sql(AssertSqlSafe(statements));
    held.execute(sql).await.unwrap();
    held
}

/// Saves messages, and publishes as many of those that are first.
async fn pass(scratch: &Scratch, count: usize) {
    scratch.save(&messages(count, Keys::Many)).await;
    let mut left = count;
    while left > 0 {
        let (claim, _) = scratch.claim(left).await;
        assert!(!claim.entries.is_empty());
        left -= claim.entries.len();
        scratch.settle(&claim, |_, _| Outcome::Published).await;
    }
}

/// A store with a short line that was used for a while.
async fn used() -> Scratch {
    let scratch = Scratch::new(Place::server().await).await;
    scratch.save(&messages(1_000, Keys::Many)).await;
    pass(&scratch, 2_000).await;
    scratch
}

#[tokio::test]
async fn a_held_snapshot_adds_nothing_to_claims_that_grows() {
    if is_soak() {
        let report = traffic(READS, 10).await;
        let (first, last) = (&report[0], &report[report.len() - 1]);
        assert!(last.touched <= first.touched * 3.0, "{report:#?}");
        assert!(last.p99 <= first.p99 * 3, "{report:#?}");
        return;
    }
    let scratch = used().await;
    let before = scratch.round_touches().await;
    let held = hold(&scratch, READS).await;
    for _ in 0..40 {
        pass(&scratch, 500).await;
    }
    // As an hour of leases does.
    for _ in 0..500 {
        scratch
            .place
            .run("UPDATE outbox.lane SET epoch = epoch + 1")
            .await;
    }
    let after = scratch.round_touches().await;
    scratch.place.run("UPDATE outbox.lane SET floor = 0").await;
    let without = scratch.round_touches().await;
    assert!(after <= before * 3.0, "{before} blocks, then {after}");
    assert!(
        without > after * 5.0,
        "it is the floor: {without} blocks without"
    );
    held.rollback().await.unwrap();
}

#[tokio::test]
async fn what_a_held_write_adds_to_claims_goes_with_it() {
    if is_soak() {
        traffic(WRITES, 2).await;
        return;
    }
    let scratch = used().await;
    let before = scratch.round_touches().await;
    let held = hold(&scratch, WRITES).await;
    for _ in 0..20 {
        pass(&scratch, 500).await;
    }
    let during = scratch.round_touches().await;
    held.rollback().await.unwrap();
    scratch.place.run("VACUUM outbox.lane").await;
    for _ in 0..4 {
        pass(&scratch, 500).await;
    }
    let after = scratch.round_touches().await;
    assert!(during > before * 2.0, "{before} blocks, then {during}");
    assert!(after <= before * 3.0, "{before} blocks, then {after}");
}

/// The claims of a minute.
#[derive(Debug)]
#[expect(dead_code, reason = "people read it")]
struct Minute {
    claims: usize,
    published: usize,
    p50: Duration,
    p99: Duration,
    /// How many blocks a claim and a settlement touch at its end.
    touched: f64,
}

fn minute(mut times: Vec<Duration>, published: usize, touched: f64) -> Minute {
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)];
    Minute {
        claims: times.len(),
        published,
        p50: at(50),
        p99: at(99),
        touched,
    }
}

/// A thousand messages a second for so many minutes, and one relay, beside a transaction that is held. Prints each minute.
async fn traffic(held: &str, minutes: usize) -> Vec<Minute> {
    let scratch = used().await;
    let mut held = hold(&scratch, held).await;
    let pid: i32 = sqlx::query_scalar("SELECT pg_backend_pid()")
        .fetch_one(&mut *held)
        .await
        .unwrap();
    let writer = write(&scratch);
    let mut report = Vec::new();
    for number in 1..=minutes {
        let (begin, mut times, mut published) = (Instant::now(), Vec::new(), 0);
        while begin.elapsed() < Duration::from_mins(1) {
            let claiming = Instant::now();
            let (claim, _) = scratch.claim(100).await;
            times.push(claiming.elapsed());
            if claim.entries.is_empty() {
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            }
            published += claim.entries.len();
            scratch.settle(&claim, |_, _| Outcome::Published).await;
        }
        let minute = minute(times, published, scratch.round_touches().await);
        println!("minute {number}: {minute:?}");
        report.push(minute);
    }
    writer.abort();
    let status = scratch.store.status().await.unwrap();
    let horizon = status.horizon.unwrap();
    println!("{horizon:?}, {} in the line", status.line);
    assert_eq!(horizon.name, pid.to_string());
    held.rollback().await.unwrap();
    report
}

/// Saves ten messages every 10 ms.
fn write(scratch: &Scratch) -> JoinHandle<()> {
    let (store, pool) = (scratch.store.clone(), scratch.place.pool.clone());
    tokio::spawn(async move {
        let mut ticks = interval(Duration::from_millis(10));
        let batch = messages(10_000, Keys::Many);
        for messages in batch.chunks(10).cycle() {
            ticks.tick().await;
            let mut tx = pool.begin().await.unwrap();
            let saves: Vec<_> = messages.iter().map(Into::into).collect();
            store.save_all(&mut tx, &saves).await.unwrap();
            tx.commit().await.unwrap();
        }
    })
}
