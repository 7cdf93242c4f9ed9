//! Messages that are given up on: what their key does, and what redrive and discard do about it (O9, cases 7 and 40).

use outbox_message::Position;
use outbox_store::{AfterDeath, BlockReason, DeadPage, OutboxOperator, Outcome};

use crate::{
    Harness,
    scene::{Scene, all_dead, numbered, ordering_key, secs},
    taken::{Taken, dead, retry},
};

/// Case 7, skip: the next message of the key goes out.
pub async fn case7_under_skip_the_key_goes_on<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save_run("k", &numbered("m", 9)).await;
    let taken = s.claim().await;
    let published: Vec<_> = ["m1", "m2", "m3", "m4"]
        .map(|m| (m, Outcome::Published))
        .into_iter()
        .chain([("m5", dead(AfterDeath::Skip))])
        .collect();
    s.settle_all(&taken, &published, &Outcome::Release).await;
    assert_eq!(s.drain().await, ["m6", "m7", "m8", "m9"]);
    let status = s.status().await;
    assert_eq!((status.dead, status.blocked, status.held), (1, 0, 0));
}

/// Case 7, hold: nothing behind the dead letter goes until an operator acts, and the key shows as blocked.
pub async fn case7_under_hold_the_key_waits_and_shows<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save_run("k", &numbered("m", 9)).await;
    let taken = s.claim().await;
    let published: Vec<_> = ["m1", "m2", "m3", "m4"]
        .map(|m| (m, Outcome::Published))
        .into_iter()
        .chain([("m5", dead(AfterDeath::Hold))])
        .collect();
    s.settle_all(&taken, &published, &Outcome::Release).await;
    assert!(s.drain().await.is_empty());
    s.advance(secs(40 * 365 * 24 * 3600)).await;
    assert!(s.drain().await.is_empty());
    let status = s.status().await;
    assert_eq!((status.dead, status.blocked), (1, 1));
    assert_eq!((status.held, status.ready), (4, 0));
    let key = &status.blocked_keys[0];
    assert_eq!(
        (key.key.as_str(), key.reason, key.next_try),
        ("k", BlockReason::Dead, None)
    );
    assert_eq!(Position(key.position), taken.of("m5").position);
    assert_eq!(s.redrive().await.count, 1);
    assert_eq!(s.drain().await, ["m5", "m6", "m7", "m8", "m9"]);
    s.assert_empty().await;
}

/// Case 7, O9: redrive under skip puts the message at the tail with a new position, and says that it is out of order.
pub async fn case7_a_redrive_under_skip_goes_to_the_tail_and_warns<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save_run("k", &numbered("m", 3)).await;
    s.save(None::<&str>, "unkeyed").await;
    let old = s.kill("m1", AfterDeath::Skip).await.of("m1").clone();
    s.kill("unkeyed", AfterDeath::Skip).await;
    let stepped = s.redrive().await;
    assert_eq!((stepped.count, stepped.out_of_order), (2, 1));
    let taken = s.claim_until("m1").await;
    let keyed = |t: &Taken| -> Vec<_> {
        t.payloads()
            .into_iter()
            .filter(|p| p.starts_with('m'))
            .collect()
    };
    assert_eq!(keyed(&taken), ["m2", "m3", "m1"]);
    let redriven = taken.of("m1");
    assert!(redriven.position > taken.of("m3").position);
    assert_eq!(redriven.message, old.message);
    assert_eq!(
        (redriven.attempts, redriven.tries, redriven.starts),
        (0, 0, 0)
    );
}

/// O9: a dead letter that holds its key keeps its position, goes first, and is not out of order.
pub async fn o9_a_redrive_under_hold_keeps_the_position_and_goes_first<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save_run("k", &numbered("m", 3)).await;
    let old = s.kill("m1", AfterDeath::Hold).await;
    s.save("k", "m4").await;
    let stepped = s.redrive().await;
    assert_eq!((stepped.count, stepped.out_of_order), (1, 0));
    let taken = s.claim().await;
    assert_eq!(taken.payloads(), numbered("m", 4));
    assert_eq!(taken.of("m1").position, old.of("m1").position);
    assert_eq!((taken.of("m1").attempts, taken.of("m1").tries), (0, 0));
    s.publish(&taken).await;
    s.assert_empty().await;
}

