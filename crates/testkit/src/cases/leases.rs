//! Leases and tokens, renewals, settlements in parts (D1, D2, D4, cases 13 and 42).

use outbox_message::LaneToken;
use outbox_store::{
    ClaimRequest, LaneFilter, LaneSettled, LaneSettlement, OutboxStore, Outcome, Settlement,
};

use crate::{
    Harness,
    scene::{LEASE, PAST_LEASE, Scene, ask, numbered, secs},
    taken::{retry, target},
};

/// Case 13, D1, D2: a lease that ran out is taken over by an ordinary claim, and the message comes again, uncounted.
pub async fn case13_a_crash_hands_the_message_out_again<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "a").await;
    let first = s.claim().await;
    let before = first.of("a").clone();
    s.advance(secs(20)).await;
    let early = s.claim().await;
    assert!(early.is_empty() && early.claim.leased_elsewhere);
    s.advance(secs(11)).await;
    let second = s.claim().await;
    assert_eq!(second.of("a"), &before);
    assert_ne!(second.token(), first.token());
}

/// D2: part of a lane can be settled while the rest is in flight; the lane stays held until it is given back.
pub async fn d2_a_partial_settlement_keeps_the_lane<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(2);
    s.save_run(&keys[0], &numbered("a", 2)).await;
    s.save(&keys[1], "b").await;
    let taken = s.claim().await;
    s.settle(&taken, &[("a1", Outcome::Published)]).await;
    assert!(s.claim().await.is_empty());
    assert!(s.extend(&taken).await.is_empty());
    s.settle(&taken, &[("b", Outcome::Published)]).await;
    assert!(s.claim().await.is_empty());
    s.settle(&taken, &[("a2", Outcome::Published)]).await;
    s.release_lane(&taken).await;
    s.assert_empty().await;
}

/// D4: a lane that is given back takes along what has no outcome, untouched.
pub async fn d4_giving_a_lane_back_frees_what_has_no_outcome<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save_run("k", &numbered("m", 3)).await;
    let taken = s.claim().await;
    let mut lanes = taken.settlements(&[("m1", Outcome::Published)]);
    lanes[0].release = true;
    s.settle_raw(&lanes).await;
    let again = s.claim().await;
    assert_eq!(again.payloads(), ["m2", "m3"]);
    assert!(again.deliveries().all(|d| d.tries == 0));
    assert!(!again.is_careful(), "nobody vanished");
}

/// D2: a renewal makes the lease end later, counted from the renewal.
pub async fn d2_a_renewal_prolongs_the_lease<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "a").await;
    let taken = s.claim().await;
    for _ in 0..3 {
        s.advance(secs(20)).await;
        assert!(s.extend(&taken).await.is_empty());
        assert!(s.claim().await.is_empty());
    }
    s.advance(PAST_LEASE).await;
    assert_eq!(s.claim().await.payloads(), ["a"]);
    assert_eq!(s.extend(&taken).await, [taken.token().clone()]);
}

/// D2: of several tokens exactly the stale ones are named.
pub async fn d2_a_renewal_names_the_tokens_that_are_lost<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_apart();
    s.save(&keys[0], "a").await;
    let gone = s.claim().await;
    s.release(&gone).await;
    s.save(&keys[1], "b").await;
    let held = s
        .claim_with(ClaimRequest {
            lanes: LaneFilter::Only(vec![s.lane(&keys[1])]),
            ..ask()
        })
        .await;
    let tokens = [held.token().clone(), gone.token().clone()];
    let lost = s.store().extend(&tokens, LEASE).await.expect("it extends");
    assert_eq!(lost, [gone.token().clone()]);
    assert!(
        s.store()
            .extend(&[], LEASE)
            .await
            .expect("it extends")
            .is_empty()
    );
}

