//! Transactions of writers that commit late (case 1, O2, O3), and messages for later that join late (O8).

use outbox_store::{AfterDeath, OutboxOperator, Outcome};

use crate::{
    paused::Point,
    relay::{dead, retry},
    scene::{Scene, keys_beside, secs},
};

#[tokio::test]
async fn case1_what_commits_below_what_was_published_goes_next() {
    let s = Scene::new().await;
    let relay = s.relay("a");
    let mut late = s.begin().await;
    s.save_in(&mut late, "k", "1").await;
    s.save("k", "2").await;
    let taken = relay.claim().await;
    assert_eq!(taken.payloads(), ["2"]);
    relay.publish(&taken).await;
    s.save("k", "3").await;
    late.commit().await.unwrap();
    assert_eq!(relay.drain().await, ["1", "3"]);
    s.check_empty().await;
}

#[tokio::test]
async fn o3_what_commits_below_a_held_message_of_its_key_waits_for_the_holder() {
    let s = Scene::new().await;
    let (a, b) = (s.relay("a"), s.relay("b"));
    let mut late = s.begin().await;
    s.save_in(&mut late, "k", "1").await;
    s.save("k", "2").await;
    let taken = a.claim().await;
    late.commit().await.unwrap();
    s.save("k", "3").await;
    assert!(b.claim().await.is_empty(), "two relays hold one key");
    a.publish(&taken).await;
    assert_eq!(b.drain().await, ["1", "3"]);
    s.check_empty().await;
}

#[tokio::test]
async fn o2_what_commits_before_the_line_is_read_goes_first_though_its_lane_was_leased() {
    let s = Scene::new().await;
    let (a, b) = (s.relay("a"), s.relay("b"));
    let mut late = s.begin().await;
    s.save_in(&mut late, "k", "1").await;
    s.save("k", "2").await;
    let held = a
        .hold(Point::Before("read_line"), a.claiming(a.ask()))
        .await;
    late.commit().await.unwrap();
    assert!(b.claim().await.is_empty());
    assert_eq!(held.go().await.payloads(), ["1", "2"]);
    s.check().await;
}

/// Wherever a claim stands when the late transaction commits: both go out, and the second never with its predecessor in another relay.
#[tokio::test]
async fn case1_a_commit_at_any_point_of_a_claim_loses_nothing() {
    for step in 0.. {
        let s = Scene::new().await;
        let (a, b) = (s.relay("a"), s.relay("b"));
        let mut late = s.begin().await;
        s.save_in(&mut late, "k", "1").await;
        s.save("k", "2").await;
        let claim = a.claiming(a.ask());
        let Ok(held) = a.try_hold(Point::Step(step), claim).await else {
            assert!(step > 2, "a claim has more steps than {step}");
            return;
        };
        late.commit().await.unwrap();
        // Before the lease nothing keeps the other from taking the key; then the first gets nothing.
        let other = b.claim().await;
        let taken = held.go().await;
        assert!(
            taken.is_empty() || other.is_empty(),
            "two relays hold one key at step {step}"
        );
        let mut out = [taken.payloads(), other.payloads()].concat();
        a.publish(&taken).await;
        b.publish(&other).await;
        out.extend(b.drain().await);
        out.sort();
        assert_eq!(out, ["1", "2"], "step {step}");
        s.check_empty().await;
    }
}

#[tokio::test]
async fn o3_an_older_message_that_falls_due_while_a_later_one_is_held_waits_for_the_holder() {
    let s = Scene::new().await;
    let (a, b) = (s.relay("a"), s.relay("b"));
    s.schedule("k", "old", secs(60)).await;
    s.save("k", "new").await;
    let taken = a.claim().await;
    assert_eq!(taken.payloads(), ["new"]);
    s.pass(secs(61)).await;
    s.save("k", "newer").await;
    assert!(b.claim().await.is_empty(), "two relays hold one key");
    a.publish(&taken).await;
    assert_eq!(b.claim().await.payloads(), ["old", "newer"]);
    s.check().await;
}

/// Two claims want to promote the same messages: the lanes tell which does.
#[tokio::test]
async fn o8_messages_that_fall_due_join_once_whoever_promotes_them() {
    let s = Scene::new().await;
    let (a, b) = (s.relay("a"), s.relay("b"));
    let mut expected = Vec::new();
    for n in 0..40 {
        let payload = format!("{n:02}");
        s.schedule(&format!("key-{n}"), &payload, secs(60)).await;
        expected.push(payload);
    }
    s.pass(secs(61)).await;
    for point in [Point::Before("promote"), Point::Before("read_line")] {
        let held = a.hold(point, a.claiming(a.ask())).await;
        let other = b.claim().await;
        let taken = held.go().await;
        let lanes = |taken: &crate::relay::Taken| {
            let tokens = taken.tokens().into_iter();
            tokens.map(|token| token.lane.0).collect::<Vec<_>>()
        };
        assert!(!taken.is_empty() && !other.is_empty());
        assert!(
            lanes(&taken)
                .iter()
                .all(|lane| !lanes(&other).contains(lane))
        );
        for (relay, taken) in [(&a, &taken), (&b, &other)] {
            relay.settle_whole(taken, &[], &Outcome::Release).await;
        }
        s.check().await;
    }
    let mut out = a.drain().await;
    out.sort();
    assert_eq!(out, expected);
    s.check_empty().await;
}

