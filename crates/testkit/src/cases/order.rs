//! Runs, holders and turns of ordering keys (O2 to O5, O7, S13).

use std::collections::HashSet;

use outbox_message::Lane;
use outbox_store::{ClaimRequest, LaneFilter, Outcome};

use crate::{
    Harness,
    scene::{Scene, ask, message, numbered, only, rounds, secs},
    taken::{retry, retry_in_place},
};

/// An empty store gives an empty claim, and says that nothing will come.
pub async fn o1_an_empty_store_hands_out_nothing<H: Harness>() {
    let s = Scene::<H>::new().await;
    let taken = s.claim().await;
    assert!(taken.is_empty() && taken.claim.lanes.is_empty());
    assert_eq!((taken.moved(), taken.claim.next_due), (0, None));
    assert!(!taken.claim.leased_elsewhere);
}

/// O4: one claim hands out a whole run of a key, in position order.
pub async fn o4_a_claim_hands_out_a_whole_run_in_order<H: Harness>() {
    let s = Scene::<H>::new().await;
    let run = numbered("m", 50);
    let positions = s.save_run("k", &run).await;
    let taken = s.claim().await;
    assert_eq!(taken.payloads(), run);
    assert_eq!(taken.positions(), positions);
}

/// O2, O4: a run that a limit cuts goes on where it was cut.
pub async fn o4_a_run_that_was_cut_goes_on_where_it_was_cut<H: Harness>() {
    let s = Scene::<H>::new().await;
    let run = numbered("m", 25);
    s.save_run("k", &run).await;
    let mut out = Vec::new();
    for expected in [10, 10, 5] {
        let taken = s.claim_up_to(10).await;
        assert_eq!(taken.payloads().len(), expected);
        out.extend(taken.payloads());
        s.publish(&taken).await;
    }
    assert_eq!(out, run);
    s.assert_empty().await;
}

/// O3: what one relay holds no other gets, not even later messages of the key; the claim says why it got nothing.
pub async fn o3_a_held_key_is_nobody_elses<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "a").await;
    let first = s.claim().await;
    s.save("k", "b").await;
    let second = s.claim().await;
    assert!(second.is_empty());
    assert!(second.claim.leased_elsewhere);
    s.publish(&first).await;
    let third = s.claim().await;
    assert_eq!(third.payloads(), ["b"]);
    assert!(!third.claim.leased_elsewhere);
}

/// Case 4: of eight relays that claim at once, at most one gets messages of the key.
pub async fn case4_of_many_claims_at_once_one_gets_the_key<H: Harness>() {
    let s = Scene::<H>::new().await;
    let run = numbered("m", 10);
    s.save_run("k", &run).await;
    let claims = tokio::join!(s.claim(), s.claim(), s.claim(), s.claim());
    let more = tokio::join!(s.claim(), s.claim(), s.claim(), s.claim());
    let got: Vec<_> = [
        claims.0, claims.1, claims.2, claims.3, more.0, more.1, more.2, more.3,
    ]
    .into_iter()
    .filter(|taken| !taken.is_empty())
    .collect();
    assert_eq!(got.len(), 1);
    assert_eq!(got[0].payloads(), run);
}

/// O3: overlapping claims never share a lane, and together they get everything.
pub async fn o3_claims_at_once_share_no_lane<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_apart();
    for key in &keys {
        s.save(key, "x").await;
    }
    let one_lane = || ClaimRequest {
        max_lanes: 1,
        ..ask()
    };
    let mut lanes = HashSet::new();
    while lanes.len() < keys.len() {
        let (a, b) = tokio::join!(s.claim_with(one_lane()), s.claim_with(one_lane()));
        for taken in [&a, &b] {
            for lease in &taken.claim.lanes {
                assert!(lanes.insert(lease.token.lane), "a lane was leased twice");
            }
        }
        assert!(!(a.is_empty() && b.is_empty()), "a lane was never leased");
    }
}