/// D2: every claim draws its own holder, and the epoch of a lane only grows.
pub async fn d2_no_two_claims_share_a_token<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "a").await;
    let mut last: Option<LaneToken> = None;
    for round in 0..6 {
        let taken = s.claim().await;
        let new = taken.token().clone();
        if let Some(last) = last.replace(new.clone()) {
            assert!(new.epoch > last.epoch);
            assert_ne!(new.holder, last.holder);
        }
        if round % 2 == 0 {
            s.release(&taken).await;
        } else {
            s.crash(taken).await;
        }
    }
}

/// D2: one settlement of several lanes judges each by its own token.
pub async fn d2_lanes_are_settled_each_by_its_own_token<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_apart();
    s.save(&keys[0], "a").await;
    let stale = s.claim().await;
    s.advance(PAST_LEASE).await;
    let other = s.claim_lane(s.lane(&keys[0])).await;
    s.save(&keys[1], "b").await;
    let held = s.claim_lane(s.lane(&keys[1])).await;
    let lanes: Vec<LaneSettlement> = [
        stale.settlements(&[("a", retry(10))]),
        held.settlements(&[("b", retry(10))]),
    ]
    .concat();
    let settled = s.settle_raw(&lanes).await;
    assert_eq!([settled[0].lost, settled[1].lost], [true, false]);
    s.release(&other).await;
    assert_eq!(s.status().await.waiting, 1);
}

/// Settling and renewing nothing is no error.
pub async fn d2_settling_nothing_does_nothing<H: Harness>() {
    let s = Scene::<H>::new().await;
    assert!(s.settle_raw(&[]).await.is_empty());
    s.save("k", "a").await;
    let taken = s.claim().await;
    let nothing = LaneSettlement {
        token: taken.token().clone(),
        outcomes: Vec::new(),
        release: false,
    };
    assert_eq!(s.settle_raw(&[nothing]).await, [LaneSettled::default()]);
    assert!(s.claim().await.is_empty());
}

/// An outcome for a message that does not exist is missed, and the others count.
pub async fn f7_an_outcome_for_nothing_hinders_no_other<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "a").await;
    let taken = s.claim().await;
    let mut lanes = taken.settlements_of_all(&[], &Outcome::Published);
    let mut nowhere = target(&taken.claim.entries[0]);
    nowhere.position.0 += 1_000;
    lanes[0].outcomes.push(Settlement {
        target: nowhere.clone(),
        outcome: retry(10),
    });
    let settled = s.settle_raw(&lanes).await;
    assert!(!settled[0].lost);
    assert_eq!(settled[0].missed, [nowhere.position]);
    s.assert_empty().await;
}

/// Case 42: relays that claim, renew and settle overlapping lanes at once never lock each other out.
pub async fn case42_relays_at_once_do_not_lock_each_other_out<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_apart();
    for key in &keys {
        s.save_run(key, &numbered(&format!("{key} "), 20)).await;
    }
    let relay = async || {
        let mut out = Vec::new();
        for _ in 0..400 {
            let taken = s
                .claim_with(ClaimRequest {
                    limit: 10,
                    max_lanes: 2,
                    ..ask()
                })
                .await;
            if taken.is_empty() {
                if taken.claim.leased_elsewhere {
                    tokio::task::yield_now().await;
                    continue;
                }
                break;
            }
            assert!(s.extend(&taken).await.is_empty());
            let (first, rest) = taken.payloads().split_first().map_or_else(
                || unreachable!("the claim is not empty"),
                |(first, rest)| (first.clone(), rest.to_vec()),
            );
            let part: Vec<_> = [(first.as_str(), Outcome::Published)].to_vec();
            if !rest.is_empty() {
                s.settle(&taken, &part).await;
            }
            let lanes = taken.settlements_of_all(&[], &Outcome::Published);
            for settled in s.settle_raw(&lanes).await {
                assert!(!settled.lost);
            }
            out.extend(taken.payloads());
        }
        out
    };
    let served = tokio::join!(relay(), relay(), relay(), relay());
    let mut out = [served.0, served.1, served.2, served.3].concat();
    out.extend(s.drain().await);
    assert_eq!(out.len(), keys.len() * 20);
    out.sort();
    out.dedup();
    assert_eq!(out.len(), keys.len() * 20, "each once");
    s.assert_empty().await;
}
