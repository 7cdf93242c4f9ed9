//! The inbox: one handling for one id and consumer (obligations I1 to I6), and how long ids are kept (A5).

use std::time::Duration;

use outbox_message::{Message, MessageId};
use outbox_store::{
    AfterDeath, Consumer, Handled, InboxWriter, OutboxOperator, OutboxStore, OutboxWriter, Purge,
    PurgeMode, Purged, Save, SaveError, StoreError,
};

use crate::{
    Harness,
    scene::{Scene, TOPIC, message},
};

const HOUR: Duration = Duration::from_hours(1);

fn consumer(name: &str) -> Consumer {
    Consumer::new(name).expect("a case's consumer is short")
}

fn id(text: &str) -> MessageId {
    MessageId::new(text).expect("a case's id is short")
}

/// What the cases do over and over, as the consumer "a" unless they say another.
impl<H: Harness> Scene<H> {
    async fn once_as(&self, tx: &mut H::Transaction, name: &str, text: &str) -> Handled {
        let (name, text) = (consumer(name), id(text));
        let handled = self.store().once(H::connection(tx), &name, &text).await;
        handled.expect("the store records")
    }

    async fn once_in(&self, tx: &mut H::Transaction, text: &str) -> Handled {
        self.once_as(tx, "a", text).await
    }

    async fn forget_as(&self, tx: &mut H::Transaction, name: &str, text: &str) -> bool {
        let (name, text) = (consumer(name), id(text));
        let forgotten = self.store().forget(H::connection(tx), &name, &text).await;
        forgotten.expect("the store forgets")
    }

    async fn forget_in(&self, tx: &mut H::Transaction, text: &str) -> bool {
        self.forget_as(tx, "a", text).await
    }

    /// Commits or rolls back.
    async fn end(&self, tx: H::Transaction, commits: bool) {
        if commits {
            self.harness.commit(tx).await;
        } else {
            self.harness.rollback(tx).await;
        }
    }

    /// Handles in a transaction of its own.
    async fn once(&self, text: &str) -> Handled {
        let mut tx = self.harness.begin().await;
        let handled = self.once_in(&mut tx, text).await;
        self.harness.commit(tx).await;
        handled
    }

    async fn purge_inbox(&self, older_than: Duration) -> Result<Purged, StoreError> {
        let purge = Purge {
            inbox_older_than: Some(older_than),
            ..step()
        };
        self.store().purge(&purge).await
    }
}

/// A step of a purge that touches nothing young, and not the inbox.
fn step() -> Purge {
    Purge {
        older_than: 1_000 * HOUR,
        inbox_older_than: None,
        limit: 1_000,
        mode: PurgeMode::Delete,
    }
}

fn forgot(inbox: u64) -> Purged {
    Purged {
        inbox,
        ..Purged::default()
    }
}

/// I1, I3: the first handling is told from every later one, in its own transaction and in others; each id and each consumer for itself.
pub async fn i1_an_id_is_handled_once_by_each_consumer<H: Harness>() {
    let s = Scene::<H>::new().await;
    let mut tx = s.harness.begin().await;
    assert_eq!(s.once_in(&mut tx, "one").await, Handled::First);
    assert_eq!(s.once_in(&mut tx, "one").await, Handled::Duplicate);
    assert_eq!(s.once_in(&mut tx, "two").await, Handled::First);
    assert_eq!(s.once_as(&mut tx, "b", "one").await, Handled::First);
    s.harness.commit(tx).await;
    assert_eq!(s.once("one").await, Handled::Duplicate);
    assert_eq!(s.once("two").await, Handled::Duplicate);
    assert_eq!(s.once("three").await, Handled::First);
}

/// I1: a handling that was rolled back, or whose transaction was dropped, never was.
pub async fn i1_a_rolled_back_handling_is_forgotten<H: Harness>() {
    let s = Scene::<H>::new().await;
    for drop_it in [false, true] {
        let mut tx = s.harness.begin().await;
        assert_eq!(s.once_in(&mut tx, "one").await, Handled::First);
        if drop_it {
            drop(tx);
        } else {
            s.harness.rollback(tx).await;
        }
    }
    assert_eq!(s.once("one").await, Handled::First);
    assert_eq!(s.once("one").await, Handled::Duplicate);
}

