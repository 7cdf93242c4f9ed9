//! A session that holds a snapshot keeps every dead row of the cluster: what a claim reads must not grow with them (P2, case 43).

use std::{fmt::Write, time::Instant};

use outbox_store_postgres::{POSTGRES, Statements};
use sqlx::{Executor, Row};

use crate::scene::Scene;

/// How many pages a statement touches, run with these values as a relay runs it, and rolled back.
async fn pages(s: &Scene, name: &str, types: &str, values: &str) -> i64 {
    let statements = Statements::new(&s.name);
    let all = statements.all();
    let text = |wanted: &str| {
        let found = all.iter().find(|(name, _)| *name == wanted);
        sqlx::AssertSqlSafe(found.unwrap().1.to_string())
    };
    let mut session = s.pool.acquire().await.unwrap();
    session.execute(sqlx::raw_sql(text("begin"))).await.unwrap();
    let prepare = format!("PREPARE counted ({types}) AS {}", text(name).0);
    session
        .execute(sqlx::raw_sql(sqlx::AssertSqlSafe(prepare)))
        .await
        .unwrap();
    let explain = format!("EXPLAIN (ANALYZE, BUFFERS, TIMING OFF) EXECUTE counted ({values})");
    let explain = sqlx::raw_sql(sqlx::AssertSqlSafe(explain));
    let plan = session.fetch_all(explain).await.unwrap();
    session
        .execute("ROLLBACK; DEALLOCATE counted")
        .await
        .unwrap();
    let lines: Vec<String> = plan.iter().map(|row| row.get(0)).collect();
    // The first line of buffers is of the whole statement.
    let buffers = lines.iter().find(|line| line.contains("Buffers: shared"));
    let counts = buffers.unwrap().split([' ', '=']).collect::<Vec<_>>();
    let count = |of: &str| {
        let at = counts.iter().position(|word| *word == of);
        at.map_or(0, |at| counts[at + 1].parse::<i64>().unwrap())
    };
    count("hit") + count("read")
}

/// What the two statements of a claim touch.
async fn claim_pages(s: &Scene) -> (i64, i64) {
    let lease = format!(
        "{}, -1, 8, 'pages', 30000, 100, 1000, 2000, 0",
        POSTGRES.version()
    );
    let types = "bigint, bigint, bigint, text, bigint, bigint, bigint, bigint, bigint";
    let lease = pages(s, "lease", types, &lease).await;
    let lanes: Vec<String> = (0..8).map(|lane| lane.to_string()).collect();
    let read = format!("'{{{}}}', 12, 16777216, 0, 10000", lanes.join(","));
    let types = "bigint[], bigint, bigint, bigint, bigint";
    (lease, pages(s, "read_line", types, &read).await)
}

async fn save(s: &Scene, count: u64) {
    s.run(&format!(
        "INSERT INTO outbox.message (lane, id, topic, key, payload)
         SELECT outbox.lane_of('orders', 'key-' || n % 5000), gen_random_uuid(), 'orders', 'key-' || n % 5000, 'payload'
         FROM generate_series(1, {count}) AS n"
    ))
    .await;
}

#[tokio::test]
async fn case43_a_claim_touches_no_more_pages_while_a_session_holds_a_snapshot() {
    let soak = std::env::var_os("OUTBOX_SOAK").is_some();
    let count = if soak { 400_000 } else { 20_000 };
    let s = Scene::alone().await;
    let relay = s.relay("a");
    save(&s, count).await;
    let mut holder = s.pool.begin().await.unwrap();
    holder
        .execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        .await
        .unwrap();
    holder.execute("SELECT 1").await.unwrap();
    let first = claim_pages(&s).await;
    let (mut drained, mut times, mut at_half) = (0, Vec::new(), first);
    let claims = count / 100;
    for claim in 0.. {
        let began = Instant::now();
        let taken = relay.claim().await;
        times.push(began.elapsed());
        if taken.is_empty() {
            break;
        }
        drained += u64::try_from(taken.payloads().len()).unwrap();
        relay.publish(&taken).await;
        if claim == claims / 2 {
            at_half = claim_pages(&s).await;
        }
    }
    assert_eq!(drained, count);
    // The line is as it was at the beginning, behind everything that is dead.
    save(&s, 5_000).await;
    let last = claim_pages(&s).await;
    let mut report = format!("pages {first:?}, at half {at_half:?}, {last:?} at the end");
    let tenth = times.len() / 10;
    let p99 = |times: &[std::time::Duration]| {
        let mut sorted = times.to_vec();
        sorted.sort();
        sorted[sorted.len() * 99 / 100]
    };
    let (early, late) = (p99(&times[..tenth]), p99(&times[times.len() - tenth..]));
    let ratio = late.as_secs_f64() / early.as_secs_f64();
    write!(
        report,
        "; claim p99 {early:?} at first, {late:?} at last, {ratio:.2}x"
    )
    .unwrap();
    println!("{report}");
    if soak {
        assert!(ratio < 3.0, "{report}");
    }
    assert!(last.0 <= first.0 * 3 && last.1 <= first.1 * 3, "{report}");
    holder.rollback().await.unwrap();
}
