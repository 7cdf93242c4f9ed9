//! Idempotent saves: one message for one id within a remembered time (C3).

use std::time::Duration;

use outbox_message::Message;
use outbox_store::{OutboxStore, OutboxWriter, Save, Saved};

use crate::{
    Harness,
    scene::{Scene, message, secs},
};

const DAY: Duration = Duration::from_hours(24);

fn once(message: &Message) -> Save<'_> {
    Save {
        once: Some(DAY),
        ..Save::from(message)
    }
}

fn with_id(payload: &str, id: &str) -> Message {
    message("k", payload)
        .with_id(id)
        .expect("a case's id is short")
}

/// C3: the second idempotent save of an id is a duplicate, in the same call, the same transaction and a later one.
pub async fn c3_an_idempotent_save_stores_one_message_for_one_id<H: Harness>() {
    let s = Scene::<H>::new().await;
    let (a, b) = (with_id("a", "one"), with_id("b", "two"));
    let mut tx = s.harness.begin().await;
    let saved = s
        .store()
        .save_all(H::connection(&mut tx), &[once(&a), once(&b), once(&a)])
        .await
        .expect("the saves keep the limits");
    assert!(matches!(
        saved[..],
        [Saved::New(_), Saved::New(_), Saved::Duplicate]
    ));
    let again = s.store().save(H::connection(&mut tx), once(&b)).await;
    assert_eq!(again.expect("a duplicate is no error"), Saved::Duplicate);
    s.harness.commit(tx).await;
    assert_eq!(s.try_save(once(&a)).await, Saved::Duplicate);
    assert_eq!(s.drain().await, ["a", "b"]);
}

/// C3: an id is remembered after its message is gone.
pub async fn c3_an_id_is_remembered_after_its_message_was_published<H: Harness>() {
    let s = Scene::<H>::new().await;
    let a = with_id("a", "one");
    s.try_save(once(&a)).await;
    assert_eq!(s.drain().await, ["a"]);
    assert_eq!(s.try_save(once(&a)).await, Saved::Duplicate);
    assert!(s.drain().await.is_empty());
}

/// C3: a duplicate does not fail the transaction.
pub async fn c3_a_duplicate_leaves_its_transaction_usable<H: Harness>() {
    let s = Scene::<H>::new().await;
    let (a, b) = (with_id("a", "one"), with_id("b", "two"));
    s.try_save(once(&a)).await;
    let mut tx = s.harness.begin().await;
    let dup = s.store().save(H::connection(&mut tx), once(&a)).await;
    assert_eq!(dup.expect("a duplicate is no error"), Saved::Duplicate);
    s.store()
        .save(H::connection(&mut tx), Save::from(&b))
        .await
        .expect("the transaction goes on");
    s.harness.commit(tx).await;
    assert_eq!(s.drain().await, ["a", "b"]);
}

/// C1, C3: an id whose transaction was rolled back was never saved.
pub async fn c3_a_rolled_back_idempotent_save_is_not_remembered<H: Harness>() {
    let s = Scene::<H>::new().await;
    let a = with_id("a", "one");
    let mut tx = s.harness.begin().await;
    s.store()
        .save(H::connection(&mut tx), once(&a))
        .await
        .expect("the save keeps the limits");
    s.harness.rollback(tx).await;
    assert!(matches!(s.try_save(once(&a)).await, Saved::New(_)));
}

/// C3: a plain save is not remembered, and does not look.
pub async fn c3_a_plain_save_is_not_remembered<H: Harness>() {
    let s = Scene::<H>::new().await;
    let a = with_id("a", "one");
    s.try_save(Save::from(&a)).await;
    assert!(matches!(s.try_save(once(&a)).await, Saved::New(_)));
    assert!(matches!(s.try_save(Save::from(&a)).await, Saved::New(_)));
}

/// C3: the remembered time ends, by the store's clock, and a save after it counts as the first again.
pub async fn c3_an_id_is_forgotten_after_its_remembered_time<H: Harness>() {
    let s = Scene::<H>::new().await;
    let a = with_id("a", "one");
    s.try_save(once(&a)).await;
    s.advance(DAY.saturating_sub(secs(60))).await;
    assert_eq!(s.try_save(once(&a)).await, Saved::Duplicate);
    s.advance(secs(60)).await;
    assert!(matches!(s.try_save(once(&a)).await, Saved::New(_)));
    assert_eq!(s.try_save(once(&a)).await, Saved::Duplicate);
}

/// C3: upkeep removes forgotten ids and no others.
pub async fn c3_upkeep_removes_only_forgotten_ids<H: Harness>() {
    let s = Scene::<H>::new().await;
    let old: Vec<_> = (0..3)
        .map(|n| with_id("old", &format!("old {n}")))
        .collect();
    for message in &old {
        s.try_save(once(message)).await;
    }
    s.advance(DAY / 2).await;
    let young = with_id("young", "young");
    s.try_save(once(&young)).await;
    let maintain = async || s.store().maintain().await.expect("the store maintains");
    assert_eq!(maintain().await, 0);
    s.advance(DAY / 2).await;
    assert_eq!(maintain().await, 3);
    assert_eq!(maintain().await, 0);
    assert_eq!(s.try_save(once(&young)).await, Saved::Duplicate);
}

/// C3: a remembered time of any length is taken, also one that has no end or no length.
pub async fn c3_any_remembered_time_is_taken<H: Harness>() {
    let s = Scene::<H>::new().await;
    let (a, b) = (with_id("a", "one"), with_id("b", "two"));
    let forever = Save {
        once: Some(Duration::MAX),
        ..Save::from(&a)
    };
    let never = Save {
        once: Some(Duration::ZERO),
        ..Save::from(&b)
    };
    assert!(matches!(s.try_save(forever).await, Saved::New(_)));
    assert_eq!(s.try_save(forever).await, Saved::Duplicate);
    assert!(matches!(s.try_save(never).await, Saved::New(_)));
    s.advance(secs(1)).await;
    assert!(matches!(s.try_save(never).await, Saved::New(_)));
    assert_eq!(s.try_save(forever).await, Saved::Duplicate);
}