/// C1, I1: what a handler saves is saved if and only if its handling is recorded.
pub async fn i1_a_handler_saves_in_the_same_transaction<H: Harness>() {
    let s = Scene::<H>::new().await;
    let reply = message("k", "reply");
    for committed in [false, true] {
        let mut tx = s.harness.begin().await;
        assert_eq!(s.once_in(&mut tx, "one").await, Handled::First);
        let saved = s.store().save(H::connection(&mut tx), Save::from(&reply));
        saved.await.expect("the save keeps the limits");
        s.end(tx, committed).await;
    }
    assert_eq!(s.once("one").await, Handled::Duplicate);
    assert_eq!(s.drain().await, ["reply"]);
}

/// I1: a duplicate leaves its transaction as it was.
pub async fn i1_a_duplicate_leaves_its_transaction_usable<H: Harness>() {
    let s = Scene::<H>::new().await;
    assert_eq!(s.once("one").await, Handled::First);
    let mut tx = s.harness.begin().await;
    assert_eq!(s.once_in(&mut tx, "one").await, Handled::Duplicate);
    let beside = message("k", "beside");
    let saved = s.store().save(H::connection(&mut tx), Save::from(&beside));
    saved.await.expect("the transaction goes on");
    s.harness.commit(tx).await;
    assert_eq!(s.drain().await, ["beside"]);
}

/// I3: ids and consumers are compared byte for byte, whatever they look like, and at their full length.
pub async fn i3_ids_are_compared_byte_for_byte<H: Harness>() {
    let s = Scene::<H>::new().await;
    let long = |last: &str| format!("{}{last}", "i".repeat(254));
    let (x, y) = (long("x"), long("y"));
    let ids = [
        "a", "A", "a ", " a", "é", "e\u{301}", "'; --", "%", "\n", "1", "01", &x, &y,
    ];
    for text in ids {
        assert_eq!(s.once(text).await, Handled::First, "{text:?}");
    }
    for text in ids {
        assert_eq!(s.once(text).await, Handled::Duplicate, "{text:?}");
    }
    let mut tx = s.harness.begin().await;
    for name in ["A", "ä", &"c".repeat(255)] {
        assert_eq!(s.once_as(&mut tx, name, "a").await, Handled::First);
    }
    s.harness.rollback(tx).await;
}

/// I4: without an open transaction nothing is recorded, and nothing is forgotten.
pub async fn i4_a_handling_without_a_transaction_is_refused<H: Harness>() {
    let s = Scene::<H>::new().await;
    let answer = s.harness.once_outside(&consumer("a"), &id("one")).await;
    if let Some(answer) = answer {
        assert!(
            matches!(answer, Err(SaveError::NoTransaction { .. })),
            "{answer:?}"
        );
    }
    assert_eq!(s.once("one").await, Handled::First);
}

/// I6: a forgotten id is handled again; what a transaction forgets and rolls back stays.
pub async fn i6_a_forgotten_id_is_handled_again<H: Harness>() {
    let s = Scene::<H>::new().await;
    assert_eq!(s.once("one").await, Handled::First);
    let mut tx = s.harness.begin().await;
    assert!(!s.forget_in(&mut tx, "never").await);
    assert!(s.forget_in(&mut tx, "one").await);
    assert!(!s.forget_in(&mut tx, "one").await);
    assert_eq!(s.once_in(&mut tx, "one").await, Handled::First);
    assert!(s.forget_in(&mut tx, "one").await);
    s.harness.rollback(tx).await;
    assert_eq!(s.once("one").await, Handled::Duplicate);

    let mut tx = s.harness.begin().await;
    assert!(s.forget_in(&mut tx, "one").await);
    s.harness.commit(tx).await;
    assert_eq!(s.once("one").await, Handled::First);

    let mut tx = s.harness.begin().await;
    assert!(!s.forget_as(&mut tx, "b", "one").await);
    s.harness.commit(tx).await;
    assert_eq!(s.once("one").await, Handled::Duplicate);
}

