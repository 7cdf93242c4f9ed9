//! A holder that reads on, beside whoever else locks its lane: it never waits, and never reads a lane that is not its own (S17).

use std::sync::Arc;

use outbox_message::Position;
use outbox_store::{AfterDeath, ClaimRequest, LaneFilter, OutboxOperator, Outcome, ReadOn};

use crate::{
    paused::Point,
    relay::{Relay, Taken, dead, retry},
    scene::{Scene, keys_beside, ordering_key},
};

/// A key that hangs, another of its lane with one message that is confirmed, and one more message of each.
struct Hanging {
    s: Scene,
    relay: Relay,
    taken: Taken,
    beside: String,
}

impl Hanging {
    async fn new() -> Self {
        let s = Scene::new().await;
        let relay = s.relay("a");
        let beside = keys_beside("k", 1).remove(0);
        s.save("k", "hangs").await;
        s.save(&beside, "confirmed").await;
        let taken = relay.claim().await;
        assert_eq!(taken.payloads(), ["hangs", "confirmed"]);
        s.save("k", "behind").await;
        s.save(&beside, "next").await;
        Self {
            s,
            relay,
            taken,
            beside,
        }
    }

    /// A claim that only reads on.
    fn ask(&self) -> ClaimRequest {
        let held = ReadOn {
            token: self.taken.tokens().remove(0),
            in_hand: ["hangs", "confirmed"]
                .map(|payload| self.taken.position(payload))
                .to_vec(),
            closed: vec![ordering_key("k")],
        };
        ClaimRequest {
            lanes: LaneFilter::Only(Vec::new()),
            read_on: vec![held],
            ..self.relay.ask()
        }
    }

    async fn read(&self) -> Vec<String> {
        self.relay.claiming(self.ask()).await.payloads()
    }

    fn position(&self, payload: &str) -> Position {
        self.taken.position(payload)
    }
}

#[tokio::test]
async fn o3_a_settlement_in_part_at_any_point_of_reading_on_keeps_it_whole() {
    for outcome in [retry(60), dead(AfterDeath::Hold), Outcome::Published] {
        for step in 0.. {
            let h = Hanging::new().await;
            let reading = h.relay.claiming(h.ask());
            let Ok(reading) = h.relay.try_hold(Point::Step(step), reading).await else {
                assert!(step > 3, "{step} steps");
                break;
            };
            let part = [
                ("confirmed", Outcome::Published),
                ("hangs", outcome.clone()),
            ];
            let settling = tokio::spawn(h.relay.settling(h.taken.part(&part)));
            h.s.until_it_waits_or_ends(&h.relay.role, &settling).await;
            let read = reading.go().await;
            assert_eq!(read.payloads(), ["next"], "{outcome:?} at {step}");
            let settled = settling.await.unwrap();
            assert!(!settled[0].lost && settled[0].missed.is_empty());
            h.s.check().await;
            // The outcome of what was read is recorded under the same token.
            let mut rest = h.taken.part(&[("confirmed", Outcome::Published)]);
            rest[0].outcomes = Taken(outbox_store::Claim {
                lanes: h.taken.0.lanes.clone(),
                ..read.0
            })
            .part(&[("next", Outcome::Published)])[0]
                .outcomes
                .clone();
            rest[0].release = true;
            let settled = h.relay.settle(rest).await;
            assert!(!settled[0].lost && settled[0].missed.is_empty());
            h.s.check().await;
        }
    }
}

#[tokio::test]
async fn s17_a_lane_that_is_being_settled_is_not_waited_for() {
    let h = Hanging::new().await;
    let part = h.taken.part(&[("confirmed", Outcome::Published)]);
    let settling = h.relay.hold(Point::Commit, h.relay.settling(part)).await;
    assert!(h.read().await.is_empty());
    settling.go().await;
    assert_eq!(h.read().await, ["next"]);
    let whole = h.taken.whole(&[], &Outcome::Release);
    let settling = h.relay.hold(Point::Commit, h.relay.settling(whole)).await;
    assert!(h.read().await.is_empty());
    settling.go().await;
    assert!(h.read().await.is_empty(), "the token is stale");
}

