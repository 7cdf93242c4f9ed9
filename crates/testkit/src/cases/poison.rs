//! Messages that kill the process that publishes them, and processes killed for other reasons (F6, case 44).

use outbox_store::{AfterDeath, ClaimRequest, DeathReason, OutboxOperator, Outcome};

use crate::{
    Harness,
    scene::{PAST_LEASE, Scene, all_dead, ask, message, numbered, only, rounds},
    taken::{Taken, payload},
};

/// How many starts in a row mean that a message kills its relay.
const CAREFUL_LIMIT: u32 = 3;

/// What a relay does with one claim whose poison message kills the process. Says what went out.
async fn serve<H: Harness>(s: &Scene<H>, taken: Taken, out: &mut Vec<String>) {
    let poisoned = |taken: &Taken| taken.payloads().iter().any(|p| p == "poison");
    if !taken.claim.lanes[0].careful {
        if poisoned(&taken) {
            s.crash(taken).await;
        } else {
            out.extend(taken.payloads());
            s.publish(&taken).await;
        }
        return;
    }
    if taken.deliveries().all(|d| d.starts >= CAREFUL_LIMIT) {
        let outcome = Outcome::Dead {
            reason: DeathReason::Poison,
            error: "each of its starts ended with the process".to_owned(),
            after: AfterDeath::Skip,
            notice: None,
        };
        s.settle_all(&taken, &[], &outcome).await;
        return;
    }
    s.start(&taken).await;
    if poisoned(&taken) {
        s.crash(taken).await;
    } else {
        out.extend(taken.payloads());
        s.publish(&taken).await;
    }
}

/// Case 44: lanes lapse because a poison message kills its relay; it is found, and no innocent message dies.
pub async fn case44_a_poison_message_is_found_and_no_innocent_dies<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_apart();
    for key in &keys {
        s.save_run(key, &numbered(&format!("{key} "), 4)).await;
    }
    s.save(&keys[0], "poison").await;
    s.save(&keys[0], "behind").await;
    let small = || ClaimRequest { limit: 8, ..ask() };
    let mut out = Vec::new();
    for () in rounds() {
        let taken = s.claim_with(small()).await;
        if taken.is_empty() && taken.moved() == 0 {
            break;
        }
        if !taken.is_empty() {
            serve(&s, taken, &mut out).await;
        }
    }
    let letters = s.dead().await;
    assert_eq!(letters.len(), 1);
    assert_eq!(letters[0].payload.as_deref(), Some(&b"poison"[..]));
    assert_eq!(
        (letters[0].reason.as_str(), letters[0].attempts),
        ("poison", 0)
    );
    assert_eq!(out.len(), keys.len() * 4 + 1);
    assert!(out.contains(&"behind".to_owned()));
}

/// Case 44: relays that are killed at the same moment for other reasons, twice, kill no message.
pub async fn case44_relays_killed_together_kill_no_message<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_apart();
    for key in &keys {
        s.save_run(key, &numbered(&format!("{key} "), 3)).await;
    }
    let two = || ClaimRequest {
        max_lanes: 2,
        ..ask()
    };
    for _ in 0..4 {
        assert!(!s.claim_with(two()).await.is_empty());
    }
    s.advance(PAST_LEASE).await;
    for _ in 0..4 {
        let taken = s.claim_with(two()).await;
        if taken.claim.lanes[0].careful {
            s.start(&taken).await;
        }
    }
    s.advance(PAST_LEASE).await;
    let mut out = Vec::new();
    for () in rounds() {
        let taken = s.claim_with(two()).await;
        if taken.is_empty() && taken.moved() == 0 {
            break;
        }
        for delivery in taken.deliveries() {
            assert!(delivery.starts <= 1, "{}", payload(delivery));
        }
        if !taken.is_empty() {
            serve(&s, taken, &mut out).await;
        }
    }
    assert_eq!(out.len(), keys.len() * 3);
    assert!(s.dead().await.is_empty());
}

/// O9, F6: a redriven poison message begins without starts.
pub async fn f6_a_redriven_poison_message_begins_anew<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.put(&message("k", "poison")).await;
    let lost = s.claim().await;
    s.crash(lost).await;
    let taken = s.claim().await;
    s.start(&taken).await;
    s.crash(taken).await;
    let taken = s.claim_with(only(s.lane("k"))).await;
    assert_eq!(taken.of("poison").starts, 1);
    let outcome = Outcome::Dead {
        reason: DeathReason::Poison,
        error: String::new(),
        after: AfterDeath::Hold,
        notice: None,
    };
    s.settle_all(&taken, &[], &outcome).await;
    let page = all_dead();
    s.store().redrive(&page).await.expect("the store redrives");
    let again = s.claim().await;
    assert_eq!(again.of("poison").starts, 0);
}
