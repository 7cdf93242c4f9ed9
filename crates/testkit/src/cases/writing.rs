//! Saving inside the caller's transaction (C1, O10), and refusing what no store takes (C4).

use outbox_message::{MAX_PAYLOAD_BYTES, Message};
use outbox_store::{OutboxWriter, Save, SaveError, SaveOrder, Saved};

use crate::{
    Harness, saved,
    scene::{Scene, ask, message, numbered},
};

/// C1: what commits is handed out.
pub async fn c1_a_committed_save_is_handed_out<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "a").await;
    assert_eq!(s.claim().await.payloads(), ["a"]);
}

/// C1: what is rolled back is never seen, nor is what a dropped transaction saved.
pub async fn c1_a_rolled_back_save_is_never_seen<H: Harness>() {
    let s = Scene::<H>::new().await;
    let gone = message("k", "gone");
    for drop_it in [false, true] {
        let mut tx = s.harness.begin().await;
        s.store()
            .save(H::connection(&mut tx), Save::from(&gone))
            .await
            .expect("the save keeps the limits");
        if drop_it {
            drop(tx);
        } else {
            s.harness.rollback(tx).await;
        }
    }
    s.save("k", "kept").await;
    assert_eq!(s.drain().await, ["kept"]);
    s.assert_empty().await;
}

/// C1: an open transaction's save is not visible to relays.
pub async fn c1_a_save_is_invisible_until_its_transaction_commits<H: Harness>() {
    let s = Scene::<H>::new().await;
    let open = message("k", "a");
    let mut tx = s.harness.begin().await;
    s.store()
        .save(H::connection(&mut tx), Save::from(&open))
        .await
        .expect("the save keeps the limits");
    let early = s.claim().await;
    assert!(early.is_empty() && !early.claim.leased_elsewhere);
    s.harness.commit(tx).await;
    assert_eq!(s.claim().await.payloads(), ["a"]);
}

/// C1: without an open transaction `save` refuses, and stores nothing.
pub async fn c1_a_save_without_a_transaction_is_refused<H: Harness>() {
    let s = Scene::<H>::new().await;
    let message = message("k", "a");
    if let Some(answer) = s.harness.save_outside(Save::from(&message)).await {
        assert!(
            matches!(answer, Err(SaveError::NoTransaction { .. })),
            "{answer:?}"
        );
    }
    assert!(s.claim().await.is_empty());
}

/// C1: `save` commits nothing: an earlier save of the transaction goes with it.
pub async fn c1_all_saves_of_a_transaction_share_its_end<H: Harness>() {
    let s = Scene::<H>::new().await;
    let (one, two) = (message("k", "a"), message("l", "b"));
    let mut tx = s.harness.begin().await;
    for message in [&one, &two] {
        s.store()
            .save(H::connection(&mut tx), Save::from(message))
            .await
            .expect("the save keeps the limits");
    }
    s.harness.rollback(tx).await;
    assert!(s.claim().await.is_empty());
}

/// The writer port lists what the open transaction sees: what was pending before and what it saved itself, scheduled or not.
pub async fn c1_an_open_transaction_sees_its_own_pending_messages<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "before").await;
    let (now, later) = (message("k", "now"), message("l", "later"));
    let mut tx = s.harness.begin().await;
    let saves = [
        Save::from(&now),
        Save {
            due: Some(outbox_store::Due::After(std::time::Duration::from_mins(1))),
            ..Save::from(&later)
        },
    ];
    s.store()
        .save_all(H::connection(&mut tx), &saves)
        .await
        .expect("the saves keep the limits");
    let seen = saved(s.store(), H::connection(&mut tx))
        .await
        .expect("the store lists");
    s.harness.rollback(tx).await;
    let payloads: Vec<_> = seen.iter().map(|m| m.payload.clone()).collect();
    assert_eq!(payloads, ["before", "now", "later"]);
    assert_eq!(seen[1], now);
    assert_eq!(seen[2], later);
}

/// C4: a payload over the limit is refused, the transaction goes on, and of `save_all` nothing is stored.
pub async fn c4_a_payload_over_the_limit_is_refused_and_the_transaction_lives<H: Harness>() {
    let s = Scene::<H>::new().await;
    let big = message("k", vec![0_u8; MAX_PAYLOAD_BYTES + 1]);
    let small = message("k", "small");
    let mut tx = s.harness.begin().await;
    let refused = s
        .store()
        .save(H::connection(&mut tx), Save::from(&big))
        .await;
    assert!(matches!(refused, Err(SaveError::Invalid(_))), "{refused:?}");
    let refused = s
        .store()
        .save_all(
            H::connection(&mut tx),
            &[Save::from(&small), Save::from(&big)],
        )
        .await;
    assert!(matches!(refused, Err(SaveError::Invalid(_))), "{refused:?}");
    s.store()
        .save(H::connection(&mut tx), Save::from(&small))
        .await
        .expect("the transaction is as it was");
    s.harness.commit(tx).await;
    assert_eq!(s.drain().await, ["small"]);
}

