//! Databases whose transactions are stricter than READ COMMITTED by default.

use std::time::Duration;

use outbox_message::MessageId;
use outbox_store::{Consumer, Handled, OutboxStore, Save, SaveError, Saved};
use outbox_store_postgres_sqlx::PostgresConfig;
use sqlx::Executor;

use crate::scratch::{Scratch, message, published, request};

const STRICTER: [&str; 2] = ["repeatable read", "serializable"];

async fn with_default(isolation: &str) -> Scratch {
    Scratch::with(PostgresConfig::default(), 10, |options| {
        options.options([("default_transaction_isolation", isolation)])
    })
    .await
}

#[tokio::test]
async fn relays_and_writers_at_once_work_whatever_the_default() {
    for isolation in STRICTER {
        let scratch = with_default(isolation).await;
        let write = async |writer: usize| {
            let mut saved = 0;
            while saved < 30 {
                let key = format!("key-{}", (writer * 7 + saved) % 11);
                let mut tx = scratch.pool().begin().await.unwrap();
                let order = message(Some(&key), saved.to_string());
                let done = scratch.store.save(&mut tx, &order).await;
                // A writer at a stricter level may have to try again.
                match done {
                    Ok(_) if tx.commit().await.is_ok() => saved += 1,
                    Ok(_) | Err(SaveError::Conflict(_)) => {}
                    Err(error) => panic!("{isolation}: {error}"),
                }
            }
        };
        let relay = async || {
            let (mut published_so_far, mut idle) = (0, 0);
            while idle < 50 {
                let claim = scratch.store.claim(&request(5)).await.unwrap();
                idle = if claim.entries.is_empty() {
                    idle + 1
                } else {
                    0
                };
                if !claim.lanes.is_empty() {
                    published_so_far += claim.entries.len();
                    let lanes = published(&claim);
                    scratch.store.settle(&lanes).await.unwrap();
                }
            }
            published_so_far
        };
        let (first, second, (), ()) = tokio::join!(relay(), relay(), write(0), write(1));
        let rest = scratch.drain().await.len();
        assert_eq!(first + second + rest, 60, "{isolation}");
    }
}

#[tokio::test]
async fn c3_an_idempotent_save_that_meets_a_newer_one_at_a_stricter_level_is_a_conflict() {
    let scratch = with_default("repeatable read").await;
    let order = message(None, "once");
    let once = Save {
        once: Some(Duration::from_mins(1)),
        ..Save::from(&order)
    };
    let mut late = scratch.pool().begin().await.unwrap();
    late.execute("SELECT 1").await.unwrap();
    let mut early = scratch.pool().begin().await.unwrap();
    scratch.store.save(&mut early, once).await.unwrap();
    early.commit().await.unwrap();
    let conflict = scratch.store.save(&mut late, once).await;
    assert!(
        matches!(conflict, Err(SaveError::Conflict(_))),
        "{conflict:?}"
    );
    late.rollback().await.unwrap();

    let mut again = scratch.pool().begin().await.unwrap();
    let saved = scratch.store.save(&mut again, once).await;
    assert_eq!(saved.unwrap(), Saved::Duplicate);
}

#[tokio::test]
async fn a_save_that_the_server_cannot_order_is_a_conflict() {
    let scratch = with_default("serializable").await;
    let (mut first, mut second) = (
        scratch.pool().begin().await.unwrap(),
        scratch.pool().begin().await.unwrap(),
    );
    // Each reads what the other is to write.
    scratch.store.pending(&mut first).await.unwrap();
    scratch.store.pending(&mut second).await.unwrap();
    let (one, two) = (message(None, "1"), message(None, "2"));
    scratch.store.save(&mut first, &one).await.unwrap();
    first.commit().await.unwrap();
    let conflict = scratch.store.save(&mut second, &two).await;
    let Err(error @ SaveError::Conflict(_)) = conflict else {
        panic!("{conflict:?}");
    };
    assert!(error.to_string().contains("can be tried again"), "{error}");
}

#[tokio::test]
async fn i2_a_delivery_that_meets_a_newer_handling_at_a_stricter_level_is_a_conflict() {
    let (consumer, id) = (
        Consumer::new("billing").unwrap(),
        MessageId::new("1").unwrap(),
    );
    for isolation in STRICTER {
        let scratch = with_default(isolation).await;
        let mut late = scratch.pool().begin().await.unwrap();
        late.execute("SELECT 1").await.unwrap();
        let mut early = scratch.pool().begin().await.unwrap();
        let handled = scratch.store.once(&mut early, &consumer, &id).await;
        assert_eq!(handled.unwrap(), Handled::First);
        early.commit().await.unwrap();
        let conflict = scratch.store.once(&mut late, &consumer, &id).await;
        assert!(
            matches!(conflict, Err(SaveError::Conflict(_))),
            "{isolation}: {conflict:?}"
        );
        late.rollback().await.unwrap();

        let mut again = scratch.pool().begin().await.unwrap();
        let handled = scratch.store.once(&mut again, &consumer, &id).await;
        assert_eq!(handled.unwrap(), Handled::Duplicate, "{isolation}");
    }
}