/// Case 36 with a commit that comes late: what was looked at decides, whatever commits behind it.
#[tokio::test]
async fn case36_a_late_message_goes_before_its_waiting_head_behind_two_hundred_others() {
    let s = Scene::new().await;
    let relay = s.relay("a");
    let others = keys_beside("k", 200);
    let all: Vec<_> = others
        .iter()
        .map(|key| (Some(key.as_str()), "other".to_owned()))
        .collect();
    s.save_all(&all).await;
    let mut late = s.begin().await;
    s.save_in(&mut late, "k", "early").await;
    s.save("k", "head").await;
    let ask = outbox_store::ClaimRequest {
        limit: 300,
        ..relay.ask()
    };
    let taken = relay.claiming(ask).await;
    assert_eq!(taken.payloads().len(), 201);
    relay
        .settle_whole(&taken, &[("head", retry(10))], &Outcome::Release)
        .await;
    s.pass(secs(11)).await;
    late.commit().await.unwrap();
    let mut out = Vec::new();
    while out.len() < 202 {
        let taken = relay.claim_up_to(10).await;
        out.extend(taken.payloads());
        relay.publish(&taken).await;
        s.check().await;
    }
    let at = |payload| out.iter().position(|other| other == payload).unwrap();
    assert!(at("early") < at("head"), "{} {}", at("early"), at("head"));
    relay.drain().await;
    s.check_empty().await;
}

/// The same, with the commit at every point of the claim that finds the head due.
#[tokio::test]
async fn case36_a_commit_at_any_point_of_the_claim_that_finds_the_head_due_loses_nothing() {
    for step in 0.. {
        let s = Scene::new().await;
        let (relay, other) = (s.relay("a"), s.relay("b"));
        let mut late = s.begin().await;
        s.save_in(&mut late, "k", "early").await;
        s.save("k", "head").await;
        let taken = relay.claim().await;
        relay.settle_whole(&taken, &[], &retry(10)).await;
        s.pass(secs(11)).await;
        s.save("k", "tail").await;
        let claim = relay.claiming(relay.ask());
        let Ok(held) = relay.try_hold(Point::Step(step), claim).await else {
            assert!(
                step > 4,
                "a claim that finds a due key has more steps than {step}"
            );
            return;
        };
        late.commit().await.unwrap();
        let taken = held.go().await;
        s.check().await;
        assert!(other.claim().await.is_empty(), "two relays hold one key");
        let mut out = taken.payloads();
        relay.publish(&taken).await;
        out.extend(other.drain().await);
        let at = |payload| out.iter().position(|other| other == payload).unwrap();
        assert_eq!(out.len(), 3, "step {step}: {out:?}");
        assert!(at("head") < at("tail"), "step {step}: {out:?}");
        // It was in line before the claim, or before the line was looked at.
        assert!(at("early") < at("head") || step > 1, "step {step}: {out:?}");
        s.check_empty().await;
    }
}

/// Case 40 with writers that commit while the operator acts.
#[tokio::test]
async fn case40_messages_that_arrive_at_any_point_of_a_redrive_stand_behind_the_letter() {
    for step in 0.. {
        let s = Scene::new().await;
        let (relay, operator) = (s.relay("a"), s.relay("operator"));
        s.save("k", "letter").await;
        let taken = relay.claim().await;
        relay
            .settle_whole(&taken, &[], &dead(AfterDeath::Hold))
            .await;
        s.save("k", "1").await;
        assert!(relay.claim().await.is_empty(), "the key is held");
        let mut late = s.begin().await;
        s.save_in(&mut late, "k", "2").await;
        let store = std::sync::Arc::clone(&operator.store);
        let redrive = async move { store.redrive(&crate::relay::all_dead()).await.unwrap() };
        let Ok(held) = operator.try_hold(Point::Step(step), redrive).await else {
            assert!(step > 2, "a redrive has more steps than {step}");
            return;
        };
        s.save("k", "3").await;
        late.commit().await.unwrap();
        // A claim at this point finds the key held, or its lane locked.
        assert!(relay.claim().await.is_empty());
        s.check().await;
        assert_eq!(held.go().await.count, 1);
        s.check().await;
        assert_eq!(
            relay.drain().await,
            ["letter", "1", "2", "3"],
            "step {step}"
        );
        s.check_empty().await;
    }
}
