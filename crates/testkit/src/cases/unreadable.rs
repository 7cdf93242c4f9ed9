//! Rows that cannot be read as a message: each fails alone, and keeps its raw bytes (F7, cases 20 and 41).

use outbox_store::{AfterDeath, DeathReason, OutboxOperator, Outcome};

use crate::{
    Corruption, Harness,
    scene::{Scene, all_dead, message, numbered, rounds, secs},
    taken::{Taken, retry},
};

fn unreadable(after: AfterDeath) -> Outcome {
    Outcome::Dead {
        reason: DeathReason::Unreadable,
        error: "it cannot be read".to_owned(),
        after,
        notice: None,
    }
}

/// Settles unreadable rows as dead and everything else as published.
async fn bury<H: Harness>(s: &Scene<H>, taken: &Taken) {
    let positions: Vec<_> = taken.unreadable().map(|row| row.position).collect();
    let mut lanes = taken.settlements_of_all(&[], &Outcome::Published);
    for settlement in lanes.iter_mut().flat_map(|lane| &mut lane.outcomes) {
        if positions.contains(&settlement.target.position) {
            settlement.outcome = unreadable(AfterDeath::Skip);
        }
    }
    for settled in s.settle_raw(&lanes).await {
        assert!(!settled.lost && settled.missed.is_empty(), "{settled:?}");
    }
}

/// Case 20: of a hundred messages one has unreadable headers; it alone fails, with its raw bytes kept.
pub async fn case20_one_unreadable_row_fails_alone<H: Harness>() {
    let s = Scene::<H>::new().await;
    let lane = s.lane("k0");
    let keys: Vec<_> = s.keys_in(lane).take(100).collect();
    let mut bad = None;
    for (n, key) in keys.iter().enumerate() {
        let position = s.save(key, &format!("{n}")).await;
        if n == 37 {
            bad = Some(position);
        }
    }
    let bad = bad.expect("it was saved");
    s.harness.corrupt(bad, Corruption::Headers).await;
    let taken = s.claim().await;
    assert_eq!(taken.payloads().len(), 99);
    let rows: Vec<_> = taken.unreadable().collect();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].position, bad);
    assert!(!rows[0].error.is_empty());
    bury(&s, &taken).await;
    let letters = s.dead().await;
    assert_eq!(letters.len(), 1);
    assert_eq!(letters[0].payload.as_deref(), Some(&b"37"[..]));
    assert_eq!(
        (letters[0].reason.as_str(), letters[0].attempts),
        ("unreadable", 0)
    );
    assert_eq!(s.status().await.pending(), 0);
}

/// F7: whatever is wrong with a row, it is handed out as unreadable beside its readable neighbors, and can be buried and dropped.
pub async fn f7_each_kind_of_bad_row_is_handed_out_as_unreadable<H: Harness>() {
    for how in Corruption::ALL {
        let s = Scene::<H>::new().await;
        let keys = s.keys_together(3);
        s.save(&keys[0], "before").await;
        let bad = s.put(&message(&keys[1], "raw")).await;
        s.save(&keys[2], "after").await;
        s.harness.corrupt(bad, how).await;
        let mut rows = Vec::new();
        let mut out = Vec::new();
        for () in rounds() {
            let taken = s.claim().await;
            if taken.is_empty() {
                break;
            }
            rows.extend(
                taken
                    .unreadable()
                    .map(|row| (row.position, row.key.clone())),
            );
            out.extend(taken.payloads());
            bury(&s, &taken).await;
        }
        assert_eq!(out, ["before", "after"], "{how:?}");
        assert_eq!(rows.len(), 1, "{how:?}");
        assert_eq!(rows[0].0, bad, "{how:?}");
        let has_key = matches!(how, Corruption::Id | Corruption::Headers);
        assert_eq!(rows[0].1.is_some(), has_key, "{how:?}");
        let letters = s.dead().await;
        assert_eq!(letters.len(), 1, "{how:?}");
        assert_eq!(letters[0].payload.as_deref(), Some(&b"raw"[..]), "{how:?}");
        let dropped = s.store().discard(&all_dead()).await;
        assert_eq!(dropped.expect("the store discards").count, 1, "{how:?}");
        assert_eq!(s.drain().await, Vec::<String>::new());
    }
}

/// F7: an unreadable row in the middle of a run has its place in it, and the run goes on after it.
pub async fn f7_a_run_goes_on_after_an_unreadable_row<H: Harness>() {
    let s = Scene::<H>::new().await;
    let positions = s.save_run("k", &numbered("m", 3)).await;
    s.harness.corrupt(positions[1], Corruption::Headers).await;
    let taken = s.claim().await;
    assert_eq!(taken.positions(), positions);
    bury(&s, &taken).await;
    s.save("k", "m4").await;
    assert_eq!(s.drain().await, ["m4"]);
}