/// Case 40: the dead letter was the key's only message; what arrives later waits for it, and nothing stays set aside without a block.
pub async fn case40_a_lone_dead_letter_holds_what_comes_later<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "old").await;
    s.kill("old", AfterDeath::Hold).await;
    assert_eq!(s.status().await.blocked, 1);
    for payload in numbered("m", 3) {
        s.save("k", &payload).await;
        assert!(s.drain().await.is_empty());
    }
    assert_eq!(s.status().await.held, 3);
    s.redrive().await;
    assert_eq!(s.drain().await, ["old", "m1", "m2", "m3"]);
    s.assert_empty().await;
}

/// Case 40 without the redrive: discarding the holding letter lets its key go on.
pub async fn case40_discarding_the_holding_letter_frees_its_key<H: Harness>() {
    for later in [0, 3] {
        let s = Scene::<H>::new().await;
        s.save("k", "old").await;
        s.kill("old", AfterDeath::Hold).await;
        s.save_run("k", &numbered("m", later)).await;
        assert!(s.drain().await.is_empty());
        assert_eq!(s.discard().await.count, 1);
        assert_eq!(s.drain().await, numbered("m", later));
        s.save("k", "next").await;
        let next = s.claim().await;
        assert_eq!(
            (next.payloads(), next.moved()),
            (vec!["next".to_owned()], 0)
        );
        s.publish(&next).await;
        s.assert_empty().await;
    }
}

/// O9: a held key stays held while messages of it that were released, scheduled or saved meet the claims.
pub async fn o9_a_held_key_outlives_every_claim<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.schedule("k", "joins", secs(10)).await;
    s.save_run("k", &numbered("m", 2)).await;
    s.kill("m1", AfterDeath::Hold).await;
    for _ in 0..4 {
        s.advance(secs(10)).await;
        assert!(s.claim().await.is_empty());
        let neighbor = s.keys_together(2).remove(1);
        s.save(&neighbor, "free").await;
        assert_eq!(s.drain().await, ["free"]);
    }
    s.redrive().await;
    assert_eq!(s.drain().await, ["joins", "m1", "m2"]);
}

/// O9: the key of a message that died in its waiting line goes on under skip.
pub async fn o9_a_head_that_dies_after_waiting_frees_its_line<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save_run("k", &numbered("m", 3)).await;
    let taken = s.claim().await;
    s.settle_all(&taken, &[("m1", retry(10))], &Outcome::Release)
        .await;
    s.claim().await;
    s.advance(secs(10)).await;
    s.kill("m1", AfterDeath::Skip).await;
    assert_eq!(s.drain().await, ["m2", "m3"]);
    s.save("k", "m4").await;
    let next = s.claim().await;
    assert_eq!((next.payloads(), next.moved()), (vec!["m4".to_owned()], 0));
}

/// O9: a head that died in its waiting line under hold keeps its place for the redrive.
pub async fn o9_a_head_that_dies_after_waiting_holds_its_line<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save_run("k", &numbered("m", 3)).await;
    let taken = s.claim().await;
    s.settle_all(&taken, &[("m1", retry(10))], &Outcome::Release)
        .await;
    s.claim().await;
    s.advance(secs(10)).await;
    s.kill("m1", AfterDeath::Hold).await;
    assert!(s.drain().await.is_empty());
    s.redrive().await;
    assert_eq!(s.drain().await, numbered("m", 3));
    s.assert_empty().await;
}