/// O10: positions grow in the order of the saves, over calls, within one call, and over transactions.
pub async fn o10_positions_grow_in_the_order_of_saving<H: Harness>() {
    let s = Scene::<H>::new().await;
    let messages: Vec<_> = ["k", "l", "k", "m"]
        .iter()
        .map(|key| message(*key, "x"))
        .collect();
    let mut positions = s.put_all(&messages).await;
    positions.push(s.save("a", "x").await);
    positions.push(
        s.schedule("b", "x", std::time::Duration::from_mins(1))
            .await,
    );
    positions.push(s.save(None::<&str>, "x").await);
    positions.extend(s.put_all(&messages).await);
    assert_eq!(positions.len(), 11);
    assert!(positions.is_sorted_by(|a, b| a < b), "{positions:?}");
}

/// Saving nothing is no error, and an answer for each save comes in order.
pub async fn o10_save_all_of_nothing_does_nothing<H: Harness>() {
    let s = Scene::<H>::new().await;
    assert!(s.put_all(&[]).await.is_empty());
    s.assert_empty().await;
}

/// Case 2: pairs of one key in one transaction go out in the order of saving, every time.
pub async fn case2_two_messages_of_one_key_in_one_transaction_keep_their_order<H: Harness>() {
    let s = Scene::<H>::new().await;
    let pairs: Vec<Message> = (0..1_000)
        .flat_map(|n| {
            ["first", "second"].map(|which| message(format!("k{n}"), format!("{n} {which}")))
        })
        .collect();
    s.put_all(&pairs).await;
    let out = s.drain().await;
    assert_eq!(out.len(), 2_000);
    for n in 0..1_000 {
        let at = |which| out.iter().position(|p| *p == format!("{n} {which}"));
        assert!(at("first") < at("second"), "key {n}");
    }
}

/// O10: a save in commit order stores like any other when nobody else writes its key.
pub async fn o10_a_save_in_commit_order_is_stored<H: Harness>() {
    let s = Scene::<H>::new().await;
    let (keyed, unkeyed) = (message("k", "a"), message(None::<&str>, "b"));
    for message in [&keyed, &unkeyed] {
        let save = Save {
            order: SaveOrder::Commit,
            ..Save::from(message)
        };
        assert!(matches!(s.try_save(save).await, Saved::New(_)));
    }
    let mut out = s.drain().await;
    out.sort();
    assert_eq!(out, ["a", "b"]);
}

/// Case 1: a position that commits late is delivered, though a later one is out already.
pub async fn case1_a_transaction_that_commits_late_is_not_skipped<H: Harness>() {
    if !(H::CAPABILITIES.concurrent_writers && H::CAPABILITIES.claims_beside_writers) {
        return;
    }
    let s = Scene::<H>::new().await;
    let late = message("k", "a");
    let mut tx = s.harness.begin().await;
    s.store()
        .save(H::connection(&mut tx), Save::from(&late))
        .await
        .expect("the save keeps the limits");
    s.save("k", "b").await;
    assert_eq!(s.drain().await, ["b"]);
    s.harness.commit(tx).await;
    assert_eq!(s.drain().await, ["a"]);
    s.assert_empty().await;
}

/// O10: a save in commit order waits for the open transaction of another writer of its key.
pub async fn case1_saves_in_commit_order_wait_for_each_other<H: Harness>() {
    if !H::CAPABILITIES.commit_order_waits {
        return;
    }
    let s = Scene::<H>::new().await;
    let (first, second) = (message("k", "a"), message("k", "b"));
    let in_order = |message| Save {
        order: SaveOrder::Commit,
        ..Save::from(message)
    };
    let mut one = s.harness.begin().await;
    s.store()
        .save(H::connection(&mut one), in_order(&first))
        .await
        .expect("the save keeps the limits");
    let mut two = s.harness.begin().await;
    let waiting = s.store().save(H::connection(&mut two), in_order(&second));
    let (after, ()) = tokio::join!(waiting, s.harness.commit(one));
    after.expect("the save goes on after the commit");
    s.harness.commit(two).await;
    assert_eq!(s.drain().await, ["a", "b"]);
}

/// W7: one call saves ten thousand messages, and all of them come out.
pub async fn o10_one_call_saves_any_number_of_messages<H: Harness>() {
    let s = Scene::<H>::new().await;
    let payloads = numbered("m", 10_000);
    let positions = s.save_run("k", &payloads).await;
    assert_eq!(positions.len(), payloads.len());
    let out = s
        .drain_with(outbox_store::ClaimRequest {
            limit: 1_000,
            ..ask()
        })
        .await;
    assert_eq!(out, payloads);
}