/// I2: of two handlings at the same time the second waits for the first, and is told what became of it.
pub async fn i2_a_second_handling_waits_for_the_first<H: Harness>() {
    if !H::CAPABILITIES.concurrent_writers {
        return;
    }
    let s = Scene::<H>::new().await;
    for (text, commits, told) in [
        ("committed", true, Handled::Duplicate),
        ("rolled back", false, Handled::First),
    ] {
        let (mut one, mut two) = (s.harness.begin().await, s.harness.begin().await);
        assert_eq!(s.once_in(&mut one, text).await, Handled::First);
        let (handled, ()) = tokio::join!(s.once_in(&mut two, text), s.end(one, commits));
        assert_eq!(handled, told, "{text}");
        s.harness.commit(two).await;
        assert_eq!(s.once(text).await, Handled::Duplicate);
    }
}

/// I2: a handling waits for a transaction that forgets the id, and is told what became of that.
pub async fn i2_a_handling_waits_for_one_that_forgets<H: Harness>() {
    if !H::CAPABILITIES.concurrent_writers {
        return;
    }
    let s = Scene::<H>::new().await;
    for (text, commits, told) in [
        ("committed", true, Handled::First),
        ("rolled back", false, Handled::Duplicate),
    ] {
        assert_eq!(s.once(text).await, Handled::First);
        let (mut one, mut two) = (s.harness.begin().await, s.harness.begin().await);
        assert!(s.forget_in(&mut one, text).await);
        let (handled, ()) = tokio::join!(s.once_in(&mut two, text), s.end(one, commits));
        assert_eq!(handled, told, "{text}");
        s.harness.commit(two).await;
        assert_eq!(s.once(text).await, Handled::Duplicate);
    }
}

/// A5, I6: a purge forgets ids of the inbox only if it is asked to, of the age asked, in bounded steps, and counts without a change.
pub async fn a5_a_purge_forgets_handled_ids_of_the_age_asked<H: Harness>() {
    let s = Scene::<H>::new().await;
    for text in ["1", "2", "3"] {
        assert_eq!(s.once(text).await, Handled::First);
    }
    s.advance(2 * HOUR).await;
    for text in ["4", "5"] {
        assert_eq!(s.once(text).await, Handled::First);
    }
    let everything = Purge {
        older_than: Duration::ZERO,
        ..step()
    };
    assert_eq!(s.purge(&everything).await, forgot(0));

    let two = Purge {
        inbox_older_than: Some(HOUR),
        limit: 2,
        ..step()
    };
    let counted = Purge {
        mode: PurgeMode::Count,
        ..two
    };
    let more = Purged {
        more: true,
        ..forgot(2)
    };
    assert_eq!(s.purge(&counted).await, more);
    let counted = Purge {
        limit: 10,
        ..counted
    };
    assert_eq!(s.purge(&counted).await, forgot(3));
    assert_eq!(s.purge(&two).await, more);
    assert_eq!(s.purge(&two).await, forgot(1));
    assert_eq!(s.purge(&two).await, forgot(0));
    for text in ["4", "5"] {
        assert_eq!(s.once(text).await, Handled::Duplicate);
    }
    for text in ["1", "2", "3"] {
        assert_eq!(s.once(text).await, Handled::First);
    }
    let never = s.purge_inbox(Duration::MAX).await;
    assert_eq!(never.expect("the store purges"), forgot(0));
    let all = s.purge_inbox(Duration::ZERO).await;
    assert_eq!(all.expect("the store purges"), forgot(5));
}

