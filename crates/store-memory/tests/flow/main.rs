//! The faults that the flow of claims and settlements is built to avoid, on one lane unless a test is about several.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

mod scene;

use std::time::Duration;

use outbox_message::{Lane, Position};
use outbox_store::{
    AfterDeath, DeathReason, Due, Entry, LaneSettled, LaneSettlement, OutboxOperator, OutboxStore,
    Outcome, Settlement,
};
use outbox_store_memory::Damage;

use scene::{LEASE, SECOND, Test, all_dead, dead, key, message, names, retry, target};

#[tokio::test]
async fn o2_a_due_retry_does_not_overtake_an_earlier_message_of_its_key_that_a_limit_hid() {
    let t = Test::one_lane();
    t.save(&["-1"]).await;
    t.save_sized("-2", 1_000).await;
    let mut late = t.store.begin();
    t.store.save(&mut late, &message("a0", 1)).await.unwrap();
    t.save(&["a1"]).await;
    let claim = t.claim(10).await;
    let again = retry(Duration::ZERO);
    let outcomes = [("-1", again.clone()), ("-2", again), ("a1", retry(SECOND))];
    t.settle(&claim, &outcomes).await;
    late.commit();
    t.store.advance(SECOND);
    // There is room for a1 beside the first message, but a0 stands behind one for which there is none.
    let claim = t.claim_bytes(10, 500).await;
    assert_eq!(names(&claim), ["-1"]);
    t.settle(&claim, &[]).await;
    assert_eq!(t.next(10).await, ["-2", "a0", "a1"]);
}

#[tokio::test]
async fn o2_a_due_retry_does_not_overtake_an_earlier_message_of_its_key_behind_a_busy_one() {
    let t = Test::one_lane();
    t.save(&["b1", "b2", "b3", "b4", "c1"]).await;
    let mut late = t.store.begin();
    t.store.save(&mut late, &message("a0", 1)).await.unwrap();
    t.save(&["a1"]).await;
    let claim = t.claim(10).await;
    let mut outcomes = vec![("a1", retry(SECOND))];
    outcomes.extend(["b1", "b2", "b3", "b4", "c1"].map(|name| (name, Outcome::Release)));
    t.settle(&claim, &outcomes).await;
    late.commit();
    t.store.advance(SECOND);
    assert_eq!(t.next(4).await, ["b1"]);
    assert_eq!(t.next(4).await, ["b2", "c1", "a0"]);
}

#[tokio::test]
async fn o6_while_the_head_waits_its_key_is_set_aside_once_and_others_go_on() {
    let t = Test::one_lane();
    t.save(&["a1", "a2", "b1"]).await;
    let claim = t.claim(10).await;
    t.settle(&claim, &[("a1", retry(SECOND)), ("a2", Outcome::Release)])
        .await;
    t.save(&["a3", "b2"]).await;
    let claim = t.claim(10).await;
    assert_eq!((names(&claim), claim.moved), (vec!["b2".to_owned()], 2));
    assert_eq!(claim.next_due, None, "its own lane is leased");
    t.settle(&claim, &[]).await;
    let idle = t.claim(10).await;
    assert_eq!((idle.entries.len(), idle.moved), (0, 0));
    assert_eq!(idle.next_due, Some(SECOND));
    t.store.advance(SECOND);
    assert_eq!(t.next(10).await, ["a1", "a2", "a3"]);
}

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
    t.save(&["a1", "b1", "-1"]).await;
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
        (true, &[Position(2)][..])
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
async fn f6_a_lane_whose_holder_vanished_is_served_one_by_one_and_counts_the_starts_that_ended_badly()
 {
    let t = Test::one_lane();
    t.save(&["a1", "b1", "c1", "d1"]).await;
    t.claim(2).await;
    for starts in 0..2 {
        t.store.advance(LEASE);
        let claim = t.claim(2).await;
        assert!(claim.lanes[0].careful);
        let Entry::Message(delivery) = &claim.entries[0] else {
            panic!("it can be read");
        };
        assert_eq!((claim.entries.len(), delivery.starts), (1, starts));
        let token = &claim.lanes[0].token;
        assert!(t.store.starting(token, delivery.position).await.unwrap());
    }
    t.store.advance(LEASE);
    for name in ["a1", "b1"] {
        assert_eq!(t.next(2).await, [name]);
    }
    assert_eq!(t.next(2).await, ["c1", "d1"]);
    assert!(t.store.status().await.unwrap().lanes.is_empty());
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
async fn o7_a_busy_key_is_served_a_bounded_run_while_others_stand_behind_it_and_alone_at_full_speed()
 {
    let t = Test::one_lane();
    let busy: Vec<String> = (0..20).map(|n| format!("a{n}")).collect();
    for name in &busy {
        t.save(&[name]).await;
    }
    assert_eq!(t.next(8).await, busy[..8]);
    assert_eq!(
        t.store.status().await.unwrap().waiting,
        0,
        "a lone key stays in line"
    );
    t.save(&["b1"]).await;
    assert_eq!(t.next(8).await, busy[8..10]);
    assert_eq!(
        t.next(8).await,
        [&busy[10..12], &["b1".to_owned()]].concat()
    );
    assert_eq!(
        t.store.status().await.unwrap().blocked,
        0,
        "busy is not blocked"
    );
    assert_eq!(t.next(8).await, busy[12..20]);
    assert_eq!(t.next(8).await, [""; 0]);
}

#[tokio::test]
async fn p4_a_lane_whose_head_found_no_room_comes_first_next_time() {
    let t = Test::with_lanes(8);
    // Without a key the lane is the position modulo 8: a large message in each of two lanes.
    t.save_sized("-1", 1_000).await;
    t.save_sized("-2", 1_000).await;
    let claim = t.claim_bytes(10, 1_500).await;
    assert_eq!(names(&claim), ["-1"]);
    t.settle(&claim, &[]).await;
    t.save(&["-3", "-4", "-5"]).await;
    let claim = t.claim_bytes(10, 1_500).await;
    assert_eq!(names(&claim), ["-2", "-3"]);
}

#[tokio::test]
async fn o8_a_message_that_falls_due_takes_its_place_by_position() {
    let t = Test::one_lane();
    t.save_due("a1", Some(Due::After(SECOND))).await;
    t.save(&["a2"]).await;
    t.store.advance(SECOND);
    assert_eq!(t.next(10).await, ["a1", "a2"]);
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