/// O9, case 40: the key's only message dies in its waiting line under hold; what arrives later waits for it.
pub async fn o9_a_lone_message_that_dies_after_waiting_holds_its_key<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "m1").await;
    let taken = s.claim().await;
    s.settle(&taken, &[("m1", retry(10))]).await;
    s.advance(secs(10)).await;
    s.kill("m1", AfterDeath::Hold).await;
    let status = s.status().await;
    assert_eq!((status.dead, status.blocked, status.held), (1, 1, 0));
    assert_eq!(status.blocked_keys[0].reason, BlockReason::Dead);
    s.save_run("k", &["m2".to_owned(), "m3".to_owned()]).await;
    s.advance(secs(600)).await;
    assert!(s.drain().await.is_empty(), "the key is held");
    let status = s.status().await;
    assert_eq!((status.blocked, status.held, status.ready), (1, 2, 0));
    assert_eq!(s.redrive().await.out_of_order, 0);
    assert_eq!(s.drain().await, numbered("m", 3));
    s.assert_empty().await;
}

/// O9: an older dead letter of a key that another one holds goes to the tail, behind the hold.
pub async fn o9_only_the_holding_letter_goes_back_to_its_place<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save_run("k", &numbered("m", 3)).await;
    s.kill("m1", AfterDeath::Skip).await;
    s.kill("m2", AfterDeath::Hold).await;
    let first = DeadPage {
        limit: 1,
        ..all_dead()
    };
    let stepped = s.store().redrive(&first).await.expect("it redrives");
    assert_eq!((stepped.count, stepped.out_of_order), (1, 1));
    assert!(s.drain().await.is_empty(), "the hold stands");
    assert_eq!(s.redrive().await.out_of_order, 0);
    assert_eq!(s.drain().await, ["m2", "m3", "m1"]);
}

/// O9: redrive while a relay holds later messages of the key: the settlement is unharmed, and the redriven message follows.
pub async fn o9_a_redrive_beside_a_holder_waits_its_turn<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save_run("k", &numbered("m", 3)).await;
    s.kill("m1", AfterDeath::Skip).await;
    let held = s.claim().await;
    assert_eq!(s.redrive().await.count, 1);
    assert!(s.claim().await.is_empty());
    s.publish(&held).await;
    assert_eq!(s.drain().await, ["m1"]);
}

/// O6, O9: a letter that is redriven or dropped while its key waits for another message changes nothing for that one.
pub async fn o6_a_key_that_waits_is_not_freed_by_an_older_dead_letter<H: Harness>() {
    for redriven in [false, true] {
        let s = Scene::<H>::new().await;
        s.save_run("k", &numbered("m", 3)).await;
        s.kill("m1", AfterDeath::Skip).await;
        let taken = s.claim().await;
        s.settle_all(&taken, &[("m2", retry(60))], &Outcome::Release)
            .await;
        if redriven {
            assert_eq!(s.redrive().await.out_of_order, 1);
        } else {
            assert_eq!(s.discard().await.count, 1);
        }
        assert!(s.drain().await.is_empty(), "the head still waits");
        s.advance(secs(60)).await;
        let expected = if redriven {
            vec!["m2", "m3", "m1"]
        } else {
            vec!["m2", "m3"]
        };
        assert_eq!(s.drain().await, expected);
        s.assert_empty().await;
    }
}

/// O9: a retry of an unkeyed letter: hold means nothing without a key.
pub async fn o9_an_unkeyed_letter_holds_nothing<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save(None::<&str>, "a").await;
    s.kill("a", AfterDeath::Hold).await;
    assert_eq!(s.status().await.blocked, 0);
    assert_eq!(s.redrive().await.out_of_order, 0);
    assert_eq!(s.drain().await, ["a"]);
}

/// A key that a dead letter holds waits for no retry.
pub async fn o9_a_held_key_cannot_be_retried_now<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "a").await;
    s.kill("a", AfterDeath::Hold).await;
    let retried = s.store().retry_now(&ordering_key("k")).await;
    assert!(!retried.expect("the store answers"));
    assert_eq!(s.status().await.blocked, 1);
}
