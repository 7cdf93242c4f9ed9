//! Deliveries at once: one handling for one id, whatever becomes of the others (I1, I2), and purges beside them (A5).

use std::time::Duration;

use outbox_message::MessageId;
use outbox_store::{Consumer, Handled, OutboxOperator, Purge, PurgeMode, SaveError};
use sqlx::{Acquire, Executor, PgConnection};
use tokio::task::JoinHandle;

use crate::scene::{Scene, Tx, secs};

const WRITER: &str = "-writer";

fn names(id: &str) -> (Consumer, MessageId) {
    (
        Consumer::new("billing").unwrap(),
        MessageId::new(id).unwrap(),
    )
}

impl Scene {
    async fn once(&self, tx: &mut PgConnection, id: &str) -> Handled {
        let (consumer, id) = names(id);
        self.store.once(tx, &consumer, &id).await.unwrap()
    }

    /// Handles in a task of its own, which gives the transaction back.
    fn handling(&self, mut tx: Tx, id: &str) -> JoinHandle<(Tx, Result<Handled, SaveError>)> {
        let (store, (consumer, id)) = (self.store.clone(), names(id));
        tokio::spawn(async move {
            let handled = store.once(&mut tx, &consumer, &id).await;
            (tx, handled)
        })
    }

    async fn handle(&self, id: &str) -> Handled {
        let mut tx = self.begin().await;
        let handled = self.once(&mut tx, id).await;
        tx.commit().await.unwrap();
        handled
    }

    async fn purge_inbox(&self) -> u64 {
        let purge = Purge {
            older_than: secs(1_000),
            inbox_older_than: Some(Duration::ZERO),
            limit: 100,
            mode: PurgeMode::Delete,
        };
        self.store.purge(&purge).await.unwrap().inbox
    }
}

#[tokio::test]
async fn i2_a_second_delivery_waits_for_the_first_and_is_a_duplicate_of_it() {
    let s = Scene::new().await;
    let (mut first, second) = (s.begin().await, s.begin().await);
    assert_eq!(s.once(&mut first, "1").await, Handled::First);
    let handling = s.handling(second, "1");
    s.until_it_waits(WRITER, &handling).await;
    // Another id, and another consumer, wait for nobody.
    assert_eq!(s.handle("2").await, Handled::First);
    first.commit().await.unwrap();
    let (mut second, handled) = handling.await.unwrap();
    assert_eq!(handled.unwrap(), Handled::Duplicate);
    // The transaction goes on.
    s.save_in(&mut second, "k", "beside").await;
    second.commit().await.unwrap();
    assert_eq!(s.relay("a").drain().await, ["beside"]);
}

#[tokio::test]
async fn i2_a_second_delivery_is_handled_when_the_first_is_rolled_back() {
    let s = Scene::new().await;
    let (mut first, second) = (s.begin().await, s.begin().await);
    assert_eq!(s.once(&mut first, "1").await, Handled::First);
    let handling = s.handling(second, "1");
    s.until_it_waits(WRITER, &handling).await;
    first.rollback().await.unwrap();
    let (second, handled) = handling.await.unwrap();
    assert_eq!(handled.unwrap(), Handled::First);
    second.commit().await.unwrap();
    assert_eq!(s.handle("1").await, Handled::Duplicate);
}

/// Of many deliveries at once exactly one is handled, also when some of those who were first give up.
#[tokio::test]
async fn i2_of_many_deliveries_at_once_one_is_handled() {
    let s = Scene::new().await;
    let deliver = |number: usize| {
        let (store, writers, (consumer, id)) =
            (s.store.clone(), s.writers.clone(), names("the same"));
        tokio::spawn(async move {
            let mut tx = writers.begin().await.unwrap();
            let handled = store.once(&mut tx, &consumer, &id).await.unwrap();
            if handled == Handled::First && number.is_multiple_of(2) {
                tx.rollback().await.unwrap();
                return 0;
            }
            tx.commit().await.unwrap();
            usize::from(handled == Handled::First)
        })
    };
    let deliveries: Vec<_> = (0..40).map(deliver).collect();
    let mut handled = 0;
    for delivery in deliveries {
        handled += delivery.await.unwrap();
    }
    assert_eq!(handled, 1);
}

