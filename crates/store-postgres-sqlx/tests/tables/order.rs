//! The order lock (contract O10): whoever saves a key in commit order waits for whoever did before, by whichever door.

use std::time::Duration;

use outbox_message::Message;
use outbox_store::{Save, SaveError, SaveOrder, Saved};
use sqlx::{Executor, Postgres, Transaction};

use crate::scratch::{Scratch, message};

fn once(message: &Message) -> Save<'_> {
    Save {
        once: Some(Duration::from_mins(1)),
        ..Save::from(message)
    }
}

fn in_commit_order(message: &Message) -> Save<'_> {
    Save {
        order: SaveOrder::Commit,
        ..Save::from(message)
    }
}

/// A transaction that waits for no lock: a save that would wait fails in it.
async fn impatient(scratch: &Scratch) -> Transaction<'static, Postgres> {
    let mut tx = scratch.pool().begin().await.unwrap();
    tx.execute("SET LOCAL lock_timeout = '1ms'").await.unwrap();
    tx
}

/// Whether a save in commit order would wait now.
async fn waits(scratch: &Scratch, saves: &[Save<'_>]) -> bool {
    let mut tx = impatient(scratch).await;
    let done = scratch.store.save_all(&mut tx, saves).await;
    // Now, and not when the connection is used again: what it locked is free then.
    tx.rollback().await.unwrap();
    match done {
        Ok(answers) => {
            assert!(answers.iter().all(|answer| answer.position().is_some()));
            false
        }
        Err(SaveError::Database(error)) => {
            assert!(error.to_string().contains("lock timeout"), "{error}");
            true
        }
        Err(error) => panic!("{error}"),
    }
}

async fn locks(scratch: &Scratch, tx: &mut Transaction<'static, Postgres>) -> i64 {
    let count = sqlx::query_scalar(scratch.schema.sql(
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()",
    ));
    count.fetch_one(&mut **tx).await.unwrap()
}

#[tokio::test]
async fn o10_the_function_and_the_store_lock_the_same() {
    let scratch = Scratch::new().await;
    let (mine, other) = (message(Some("k"), "mine"), message(Some("other"), "other"));
    let unkeyed = message(None, "unkeyed");
    let mut tx = scratch.pool().begin().await.unwrap();
    let save = "SELECT outbox.save('orders', 'first', key => 'k', in_commit_order => true)";
    tx.execute(sqlx::raw_sql(scratch.schema.sql(save)))
        .await
        .unwrap();
    assert!(waits(&scratch, &[in_commit_order(&mine)]).await);
    assert!(waits(&scratch, &[in_commit_order(&other), in_commit_order(&mine)]).await);
    assert!(
        !waits(
            &scratch,
            &[
                in_commit_order(&other),
                Save::from(&mine),
                in_commit_order(&unkeyed)
            ]
        )
        .await
    );
    tx.commit().await.unwrap();
    assert!(!waits(&scratch, &[in_commit_order(&mine)]).await);

    let mut tx = scratch.pool().begin().await.unwrap();
    scratch
        .store
        .save(&mut tx, in_commit_order(&mine))
        .await
        .unwrap();
    let mut other = impatient(&scratch).await;
    let saved = other.execute(sqlx::raw_sql(scratch.schema.sql(save))).await;
    assert!(saved.unwrap_err().to_string().contains("lock timeout"));
    other.rollback().await.unwrap();
    tx.rollback().await.unwrap();
    assert!(!waits(&scratch, &[in_commit_order(&mine)]).await);
}

#[tokio::test]
async fn o10_many_keys_at_once_are_one_lock_that_excludes_all_others() {
    let scratch = Scratch::new().await;
    let many: Vec<Message> = (0..500)
        .map(|n| message(Some(&format!("k{n}")), "many"))
        .collect();
    let many: Vec<Save<'_>> = many.iter().map(in_commit_order).collect();
    let lone = message(Some("lone"), "lone");

    let mut tx = scratch.pool().begin().await.unwrap();
    scratch.store.save_all(&mut tx, &many).await.unwrap();
    assert_eq!(locks(&scratch, &mut tx).await, 1);
    assert!(waits(&scratch, &[in_commit_order(&lone)]).await);
    assert!(
        !waits(&scratch, &[Save::from(&lone)]).await,
        "a plain save takes no lock"
    );
    tx.commit().await.unwrap();

    let mut tx = scratch.pool().begin().await.unwrap();
    scratch.store.save_all(&mut tx, &many[..20]).await.unwrap();
    assert!(
        locks(&scratch, &mut tx).await > 10,
        "a stripe for each, and the root shared"
    );
    assert!(waits(&scratch, &many).await);
    tx.commit().await.unwrap();
    assert!(!waits(&scratch, &many).await);
}

/// Schemas are outboxes of their own.
#[tokio::test]
async fn o10_another_schema_is_not_locked() {
    let (one, two) = (Scratch::new().await, Scratch::new().await);
    let order = message(Some("k"), "a");
    let mut tx = one.pool().begin().await.unwrap();
    one.store
        .save(&mut tx, in_commit_order(&order))
        .await
        .unwrap();
    assert!(!waits(&two, &[in_commit_order(&order)]).await);
    assert!(waits(&one, &[in_commit_order(&order)]).await);
}

/// Calls that lock the same keys in other orders do not wait for each other in a circle.
#[tokio::test(flavor = "multi_thread")]
async fn o10_calls_with_the_same_keys_in_any_order_end() {
    let scratch = Scratch::new().await;
    let messages: Vec<Message> = (0..40)
        .map(|n| message(Some(&format!("k{n}")), "x"))
        .collect();
    let mut tasks = Vec::new();
    for turn in 0..4 {
        let (store, pool, mut messages) = (
            scratch.store.clone(),
            scratch.pool().clone(),
            messages.clone(),
        );
        messages.rotate_left(turn * 10);
        tasks.push(tokio::spawn(async move {
            for _ in 0..20 {
                messages.reverse();
                let saves: Vec<Save<'_>> = messages.iter().map(in_commit_order).collect();
                let mut tx = pool.begin().await.unwrap();
                store.save_all(&mut tx, &saves).await.unwrap();
                tx.commit().await.unwrap();
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let saved = scratch
        .schema
        .count("SELECT count(*) FROM outbox.message")
        .await;
    assert_eq!(saved, 4 * 20 * 40);
}

/// C3: a save of an id that another transaction is saving waits, and is judged by how that ends; the transaction lives on.
#[tokio::test(flavor = "multi_thread")]
async fn c3_a_save_waits_for_the_other_save_of_its_id() {
    let scratch = Scratch::new().await;
    let (a, b) = (
        message(None, "a").with_id("one").unwrap(),
        message(None, "b").with_id("two").unwrap(),
    );
    for commits in [false, true] {
        let mut first = scratch.pool().begin().await.unwrap();
        scratch
            .store
            .save_all(&mut first, &[once(&a), once(&b)])
            .await
            .unwrap();
        let second = {
            let (store, pool, a, b) = (
                scratch.store.clone(),
                scratch.pool().clone(),
                a.clone(),
                b.clone(),
            );
            tokio::spawn(async move {
                let mut tx = pool.begin().await.unwrap();
                let saved = store
                    .save_all(&mut tx, &[once(&b), once(&a), Save::from(&a)])
                    .await
                    .unwrap();
                if saved.contains(&Saved::Duplicate) {
                    tx.commit().await.unwrap();
                } else {
                    tx.rollback().await.unwrap();
                }
                saved
            })
        };
        while scratch.waiting_for_locks().await == 0 {
            assert!(!second.is_finished(), "it did not wait");
        }
        if commits {
            first.commit().await.unwrap();
            let saved = second.await.unwrap();
            assert!(
                matches!(
                    saved[..],
                    [Saved::Duplicate, Saved::Duplicate, Saved::New(_)]
                ),
                "{saved:?}"
            );
        } else {
            first.rollback().await.unwrap();
            let saved = second.await.unwrap();
            assert!(
                saved.iter().all(|saved| matches!(saved, Saved::New(_))),
                "{saved:?}"
            );
        }
    }
    let mut out = scratch.drain().await;
    out.sort();
    assert_eq!(out, [b"a", b"a", b"b"]);
}
