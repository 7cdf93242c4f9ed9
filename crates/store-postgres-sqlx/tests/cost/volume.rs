//! Cases 28 and 29: what a claim costs beside a large backlog, and how what was published long ago goes away.

use std::time::{Duration, Instant};

use outbox_store::{OutboxOperator, Outcome, Purge, PurgeMode};

use crate::{
    backlog::Backlog,
    explain::looks,
    place::{Place, is_soak},
    scratch::{Keys, Scratch, messages},
};

async fn filled(rows: u32) -> Scratch {
    filled_with(backlog(rows)).await
}

pub(crate) fn backlog(rows: u32) -> Backlog {
    Backlog {
        pending: rows,
        one: 1_000,
        waiting: rows / 10,
        aside: 0,
        scheduled: rows / 10,
        published: rows,
        dead: 10_000,
        ids: 1_000,
        // So that claims are of the line, and not of what falls due.
        later: 366,
    }
}

pub(crate) async fn filled_with(backlog: Backlog) -> Scratch {
    let scratch = Scratch::new(Place::server().await).await;
    backlog.fill(&scratch.place).await;
    // And none of them is careful.
    for statement in [
        "DELETE FROM outbox.start_mark; UPDATE outbox.lane SET careful = 0",
        "VACUUM outbox.start_mark",
        "VACUUM outbox.lane",
    ] {
        scratch.place.run(statement).await;
    }
    scratch
}

#[tokio::test]
async fn case28_a_claim_costs_the_same_beside_a_large_backlog() {
    let few = filled(1_000).await;
    let few = few.round_touches().await;
    let rows = if is_soak() { 1_000_000 } else { 100_000 };
    let many = filled(rows).await;
    let touched = many.round_touches().await;
    assert!(
        touched <= few * 3.0,
        "{few} blocks, and {touched} with {rows}"
    );
    if is_soak() {
        time_claims(&many, 1_000).await;
    }
}

/// Decision 0018, where a claim takes eight lanes.
#[tokio::test]
async fn a_claim_that_finds_enough_looks_into_no_more_lanes_than_it_takes() {
    let scratch = Scratch::new(Place::server().await).await;
    let into_lines = async || looks(&scratch.explained("lease").await, "message");
    assert_eq!(into_lines().await, 64, "nothing is due");
    // Each goes into any of the 64 lanes.
    scratch.save(&messages(2_000, Keys::None)).await;
    assert_eq!(into_lines().await, 8, "every lane has something due");
    for _ in 0..8 {
        scratch.claim(100).await;
    }
    assert_eq!(into_lines().await, 1, "every lane is held");
}

/// Decision 0019.
#[tokio::test]
async fn the_lanes_of_a_claim_share_what_they_are_looked_through_for_another_key() {
    let scratch = Scratch::new(Place::server().await).await;
    let fill = "INSERT INTO outbox.message (lane, id, topic, key, payload)
        SELECT k.lane, n::text, 'orders', k.key, ''
        FROM generate_series(1, 3000) AS n
        CROSS JOIN (
          SELECT outbox.lane_of('orders', g::text) AS lane, min(g::text) AS key
          FROM generate_series(1, 1000) AS g
          GROUP BY 1
          ORDER BY 1
          LIMIT 8
        ) AS k";
    scratch.place.run(fill).await;
    scratch.claim(100).await;
    let looked_through = "SELECT count(*) FROM outbox.message m JOIN outbox.lane l ON l.lane = m.lane AND m.position <= l.ahead";
    let looked_through = scratch.place.count(looked_through).await;
    assert!(
        (4_500..=5_500).contains(&looked_through),
        "{looked_through}"
    );
}

/// Prints what claims of 100 messages take; what is published is saved again.
async fn time_claims(scratch: &Scratch, rounds: usize) {
    let mut times = Vec::new();
    for _ in 0..rounds {
        let claiming = Instant::now();
        let (claim, _) = scratch.claim(100).await;
        times.push(claiming.elapsed());
        scratch.settle(&claim, |_, _| Outcome::Published).await;
        scratch
            .save(&messages(claim.entries.len(), Keys::Many))
            .await;
    }
    times.sort_unstable();
    println!(
        "{rounds} claims of 100: p50 {:?}, p99 {:?}, longest {:?}",
        times[rounds / 2],
        times[rounds * 99 / 100],
        times[rounds - 1]
    );
}

/// How many messages are not published.
const UNPUBLISHED: &str =
    "SELECT (SELECT count(*) FROM outbox.message) + (SELECT count(*) FROM outbox.waiting)
   + (SELECT count(*) FROM outbox.scheduled) + (SELECT count(*) FROM outbox.dead)";

#[tokio::test]
async fn case29_a_purge_goes_in_steps_and_spares_what_is_not_published() {
    let rows = if is_soak() { 1_000_000 } else { 5_000 };
    let scratch = filled(rows).await;
    let place = &scratch.place;
    let fresh = "UPDATE outbox.published SET published_at = now() WHERE position <= 10";
    place.run(fresh).await;
    let unpublished = place.count(UNPUBLISHED).await;
    let purge = Purge {
        older_than: Duration::from_hours(24),
        inbox_older_than: None,
        limit: 1_000,
        mode: PurgeMode::Delete,
    };
    let (mut removed, mut steps, mut slowest) = (0, 0, Duration::ZERO);
    loop {
        let begin = Instant::now();
        let step = scratch.store.purge(&purge).await.unwrap();
        slowest = slowest.max(begin.elapsed());
        assert!(step.published <= 1_000);
        removed += step.published;
        steps += 1;
        if !step.more {
            break;
        }
    }
    println!("{removed} published messages purged in {steps} steps, the slowest in {slowest:?}");
    assert_eq!(removed, u64::from(rows) - 10);
    assert_eq!(steps, rows / 1_000);
    let left = place.count("SELECT count(*) FROM outbox.published").await;
    assert_eq!(left, 10);
    assert_eq!(place.count(UNPUBLISHED).await, unpublished);
}