/// A savepoint that is rolled back forgets the id at once, and lets the other delivery go on while the transaction is still open.
#[tokio::test]
async fn i1_a_savepoint_that_is_rolled_back_forgets() {
    let s = Scene::new().await;
    let (mut first, second) = (s.begin().await, s.begin().await);
    let mut savepoint = first.begin().await.unwrap();
    assert_eq!(s.once(&mut savepoint, "1").await, Handled::First);
    let handling = s.handling(second, "1");
    s.until_it_waits(WRITER, &handling).await;
    savepoint.rollback().await.unwrap();
    let (second, handled) = handling.await.unwrap();
    assert_eq!(handled.unwrap(), Handled::First);
    // Now the first one waits.
    let again = s.handling(first, "1");
    s.until_it_waits(WRITER, &again).await;
    second.commit().await.unwrap();
    let (first, handled) = again.await.unwrap();
    assert_eq!(handled.unwrap(), Handled::Duplicate);
    first.commit().await.unwrap();
}

#[tokio::test]
async fn i1_a_savepoint_that_is_released_belongs_to_its_transaction() {
    let s = Scene::new().await;
    for (commits, told) in [(false, Handled::First), (true, Handled::First)] {
        let mut tx = s.begin().await;
        let mut savepoint = tx.begin().await.unwrap();
        assert_eq!(s.once(&mut savepoint, "1").await, told);
        savepoint.commit().await.unwrap();
        assert_eq!(s.once(&mut tx, "1").await, Handled::Duplicate);
        if commits {
            tx.commit().await.unwrap();
        } else {
            tx.rollback().await.unwrap();
        }
    }
    assert_eq!(s.handle("1").await, Handled::Duplicate);
}

#[tokio::test]
async fn i2_deliveries_of_two_ids_in_opposite_orders_end_in_one_conflict() {
    let s = Scene::new().await;
    let (mut first, mut second) = (s.begin().await, s.begin().await);
    assert_eq!(s.once(&mut first, "a").await, Handled::First);
    assert_eq!(s.once(&mut second, "b").await, Handled::First);
    let first = s.handling(first, "b");
    s.until_it_waits(WRITER, &first).await;
    let second = s.handling(second, "a");
    let mut conflicts = 0;
    for handling in [first, second] {
        match handling.await.unwrap() {
            (tx, Ok(Handled::First)) => tx.commit().await.unwrap(),
            (_, Err(SaveError::Conflict(_))) => conflicts += 1,
            (_, handled) => panic!("{handled:?}"),
        }
    }
    assert_eq!(conflicts, 1);
    for id in ["a", "b"] {
        assert_eq!(s.handle(id).await, Handled::Duplicate);
    }
}

#[tokio::test]
async fn i2_a_delivery_waits_for_a_purge_of_its_id_and_goes_by_what_became_of_it() {
    for (commits, told) in [(true, Handled::First), (false, Handled::Duplicate)] {
        let s = Scene::new().await;
        assert_eq!(s.handle("1").await, Handled::First);
        // The statement of a purge, in a transaction that is stopped before its end.
        let mut purging = s.pool.begin().await.unwrap();
        let purged = purging.execute(s.sql("DELETE FROM outbox.inbox")).await;
        assert_eq!(purged.unwrap().rows_affected(), 1);
        let handling = s.handling(s.begin().await, "1");
        s.until_it_waits(WRITER, &handling).await;
        if commits {
            purging.commit().await.unwrap();
        } else {
            purging.rollback().await.unwrap();
        }
        let (tx, handled) = handling.await.unwrap();
        assert_eq!(handled.unwrap(), told);
        tx.commit().await.unwrap();
        assert_eq!(s.handle("1").await, Handled::Duplicate);
    }
}

/// A purge waits neither for a delivery of an id that it would forget nor for one that forgets it, and takes nothing from them.
#[tokio::test]
async fn a5_a_purge_waits_for_no_delivery() {
    let s = Scene::new().await;
    for id in ["old", "forgotten"] {
        assert_eq!(s.handle(id).await, Handled::First);
    }
    let (mut forgetting, mut duplicate, mut new) =
        (s.begin().await, s.begin().await, s.begin().await);
    let (consumer, id) = names("forgotten");
    let forgotten = s.store.forget(&mut forgetting, &consumer, &id).await;
    assert!(forgotten.unwrap());
    assert_eq!(s.once(&mut duplicate, "old").await, Handled::Duplicate);
    assert_eq!(s.once(&mut new, "new").await, Handled::First);
    assert_eq!(s.purge_inbox().await, 1, "that of the duplicate");
    for tx in [forgetting, duplicate, new] {
        tx.commit().await.unwrap();
    }
    for (id, told) in [
        ("old", Handled::First),
        ("forgotten", Handled::First),
        ("new", Handled::Duplicate),
    ] {
        assert_eq!(s.handle(id).await, told, "{id}");
    }
}
