//! What becomes of claimed messages, of dead ones, and of late settlements.

use std::time::Duration;

use outbox_message::{Lane, Position};
use outbox_store::{
    AfterDeath, DeathReason, Due, Entry, LaneSettled, LaneSettlement, OutboxOperator, OutboxStore,
    Outcome, Settlement,
};
use outbox_store_memory::Damage;

use crate::scene::{LEASE, SECOND, Test, all_dead, dead, key, names, retry, target};

#[tokio::test]
async fn s8_of_several_retries_of_a_key_the_first_counts_and_a_message_is_settled_once() {
    let t = Test::one_lane();
    t.save(&["a1", "a2"]).await;
    let claim = t.claim(10).await;
    let token = claim.lanes[0].token.clone();
    let outcomes = claim.entries.iter().rev().map(|entry| Settlement {
        target: target(entry),
        outcome: retry(Duration::ZERO),
    });
    let settlement = LaneSettlement {
        token,
        outcomes: outcomes.collect(),
        release: false,
    };
    let first = t
        .store
        .settle(std::slice::from_ref(&settlement))
        .await
        .unwrap();
    assert_eq!(first, [LaneSettled::default()]);
    let again = t.store.settle(&[settlement]).await.unwrap();
    assert_eq!(again[0].missed, [Position(1)]);
    t.store.advance(LEASE);
    let claim = t.claim(10).await;
    let Entry::Message(delivery) = &claim.entries[0] else {
        panic!("it can be read");
    };
    assert_eq!((delivery.attempts, delivery.tries), (1, 1));
}

#[tokio::test]
async fn d2_a_stale_settlement_removes_only_what_the_broker_confirmed() {
    let t = Test::one_lane();
    t.save(&["a1", "-1", "b1"]).await;
    let stale = t.claim(10).await;
    t.store.advance(LEASE);
    for _ in 0..3 {
        let claim = t.claim(10).await;
        assert!(claim.lanes[0].careful);
        t.settle(
            &claim,
            &[
                ("-1", retry(SECOND)),
                ("a1", retry(SECOND)),
                ("b1", Outcome::Release),
            ],
        )
        .await;
    }
    let settled = t.settle(&stale, &[("b1", dead(AfterDeath::Skip))]).await;
    assert_eq!(
        (settled[0].lost, &*settled[0].missed),
        (true, &[Position(3)][..])
    );
    t.store.advance(SECOND);
    assert_eq!(t.next(10).await, ["b1"]);
    assert_eq!(t.next(10).await, [""; 0]);
    assert_eq!(
        t.store.status().await.unwrap().blocked,
        0,
        "the empty block is gone"
    );
}

#[tokio::test]
async fn f6_a_process_that_survived_takes_its_mark_back() {
    let t = Test::one_lane();
    t.save(&["a1"]).await;
    let frozen = t.claim(1).await;
    let position = frozen.entries[0].position();
    let token = &frozen.lanes[0].token;
    assert!(t.store.starting(token, position).await.unwrap());
    t.store.advance(LEASE);
    let next = t.claim(1).await;
    t.settle(&frozen, &[("a1", Outcome::Release)]).await;
    assert!(!t.store.starting(token, position).await.unwrap());
    t.settle(&next, &[("a1", Outcome::Release)]).await;
    let Entry::Message(delivery) = &t.claim(1).await.entries[0] else {
        panic!("it can be read");
    };
    assert_eq!(delivery.starts, 0);
}

#[tokio::test]
async fn f8_a_failure_without_a_delay_leaves_the_message_in_its_place() {
    let t = Test::one_lane();
    t.save(&["a1", "-1"]).await;
    let claim = t.claim(10).await;
    let again = retry(Duration::ZERO);
    t.settle(&claim, &[("a1", again.clone()), ("-1", again)])
        .await;
    let status = t.store.status().await.unwrap();
    assert_eq!((status.line, status.ready), (2, 2));
}

#[tokio::test]
async fn status_tells_an_unkeyed_retry_from_a_message_scheduled_for_later() {
    let t = Test::one_lane();
    t.save_due("-1", Some(Due::After(SECOND))).await;
    t.save(&["-2"]).await;
    let claim = t.claim(10).await;
    t.settle(&claim, &[("-2", retry(SECOND))]).await;
    let status = t.store.status().await.unwrap();
    assert_eq!((status.scheduled, status.later, status.ready), (2, 1, 0));
}

#[tokio::test]
async fn o9_the_letter_that_holds_its_key_goes_first_when_redriven_and_lets_go_when_discarded() {
    let t = Test::one_lane();
    t.save(&["a1", "a2", "b1"]).await;
    let claim = t.claim(10).await;
    let hold = dead(AfterDeath::Hold);
    t.settle(
        &claim,
        &[
            ("a1", hold.clone()),
            ("a2", Outcome::Release),
            ("b1", dead(AfterDeath::Skip)),
        ],
    )
    .await;
    assert_eq!(t.next(10).await, [""; 0]);
    let status = t.store.status().await.unwrap();
    assert_eq!((status.held, status.ready, status.blocked), (1, 0, 1));
    assert!(!t.store.retry_now(&key("a")).await.unwrap());

    assert_eq!(t.redrive_all().await, 1, "b1 goes to the tail");
    let claim = t.claim(10).await;
    assert_eq!(names(&claim), ["a1", "a2", "b1"]);
    t.settle(&claim, &[("a1", hold), ("a2", Outcome::Release)])
        .await;
    let stepped = t.store.discard(&all_dead()).await.unwrap();
    assert_eq!((stepped.count, stepped.last), (1, Some(Position(1))));
    assert_eq!(t.next(10).await, ["a2"]);
    assert_eq!(t.store.status().await.unwrap().blocked, 0);
}

