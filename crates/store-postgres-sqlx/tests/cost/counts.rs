//! P1: how many statements and transactions a batch takes, whatever its size.

use std::time::Duration;

use outbox_message::Message;
use outbox_store::{AfterDeath, DeathReason, Entry, Outcome, ReadOn};
use outbox_store_postgres::LANES;

use crate::{
    counting::Run,
    place::Place,
    scratch::{Keys, Scratch, messages},
};

pub(crate) fn run(statements: &[&str]) -> Run {
    Run {
        transactions: 1,
        statements: statements.iter().map(|name| (*name).to_owned()).collect(),
    }
}

#[tokio::test]
async fn p1_a_published_batch_costs_three_statements_in_two_transactions() {
    for keys in [Keys::None, Keys::One, Keys::Many] {
        let scratch = Scratch::new(Place::schema().await).await;
        for batch in [1, 10, 100, 500] {
            scratch.save(&messages(batch, keys)).await;
            let mut left = batch;
            while left > 0 {
                let (claim, claimed) = scratch.claim(batch).await;
                assert_eq!(claimed, run(&["lease", "read_line"]), "{keys:?}, {batch}");
                assert!(!claim.entries.is_empty());
                left -= claim.entries.len();
                let settled = scratch.settle(&claim, |_, _| Outcome::Published).await;
                assert_eq!(settled, run(&["fence"]), "{keys:?}, {batch}");
            }
        }
    }
}

#[tokio::test]
async fn p1_an_idle_store_costs_one_statement() {
    let scratch = Scratch::new(Place::schema().await).await;
    let (claim, claimed) = scratch.claim(100).await;
    assert!(claim.lanes.is_empty());
    assert_eq!(claimed, run(&["lease"]));
}

/// S17: a relay with a key that hangs pays one statement more to lock its lane and one to look at it, and one to load what it finds.
#[tokio::test]
async fn p1_reading_on_costs_a_fixed_number_more() {
    let scratch = Scratch::new(Place::schema().await).await;
    scratch.save(&messages(1, Keys::One)).await;
    let (hangs, _) = scratch.claim(100).await;
    let key = match &hangs.entries[0] {
        Entry::Message(delivery) => delivery.ordering_key().unwrap(),
        Entry::Unreadable(row) => panic!("a row cannot be read: {}", row.error),
    };
    let mut held = ReadOn {
        token: hangs.lanes[0].token.clone(),
        in_hand: vec![hangs.entries[0].position()],
        closed: vec![key],
    };
    let (claim, idle) = scratch.claim_reading(100, vec![held.clone()]).await;
    assert!(claim.entries.is_empty());
    assert_eq!(idle, run(&["lease", "read_on", "look_line"]));
    let beside = |n: usize| {
        Message::new("orders", n.to_string())
            .unwrap()
            .with_key(format!("beside-{n}"))
    };
    let lane_of = |message: &Message| message.ordering_key().unwrap().lane(LANES);
    let all = (0..).map(|n| beside(n).unwrap());
    let mut here = all.clone().filter(|it| lane_of(it) == held.token.lane);
    let mut elsewhere = all.filter(|it| lane_of(it) != held.token.lane);
    for size in [1, 100] {
        let more: Vec<Message> = here.by_ref().take(size).collect();
        scratch.save(&more).await;
        let (claim, read) = scratch.claim_reading(500, vec![held.clone()]).await;
        assert_eq!(claim.entries.len(), size);
        assert_eq!(
            read,
            run(&["lease", "read_on", "look_line", "load"]),
            "{size}"
        );
        // They are confirmed, and not recorded yet.
        held.in_hand
            .extend(claim.entries.iter().map(Entry::position));
        let more: Vec<Message> = here
            .by_ref()
            .take(size)
            .chain(elsewhere.by_ref().take(size))
            .collect();
        scratch.save(&more).await;
        let (claim, both) = scratch.claim_reading(500, vec![held.clone()]).await;
        let is_here = |entry: &Entry| entry.lane() == held.token.lane;
        assert!(claim.entries.iter().any(is_here) && !claim.entries.iter().all(is_here));
        let expected = ["lease", "read_on", "read_line", "look_line", "load"];
        assert_eq!(both, run(&expected), "{size}");
        let read = claim
            .entries
            .iter()
            .filter(|it| it.lane() == held.token.lane);
        held.in_hand.extend(read.map(Entry::position));
        scratch.settle(&claim, |_, _| Outcome::Published).await;
    }
}

#[tokio::test]
async fn p1_failures_cost_the_same_whatever_their_number() {
    let retry = || Outcome::Retry {
        after: Some(Duration::from_mins(1)),
        error: "away".into(),
        counted: true,
    };
    let dead = |after| Outcome::Dead {
        reason: DeathReason::Permanent,
        error: "no".into(),
        after,
        notice: None,
    };
    // A settlement: without keys, with keys. The claim that follows, when what failed is due again.
    let expected = [
        (
            Keys::None,
            &["fence", "count_failures", "schedule", "bury"][..],
            &["lease", "promote", "read_line"][..],
        ),
        (
            Keys::Many,
            &["fence", "count_failures", "set_aside", "bury", "block_keys"],
            &[
                "lease",
                "look_line",
                "set_aside",
                "read_waiting",
                "load",
                "leave_lanes",
            ],
        ),
    ];
    for (keys, settling, claiming) in expected {
        for size in [200, 1_600] {
            let scratch = Scratch::new(Place::schema().await).await;
            scratch.save(&messages(size, keys)).await;
            let (claim, claimed) = scratch.claim(size * 2).await;
            // Each kind of outcome for a quarter: of the messages without a key, or of the first ones of keys, and what follows those goes back.
            let settled = scratch
                .settle(&claim, |n, position| {
                    let kind = match keys {
                        Keys::Many if position > 50 => 4,
                        Keys::Many => position % 50 % 4,
                        Keys::None | Keys::One => i64::try_from(n % 4).unwrap(),
                    };
                    match kind {
                        0 => Outcome::Published,
                        1 => retry(),
                        2 => dead(AfterDeath::Hold),
                        3 => dead(AfterDeath::Skip),
                        _ => Outcome::Release,
                    }
                })
                .await;
            scratch
              .place
                .run("UPDATE outbox.blocked_key SET until = now() WHERE reason = 'retry'; UPDATE outbox.scheduled SET due_at = now()")
                .await;
            // The same lanes again: rows are set aside, and what waited is read.
            scratch
                .place
                .run("UPDATE outbox.lane SET turn = 1000 - turn")
                .await;
            let (_, again) = scratch.claim(size * 2).await;
            assert_eq!(claimed, run(&["lease", "read_line"]), "{keys:?}, {size}");
            assert_eq!(settled, run(settling), "{keys:?}, {size}");
            assert_eq!(again, run(claiming), "{keys:?}, {size}");
        }
    }
}

#[tokio::test]
async fn p1_notices_of_deaths_cost_one_statement_more_whatever_their_number() {
    for size in [1, 200] {
        let scratch = Scratch::new(Place::schema().await).await;
        scratch.save(&messages(size, Keys::None)).await;
        let (claim, _) = scratch.claim(size * 2).await;
        let settled = scratch
            .settle(&claim, |_, position| Outcome::Dead {
                reason: DeathReason::Permanent,
                error: "no".into(),
                after: AfterDeath::Skip,
                notice: Some(Box::new(
                    Message::new("t.dlq", position.to_string()).unwrap(),
                )),
            })
            .await;
        let expected = ["fence", "count_failures", "bury", "save_now"];
        assert_eq!(settled, run(&expected), "{size}");
    }
}
