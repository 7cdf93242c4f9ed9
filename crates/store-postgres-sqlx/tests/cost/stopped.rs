//! P1, P2, P3: what stopped topics cost. Their messages are set aside once, by a fixed number of statements, and then cost claims nothing.

use std::time::Duration;

use outbox_message::Topic;
use outbox_store::{OutboxOperator, OutboxStore, Outcome};

use crate::{
    backlog::Backlog,
    counts::run,
    place::Place,
    scratch::Scratch,
    volume::{backlog, filled_with},
};

/// Messages of the topic `away` into the line, with and without keys.
async fn fill(scratch: &Scratch, rows: u32) {
    let fill = format!(
        "INSERT INTO outbox.message (lane, id, topic, key, payload)
         SELECT coalesce(outbox.lane_of('away', n.key), n.n % 64), 'away-' || n.n, 'away', n.key, '\\x7b7d'
         FROM (SELECT n, CASE WHEN n % 2 = 0 THEN 'key-' || n % 5000 END AS key FROM generate_series(1, {rows}) AS n) AS n"
    );
    scratch.place.run(&fill).await;
}

fn away() -> Topic {
    Topic::new("away").unwrap()
}

/// Claims until nothing is set aside any more; answers how many claims that took.
async fn set_aside(scratch: &Scratch, rows: usize) -> usize {
    let (mut moved, mut claims) = (0, 0);
    loop {
        let (claim, claimed) = scratch.claim(100).await;
        assert!(claim.entries.is_empty());
        if claim.moved == 0 {
            assert_eq!(claimed, run(&["lease"]), "it costs nothing any more");
            assert_eq!(claim.next_due, None);
            assert_eq!(moved, rows);
            return claims;
        }
        // Where its key is blocked already, a message is set aside as any behind a key that waits.
        let known = [
            "lease",
            "read_line",
            "look_line",
            "set_aside",
            "set_aside_topics",
            "leave_lanes",
        ];
        let mut statements = claimed.statements.iter();
        assert!(
            statements.all(|name| known.contains(&name.as_str())) && claimed.statements.len() <= 6,
            "{claimed:?}"
        );
        moved += claim.moved;
        claims += 1;
    }
}

#[tokio::test]
async fn p3_a_stopped_topic_is_set_aside_once_and_freed_in_steps() {
    let scratch = Scratch::new(Place::server().await).await;
    let rows = 100_000;
    fill(&scratch, rows).await;
    scratch.store.pause(&away(), None).await.unwrap();
    let rows = usize::try_from(rows).unwrap();
    let claims = set_aside(&scratch, rows).await;
    assert!(claims <= 24, "{claims} claims");
    assert_eq!(scratch.counted.free_topics().await.unwrap(), 0);
    assert_eq!(scratch.run(), run(&["end_stops"]));
    assert!(scratch.store.resume(&away()).await.unwrap());
    let (mut freed, mut steps) = (0, 0);
    loop {
        let step = scratch.counted.free_topics().await.unwrap();
        let cost = scratch.run();
        if step == 0 {
            assert_eq!(cost, run(&["end_stops"]));
            break;
        }
        assert!(step <= 1_001, "{step} rows");
        assert!(cost.transactions <= 10, "{cost:?}");
        freed += step;
        steps += 1;
    }
    // 2,500 keys, what has none, and the stop.
    assert_eq!(freed, 2_500 + rows / 2 + 1);
    assert!(steps <= freed / 1_000 + 2, "{steps} steps");
}

/// The topic that others share the lanes with is not there for them.
#[tokio::test]
async fn p2_claims_cost_the_same_beside_what_a_stop_set_aside() {
    let few = filled_with(backlog(1_000)).await;
    let before = few.round_touches().await;
    let many = filled_with(Backlog {
        aside: 100_000,
        ..backlog(1_000)
    })
    .await;
    let beside = many.round_touches().await;
    assert!(
        beside <= before * 2.0,
        "{before} blocks, and {beside} beside a stop"
    );
    let (claim, claimed) = many.claim(100).await;
    assert_eq!(claimed, run(&["lease", "read_line"]));
    assert!(!claim.entries.is_empty());
}

/// What is set aside beside a batch costs one statement more, whatever its number.
#[tokio::test]
async fn p1_what_is_set_aside_beside_a_batch_costs_one_statement_more() {
    for size in [640, 3_200] {
        let scratch = Scratch::new(Place::schema().await).await;
        let time = Some(Duration::from_hours(1));
        scratch.store.pause(&away(), time).await.unwrap();
        fill(&scratch, size).await;
        let beside = format!(
            "INSERT INTO outbox.message (lane, id, topic, payload)
             SELECT n % 64, 'beside-' || n, 'orders', '' FROM generate_series(1, {size}) AS n"
        );
        scratch.place.run(&beside).await;
        let (claim, claimed) = scratch.claim(4_000).await;
        let expected = run(&["lease", "read_line", "set_aside_topics"]);
        assert_eq!(claimed, expected, "{size}");
        assert!(claim.moved > 0 && !claim.entries.is_empty());
        let settled = scratch.settle(&claim, |_, _| Outcome::Published).await;
        assert_eq!(settled, run(&["fence"]));
    }
}