#[tokio::test]
async fn o9_a_letter_holds_its_key_whatever_else_is_settled() {
    for last in [retry(SECOND), Outcome::Release] {
        let t = Test::one_lane();
        let claim = t.waiting_run().await;
        let hold = dead(AfterDeath::Hold);
        t.settle(&claim, &[("a1", hold), ("a3", last)]).await;
        let status = t.store.status().await.unwrap();
        assert_eq!((status.ready, status.held, status.blocked), (0, 1, 1));
        t.store.advance(SECOND);
        assert_eq!(t.next(20).await, [""; 0]);
    }
}

#[tokio::test]
async fn o9_a_skipped_letter_frees_its_key_at_once() {
    let t = Test::one_lane();
    let claim = t.waiting_run().await;
    let skip = dead(AfterDeath::Skip);
    t.settle(&claim, &[("a1", skip), ("a3", Outcome::Release)])
        .await;
    let status = t.store.status().await.unwrap();
    assert_eq!((status.ready, status.held, status.blocked), (1, 0, 0));
    assert_eq!(t.next(20).await, ["a3"]);
}

#[tokio::test]
async fn retry_now_ends_a_wait() {
    let t = Test::one_lane();
    t.save(&["a1"]).await;
    let claim = t.claim(10).await;
    t.settle(&claim, &[("a1", retry(LEASE))]).await;
    assert_eq!(t.next(10).await, [""; 0]);
    assert!(t.store.retry_now(&key("a")).await.unwrap());
    assert_eq!(t.next(10).await, ["a1"]);
    assert!(!t.store.retry_now(&key("a")).await.unwrap());
}

#[tokio::test]
async fn f7_a_spoiled_row_fails_alone_and_one_in_the_wrong_lane_is_put_right_by_a_redrive() {
    let t = Test::with_lanes(2);
    for how in [Damage::Id, Damage::Topic, Damage::Headers, Damage::Lane] {
        t.save(&["a1", "a2"]).await;
        let probe = t.claim(10).await;
        let spoiled = probe.entries[0].position();
        t.settle(
            &probe,
            &[("a1", Outcome::Release), ("a2", Outcome::Release)],
        )
        .await;
        assert!(t.store.corrupt(spoiled, how));
        let unreadable = format!("unreadable {spoiled}");
        let outcome = Outcome::Dead {
            reason: DeathReason::Unreadable,
            error: "broken".to_owned(),
            after: AfterDeath::Skip,
            notice: None,
        };
        let mut met = Vec::new();
        for _ in 0..2 {
            let claim = t.claim(10).await;
            for entry in &claim.entries {
                if let Entry::Unreadable(row) = entry {
                    let readable = matches!(how, Damage::Id | Damage::Headers);
                    assert_eq!(row.key, readable.then(|| key("a")));
                }
            }
            met.extend(names(&claim));
            t.settle(&claim, &[(&unreadable, outcome.clone())]).await;
        }
        met.sort();
        assert_eq!(met, ["a2".to_owned(), unreadable]);
        assert_eq!(t.redrive_all().await, 1);
        let readable = t.next(10).await == ["a1"];
        assert_eq!(readable, how == Damage::Lane);
        t.store.discard(&all_dead()).await.unwrap();
        while let claim = t.claim(10).await
            && !claim.entries.is_empty()
        {
            let unreadable = names(&claim).remove(0);
            t.settle(&claim, &[(&unreadable, outcome.clone())]).await;
            t.store.discard(&all_dead()).await.unwrap();
        }
    }
}

#[tokio::test]
async fn s1_a_leased_lane_is_left_alone_and_an_extended_lease_holds_longer() {
    let t = Test::one_lane();
    t.save(&["a1"]).await;
    let claim = t.claim(10).await;
    let token = claim.lanes[0].token.clone();
    t.store.advance(LEASE / 2);
    let lost = t
        .store
        .extend(std::slice::from_ref(&token), LEASE)
        .await
        .unwrap();
    assert!(lost.is_empty());
    t.store.advance(LEASE / 2);
    let other = t.claim(10).await;
    assert!(other.entries.is_empty() && other.leased_elsewhere);
    t.settle(&claim, &[("a1", Outcome::Release)]).await;
    let lost = t
        .store
        .extend(std::slice::from_ref(&token), LEASE)
        .await
        .unwrap();
    assert_eq!(lost, [token]);
    assert_eq!(t.claim(10).await.lanes[0].token.lane, Lane(0));
}