/// F7, O9: an unreadable row whose key can be read holds its key if the policy says so.
pub async fn f7_an_unreadable_row_holds_its_key_under_hold<H: Harness>() {
    let s = Scene::<H>::new().await;
    let bad = s.save("k", "bad").await;
    s.save("k", "next").await;
    s.harness.corrupt(bad, Corruption::Headers).await;
    let taken = s.claim().await;
    let mut lanes = taken.settlements_of_all(&[], &Outcome::Release);
    lanes[0].outcomes[0].outcome = unreadable(AfterDeath::Hold);
    s.settle_raw(&lanes).await;
    assert!(s.drain().await.is_empty());
    assert_eq!(s.status().await.held, 1);
    let dropped = s.store().discard(&all_dead()).await;
    assert_eq!(dropped.expect("the store discards").count, 1);
    assert_eq!(s.drain().await, ["next"]);
}

/// F7: an unreadable row is given back like any other, and comes again.
pub async fn f7_an_unreadable_row_can_be_given_back<H: Harness>() {
    let s = Scene::<H>::new().await;
    let bad = s.save("k", "bad").await;
    s.harness.corrupt(bad, Corruption::Id).await;
    for _ in 0..2 {
        let taken = s.claim().await;
        assert_eq!(taken.unreadable().count(), 1);
        s.release(&taken).await;
    }
}

/// Case 41: a lane whose unreadable row nobody settles delays no other lane.
pub async fn case41_a_lane_with_a_bad_row_delays_no_other_lane<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_apart();
    let bad = s.save(&keys[0], "bad").await;
    s.harness.corrupt(bad, Corruption::Headers).await;
    let messages: Vec<_> = (0..500)
        .map(|n| message(&keys[1 + n % (keys.len() - 1)], format!("{n}")))
        .collect();
    s.put_all(&messages).await;
    let stuck = s.claim_lane(s.lane(&keys[0])).await;
    assert_eq!(stuck.unreadable().count(), 1);
    assert_eq!(s.drain().await.len(), 500);
    bury(&s, &stuck).await;
    assert_eq!(s.dead().await.len(), 1);
}

/// F7, O6: a bad row that is scheduled, or behind a waiting head, fails no claim, and neither brings the head's next try forward.
pub async fn f7_a_bad_row_anywhere_fails_no_claim<H: Harness>() {
    for how in [Corruption::Id, Corruption::Headers] {
        let s = Scene::<H>::new().await;
        s.save("k", "head").await;
        let taken = s.claim().await;
        s.settle(&taken, &[("head", retry(60))]).await;
        let scheduled = s.schedule("k", "scheduled", secs(60)).await;
        let behind = s.save("k", "behind").await;
        s.harness.corrupt(scheduled, how).await;
        s.harness.corrupt(behind, how).await;
        let mut found = Vec::new();
        for expected in [&[][..], &["head"]] {
            let mut out = Vec::new();
            for () in rounds() {
                let taken = s.claim().await;
                if taken.is_empty() && taken.moved() == 0 {
                    break;
                }
                found.extend(taken.unreadable().map(|row| row.position));
                out.extend(taken.payloads());
                bury(&s, &taken).await;
            }
            assert_eq!(out, expected, "{how:?}");
            s.advance(secs(60)).await;
        }
        found.sort_unstable();
        assert_eq!(found, [scheduled, behind], "{how:?}");
        assert_eq!(s.status().await.pending(), 0, "{how:?}");
    }
}

/// F7: redrive heals a row that sat in the wrong lane; others come back as unreadable as they were.
pub async fn f7_redrive_heals_a_row_in_the_wrong_lane<H: Harness>() {
    for how in Corruption::ALL {
        let s = Scene::<H>::new().await;
        let bad = s.save("k", "bad").await;
        s.harness.corrupt(bad, how).await;
        let taken = s.claim().await;
        bury(&s, &taken).await;
        let redriven = s.store().redrive(&all_dead()).await;
        assert_eq!(redriven.expect("the store redrives").count, 1, "{how:?}");
        let again = s.claim().await;
        let healed = how == Corruption::Lane;
        assert_eq!(again.payloads().len(), usize::from(healed), "{how:?}");
        assert_eq!(again.unreadable().count(), usize::from(!healed), "{how:?}");
    }
}