/// The token is compared with the lane as it is, not as the snapshot of a statement that began before has it.
#[tokio::test]
async fn d2_a_lane_that_is_given_back_before_it_is_locked_is_not_read() {
    let h = Hanging::new().await;
    let reading = h.relay.claiming(h.ask());
    let reading = h.relay.hold(Point::Before("read_on"), reading).await;
    h.relay.publish(&h.taken).await;
    assert!(reading.go().await.is_empty());
    h.s.check().await;
    assert_eq!(h.relay.drain().await, ["behind", "next"]);
}

#[tokio::test]
async fn d2_a_lane_whose_lease_ran_out_is_left_to_whoever_takes_it_over() {
    let h = Hanging::new().await;
    h.s.lapse().await;
    assert!(h.read().await.is_empty(), "nobody took it over yet");
    let other = h.s.relay("b");
    let taking = other
        .hold(Point::Commit, other.claiming(other.only("k")))
        .await;
    assert!(h.read().await.is_empty());
    let over = taking.go().await;
    assert!(!over.is_empty());
    assert!(h.read().await.is_empty(), "it is another's");
    h.s.check().await;
}

#[tokio::test]
async fn o3_nobody_else_claims_a_lane_that_is_being_read_on() {
    let h = Hanging::new().await;
    let reading = h.relay.claiming(h.ask());
    let reading = h.relay.hold(Point::Before("look_line"), reading).await;
    let other = h.s.relay("b");
    assert!(other.claim_lane_of("k").await.is_empty());
    assert_eq!(reading.go().await.payloads(), ["next"]);
}

#[tokio::test]
async fn a_renewal_waits_for_reading_on_and_holds() {
    let h = Hanging::new().await;
    let reading = h.relay.claiming(h.ask());
    let reading = h.relay.hold(Point::Before("look_line"), reading).await;
    let renewal = h.relay.extending(h.taken.tokens());
    let renewal = h.relay.wait(&h.s, renewal).await;
    assert_eq!(reading.go().await.payloads(), ["next"]);
    assert_eq!(renewal.await.unwrap(), []);
}

/// What is handed out is read by a statement that is younger than the lock.
#[tokio::test]
async fn o2_what_commits_while_the_lane_is_being_locked_is_read() {
    let h = Hanging::new().await;
    let mut late = h.s.begin().await;
    h.s.save_in(&mut late, &h.beside, "late").await;
    let after = h.s.save(&h.beside, "after").await;
    let reading = h.relay.claiming(h.ask());
    let reading = h.relay.hold(Point::Before("look_line"), reading).await;
    late.commit().await.unwrap();
    let read = reading.go().await;
    assert_eq!(read.payloads(), ["next", "late", "after"]);
    assert!(h.position("hangs").0 < after);
}

#[tokio::test]
async fn s17_a_lane_that_an_operator_holds_is_not_waited_for() {
    let h = Hanging::new().await;
    let waits = keys_beside("k", 2).remove(1);
    // A third key of the lane waits for a retry that is far away, until an operator makes it due.
    h.relay.publish(&h.taken).await;
    h.s.save(&waits, "waits").await;
    let taken = h.relay.claim().await;
    let outcomes = [("waits", retry(600))];
    h.relay
        .settle_whole(&taken, &outcomes, &Outcome::Published)
        .await;
    h.s.save("k", "hangs").await;
    let taken = h.relay.claim().await;
    let held = ReadOn {
        token: taken.tokens().remove(0),
        in_hand: vec![taken.position("hangs")],
        closed: vec![ordering_key("k")],
    };
    let ask = ClaimRequest {
        read_on: vec![held],
        ..h.ask()
    };
    let operator = h.s.relay("operator");
    let store = Arc::clone(&operator.store);
    let key = ordering_key(&waits);
    let retrying = async move { store.retry_now(&key).await.unwrap() };
    let retrying = operator.hold(Point::Commit, retrying).await;
    assert!(h.relay.claiming(ask.clone()).await.is_empty());
    assert!(retrying.go().await);
    let read = h.relay.claiming(ask).await;
    assert_eq!(read.payloads(), ["waits"]);
    h.s.check().await;
}