/// A5: while a dead letter is older than the ids that would go none goes, nor anything else: the letter's redrive could be handled twice.
pub async fn a5_a_purge_keeps_what_an_old_dead_letter_may_need<H: Harness>() {
    let s = Scene::<H>::new().await;
    let letter = message("k", "letter")
        .with_id("the letter")
        .expect("a case's id is short");
    s.put(&letter).await;
    s.advance(HOUR).await;
    s.kill("letter", AfterDeath::Skip).await;
    assert_eq!(s.once("the letter").await, Handled::First);
    let forgettable = message("k", "out");
    let saved = Save {
        once: Some(HOUR / 2),
        ..Save::from(&forgettable)
    };
    s.try_save(saved).await;
    assert_eq!(s.drain().await, ["out"]);
    s.advance(HOUR).await;

    for mode in [PurgeMode::Count, PurgeMode::Delete] {
        let asked = HOUR + HOUR / 2;
        let purge = Purge {
            inbox_older_than: Some(asked),
            mode,
            ..step()
        };
        let refused = s.store().purge(&purge).await;
        let Err(StoreError::DeadLetterNeedsInbox {
            id,
            topic,
            age,
            older_than,
        }) = refused
        else {
            panic!("{refused:?}");
        };
        assert_eq!((&*id, &*topic), ("the letter", TOPIC));
        assert_eq!(older_than, asked);
        // By the time it was saved, not by that of its death.
        assert!((2 * HOUR..3 * HOUR).contains(&age), "{age:?}");
    }
    let ids = s.purge(&step()).await.ids;
    assert_eq!(ids, 1, "what was refused did nothing else either");
    assert_eq!(s.once("the letter").await, Handled::Duplicate);

    // An age that the letter has not reached is none that it needs.
    let kept = s.purge_inbox(3 * HOUR).await;
    assert_eq!(kept.expect("the store purges"), forgot(0));
    s.discard().await;
    let purged = s.purge_inbox(HOUR / 2).await;
    assert_eq!(purged.expect("the store purges"), forgot(1));
}

/// I6: upkeep forgets ids when their time is over, and no others; a store that is not told a time keeps them.
pub async fn i6_upkeep_forgets_handled_ids_after_their_time<H: Harness>() {
    let s = Scene::<H>::new().await;
    assert_eq!(s.once("kept").await, Handled::First);
    s.advance(1_000 * HOUR).await;
    assert_eq!(s.store().maintain().await.expect("it keeps house"), 0);
    assert_eq!(s.once("kept").await, Handled::Duplicate);

    let Some(s) = Scene::<H>::keeping_inbox(2 * HOUR).await else {
        return;
    };
    let upkeep = async || s.store().maintain().await.expect("it keeps house");
    assert_eq!(s.once("old").await, Handled::First);
    s.advance(HOUR).await;
    assert_eq!(s.once("young").await, Handled::First);
    assert_eq!(upkeep().await, 0);
    s.advance(HOUR).await;
    assert_eq!(upkeep().await, 1);
    s.advance(HOUR / 2).await;
    assert_eq!(upkeep().await, 0);
    assert_eq!(s.once("young").await, Handled::Duplicate);
    assert_eq!(s.once("old").await, Handled::First);
}

/// I6: beside a dead letter that is older than ids are kept upkeep does everything else, and says why it keeps them.
pub async fn i6_upkeep_keeps_handled_ids_beside_an_old_dead_letter<H: Harness>() {
    let Some(s) = Scene::<H>::keeping_inbox(2 * HOUR).await else {
        return;
    };
    s.save("k", "letter").await;
    s.kill("letter", AfterDeath::Skip).await;
    assert_eq!(s.once("one").await, Handled::First);
    let remembered: Message = message("k", "out");
    let saved = Save {
        once: Some(HOUR),
        ..Save::from(&remembered)
    };
    s.try_save(saved).await;
    s.drain().await;
    s.advance(3 * HOUR).await;
    let refused = s.store().maintain().await;
    assert!(
        matches!(refused, Err(StoreError::DeadLetterNeedsInbox { .. })),
        "{refused:?}"
    );
    assert_eq!(s.purge(&step()).await.ids, 0, "upkeep forgot it");
    assert_eq!(s.once("one").await, Handled::Duplicate);
    s.discard().await;
    s.advance(HOUR).await;
    assert_eq!(s.store().maintain().await.expect("it keeps house"), 1);
    assert_eq!(s.once("one").await, Handled::First);
}