/// O5: a retry gives the rest of the run back untried and in place, and nothing of it goes before the head.
pub async fn o5_a_retry_gives_back_the_rest_untried<H: Harness>() {
    let s = Scene::<H>::new().await;
    let positions = s.save_run("k", &numbered("m", 3)).await;
    let taken = s.claim().await;
    s.settle_all(&taken, &[("m1", retry(10))], &Outcome::Release)
        .await;
    assert!(s.claim().await.is_empty());
    s.advance(secs(10)).await;
    let again = s.claim().await;
    assert_eq!(again.payloads(), ["m1", "m2", "m3"]);
    assert_eq!(again.positions(), positions);
    let counts: Vec<_> = again.deliveries().map(|d| (d.attempts, d.tries)).collect();
    assert_eq!(counts, [(1, 1), (0, 0), (0, 0)]);
}

/// O5: a run whose head was published and whose next message failed goes on from the failed one.
pub async fn o5_a_run_goes_on_from_the_message_that_failed<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save_run("k", &numbered("m", 4)).await;
    let taken = s.claim().await;
    s.settle_all(
        &taken,
        &[("m1", Outcome::Published), ("m2", retry(10))],
        &Outcome::Release,
    )
    .await;
    s.save("k", "m5").await;
    assert!(s.drain().await.is_empty());
    s.advance(secs(10)).await;
    assert_eq!(s.drain().await, ["m2", "m3", "m4", "m5"]);
    s.assert_empty().await;
}

/// O2: a key of one topic is another ordering key than the same key of another topic.
pub async fn o2_the_same_key_of_two_topics_is_two_ordering_keys<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "a").await;
    let taken = s.claim().await;
    s.settle(&taken, &[("a", retry(10))]).await;
    let other = outbox_message::Message::new("other", "b")
        .and_then(|m| m.with_key("k"))
        .expect("the parts keep the limits");
    s.put(&other).await;
    assert_eq!(s.drain().await, ["b"]);
}

/// O7: unkeyed messages and messages of other keys pass a key that waits, in its own lane and elsewhere.
pub async fn o7_a_waiting_key_delays_nobody_else<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(3);
    s.save(&keys[0], "stuck").await;
    let taken = s.claim().await;
    s.settle(&taken, &[("stuck", retry(600))]).await;
    for n in 0..20 {
        s.save(&keys[0], &format!("behind {n}")).await;
        s.save(&keys[1], &format!("free {n}")).await;
        s.save(None::<&str>, &format!("unkeyed {n}")).await;
    }
    for key in s.keys_apart() {
        s.save(&key, "apart").await;
    }
    let out = s.drain().await;
    assert!(out.iter().all(|p| !p.starts_with("behind") && p != "stuck"));
    // The lane of k0 has its own key among those apart: it is the stuck one.
    assert_eq!(out.len(), 40 + s.keys_apart().len() - 1);
}

/// Case 11, P3: the oldest `limit` messages all wait; those behind them go out.
pub async fn case11_messages_behind_a_batch_of_failures_go_out<H: Harness>() {
    let s = Scene::<H>::new().await;
    let lane = s.lane("k0");
    let keys: Vec<_> = s.keys_in(lane).take(12).collect();
    for key in &keys[..10] {
        s.save(key, "fails").await;
    }
    for key in &keys[10..] {
        s.save(key, "goes").await;
    }
    let taken = s.claim_up_to(10).await;
    assert_eq!(taken.payloads(), ["fails"; 10]);
    s.settle_all(&taken, &[], &retry(600)).await;
    assert_eq!(
        s.drain_with(ClaimRequest { limit: 10, ..ask() }).await,
        ["goes", "goes"]
    );
}

/// Case 11 with unkeyed messages: their retries block nobody.
pub async fn case11_unkeyed_failures_fill_no_batch_again<H: Harness>() {
    let s = Scene::<H>::new().await;
    for _ in 0..20 {
        s.save(None::<&str>, "fails").await;
    }
    let limit_5 = || ClaimRequest { limit: 5, ..ask() };
    for () in rounds() {
        let taken = s.claim_with(limit_5()).await;
        if taken.is_empty() {
            break;
        }
        s.settle_all(&taken, &[], &retry(600)).await;
    }
    s.save(None::<&str>, "goes").await;
    assert_eq!(s.drain_with(limit_5()).await, ["goes"]);
}

