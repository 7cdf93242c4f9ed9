//! What a claim hands out, and what it must not.

use std::time::Duration;

use outbox_message::Position;
use outbox_store::{Due, Entry, OutboxOperator, OutboxStore, Outcome};
use outbox_store_memory::Damage;

use crate::scene::{LEASE, SECOND, Test, message, names, retry};

#[tokio::test]
async fn o2_a_due_retry_does_not_overtake_an_earlier_message_of_its_key_that_a_limit_hid() {
    let t = Test::one_lane();
    t.save(&["-1"]).await;
    t.save_sized("-2", 1_000, None).await;
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
async fn o7_with_claims_of_one_the_line_and_the_keys_that_waited_are_served_in_turn() {
    let t = Test::one_lane();
    t.save(&[
        "a1", "a2", "a3", "a4", "a5", "a6", "b1", "c1", "d1", "e1", "f1",
    ])
    .await;
    let mut out = Vec::new();
    for _ in 0..9 {
        out.extend(t.next(1).await);
    }
    let of = |key: char| out.iter().filter(|name| name.starts_with(key)).count();
    assert_eq!(of('a'), 5, "{out:?}");
    assert_eq!(out.len(), 9);
}

#[tokio::test]
async fn p4_a_lane_whose_head_found_no_room_comes_first_next_time() {
    let t = Test::with_lanes(8);
    // Without a key the lane is the position modulo 8: a large message in each of two lanes, one of them scheduled.
    t.save_sized("-1", 1_000, None).await;
    t.save_sized("-2", 1_000, Some(Due::After(SECOND))).await;
    t.store.advance(SECOND);
    let claim = t.claim_bytes(10, 1_500).await;
    assert_eq!((names(&claim), claim.moved), (vec!["-1".to_owned()], 1));
    t.settle(&claim, &[]).await;
    t.save(&["-3", "-4", "-5"]).await;
    let claim = t.claim_bytes(10, 1_500).await;
    assert_eq!(names(&claim), ["-2", "-3"]);
}

#[tokio::test]
async fn s13_the_lane_that_was_given_back_first_comes_first() {
    let t = Test::with_lanes(2);
    t.save(&["-1", "-2"]).await;
    let (first, second) = (t.claim(1).await, t.claim(1).await);
    assert_eq!([names(&first), names(&second)], [["-2"], ["-1"]]);
    let again = retry(Duration::ZERO);
    t.settle(&second, &[("-1", again.clone())]).await;
    t.settle(&first, &[("-2", again)]).await;
    assert_eq!(t.next(1).await, ["-1"]);
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
async fn f7_a_row_that_cannot_be_read_does_not_wait_with_its_key() {
    let t = Test::one_lane();
    t.save(&["a1", "a2"]).await;
    let claim = t.claim(10).await;
    t.settle(&claim, &[("a1", retry(SECOND)), ("a2", Outcome::Release)])
        .await;
    assert!(t.store.corrupt(Position(2), Damage::Headers));
    assert_eq!(t.next(10).await, ["unreadable 2"]);
}