/// Case 10, store part: a failure in a batch touches neither the batch's other messages nor their counters.
pub async fn case10_a_failure_in_a_batch_leaves_the_others_alone<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(3);
    for (key, payload) in keys.iter().zip(["a", "b", "c"]) {
        s.save(key, payload).await;
    }
    let taken = s.claim().await;
    s.settle_all(&taken, &[("b", retry(10))], &Outcome::Release)
        .await;
    let next = s.claim().await;
    assert_eq!(next.payloads(), ["a", "c"]);
    assert!(next.deliveries().all(|d| (d.attempts, d.tries) == (0, 0)));
}

/// F8: a retry without a time keeps the message due and in its place, before its neighbors.
pub async fn o2_a_retry_in_place_keeps_the_order_of_its_lane<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(2);
    s.save(&keys[0], "a").await;
    s.save(&keys[1], "b").await;
    let taken = s.claim().await;
    s.settle_all(&taken, &[("a", retry_in_place())], &Outcome::Release)
        .await;
    assert_eq!(s.claim().await.payloads(), ["a", "b"]);
}

/// S13: lanes are served in turn: while one lane always has work, every other gets its claim.
pub async fn o7_no_lane_starves_beside_busy_ones<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_apart();
    for key in &keys {
        s.save_run(key, &numbered(&format!("{key} "), 10)).await;
    }
    let mut served = HashSet::new();
    for _ in 0..keys.len() {
        let taken = s
            .claim_with(ClaimRequest {
                limit: 1,
                max_lanes: 1,
                ..ask()
            })
            .await;
        served.insert(taken.token().lane);
        s.publish(&taken).await;
    }
    assert_eq!(served.len(), keys.len(), "one claim for each lane");
}

/// A claim leases only the lanes it was asked for.
pub async fn o7_a_claim_leases_only_lanes_it_may<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_apart();
    for key in &keys {
        s.save(key, key).await;
    }
    let lane = Lane(1);
    let wanted = s.claim_lane(lane).await;
    assert_eq!(wanted.payloads(), [keys[1].clone()]);
    s.release(&wanted).await;
    let rest = s
        .drain_with(ClaimRequest {
            lanes: LaneFilter::Except(vec![lane]),
            ..ask()
        })
        .await;
    assert_eq!(rest.len(), keys.len() - 1);
    assert!(!rest.contains(&keys[1]));
    let none = LaneFilter::Only(Vec::new());
    let nothing = ClaimRequest {
        lanes: none,
        ..ask()
    };
    assert!(s.claim_with(nothing).await.is_empty());
    assert_eq!(s.drain_with(only(lane)).await, [keys[1].clone()]);
}

/// Case 8, store part: unkeyed messages are spread over lanes and share no hidden key.
pub async fn case8_unkeyed_messages_block_each_other_nowhere<H: Harness>() {
    let s = Scene::<H>::new().await;
    let messages: Vec<_> = (0..200)
        .map(|n| message(None::<&str>, format!("{n}")))
        .collect();
    s.put_all(&messages).await;
    let mut lanes = HashSet::new();
    let mut out = Vec::new();
    for () in rounds() {
        let taken = s.claim_up_to(10).await;
        if taken.is_empty() {
            break;
        }
        lanes.extend(taken.claim.lanes.iter().map(|lease| lease.token.lane));
        let failed = taken.payloads()[0].clone();
        out.extend(taken.payloads().into_iter().skip(1));
        s.settle_all(&taken, &[(&failed, retry(600))], &Outcome::Published)
            .await;
        out.push(failed);
    }
    assert_eq!(out.len(), 200, "each once: a failed one holds no other");
    assert!(lanes.len() > 1, "they are spread over lanes");
}
