//! The writer side: what the caller's transaction must be, and what is left of it.

use std::{
    pin::pin,
    task::{Context, Waker},
    time::Duration,
};

use outbox_message::Message;
use outbox_store::{Due, OutboxWriter, Save, SaveError, Saved};
use sqlx::{Connection, SqliteConnection};

use crate::scratch::{Scratch, message};

#[tokio::test]
async fn c1_a_connection_without_a_transaction_is_refused() {
    let scratch = Scratch::new().await;
    let mut connection = scratch.pool.acquire().await.unwrap();
    let refused = scratch
        .store
        .save(&mut connection, &message(None, "x"))
        .await;
    let Err(error @ SaveError::NoTransaction { .. }) = refused else {
        panic!("{refused:?}");
    };
    assert!(error.to_string().contains("BEGIN IMMEDIATE"));
    let refused = scratch.store.save_all(&mut connection, &[]).await;
    assert!(matches!(refused, Err(SaveError::NoTransaction { .. })));
    assert_eq!(
        scratch.count("SELECT count(*) FROM outbox_message").await,
        0
    );
}

#[tokio::test]
async fn c1_a_transaction_that_sqlite_rolled_back_is_none_whatever_the_driver_believes() {
    let scratch = Scratch::new().await;
    scratch
        .sql("CREATE TABLE orders (id INTEGER PRIMARY KEY)")
        .await;
    let mut tx = scratch.pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
    sqlx::query("INSERT INTO orders VALUES (1)")
        .execute(&mut *tx)
        .await
        .unwrap();
    let clash = sqlx::query("INSERT OR ROLLBACK INTO orders VALUES (1)").execute(&mut *tx);
    clash.await.unwrap_err();
    let refused = scratch.store.save(&mut tx, &message(None, "x")).await;
    assert!(matches!(refused, Err(SaveError::NoTransaction { .. })));
}

#[tokio::test]
async fn c1_a_savepoint_is_a_transaction_and_its_rollback_takes_the_message_back() {
    let scratch = Scratch::new().await;
    let mut tx = scratch.pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
    scratch
        .store
        .save(&mut tx, &message(None, "outer"))
        .await
        .unwrap();
    let mut inner = tx.begin().await.unwrap();
    scratch
        .store
        .save(&mut inner, &message(None, "inner"))
        .await
        .unwrap();
    inner.rollback().await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(scratch.drain(10).await, [b"outer"]);
}

#[tokio::test]
async fn c1_a_save_that_is_dropped_midway_leaves_no_transaction_behind() {
    let scratch = Scratch::new().await;
    // With each number of polls the future is dropped at another place.
    for polls in 0..12 {
        let mut connection = scratch.pool.acquire().await.unwrap();
        {
            let text = message(None, "never");
            let mut save = pin!(scratch.store.save(&mut connection, &text));
            for _ in 0..polls {
                let mut context = Context::from_waker(Waker::noop());
                if save.as_mut().poll(&mut context).is_ready() {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
        // A connection with an open transaction could not begin one.
        let mut tx = connection.begin_with("BEGIN IMMEDIATE").await.unwrap();
        scratch
            .store
            .save(&mut tx, &message(None, "kept"))
            .await
            .unwrap();
        tx.rollback().await.unwrap();
    }
    assert_eq!(
        scratch.count("SELECT count(*) FROM outbox_message").await,
        0
    );
}

#[tokio::test]
async fn o10_save_all_keeps_the_order_beside_duplicates_and_scheduled_ones() {
    let scratch = Scratch::new().await;
    let messages: Vec<Message> = (0..5)
        .map(|n| {
            message(Some("a"), n.to_string())
                .with_id(["x", "y", "x", "z", "x"][n])
                .unwrap()
        })
        .collect();
    let once = Some(Duration::from_mins(1));
    let saves = [
        Save {
            once,
            ..Save::from(&messages[0])
        },
        Save {
            due: Some(Due::After(Duration::from_mins(1))),
            ..Save::from(&messages[1])
        },
        Save {
            once,
            ..Save::from(&messages[2])
        },
        Save::from(&messages[3]),
        Save {
            once,
            ..Save::from(&messages[4])
        },
    ];
    let mut tx = scratch.pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
    let answers = scratch.store.save_all(&mut tx, &saves).await.unwrap();
    let again = scratch.store.save(&mut tx, saves[0]).await.unwrap();
    tx.commit().await.unwrap();
    let positions: Vec<Option<i64>> = answers.iter().map(|s| Some(s.position()?.0)).collect();
    assert_eq!(positions, [Some(1), Some(2), None, Some(3), None]);
    assert_eq!(again, Saved::Duplicate);
    assert_eq!(
        scratch.count("SELECT position FROM outbox_scheduled").await,
        2
    );
    assert_eq!(scratch.drain(10).await, [b"0", b"3"]);
}

#[tokio::test]
async fn c3_an_id_is_not_remembered_when_its_message_could_not_be_written() {
    let once = Some(Duration::from_mins(1));
    let later = Some(Due::After(Duration::from_mins(1)));
    for due in [None, later] {
        for together in [false, true] {
            let scratch = Scratch::new().await;
            // A disk that is full at this moment looks like this: the statement fails and the transaction lives.
            scratch
                .sql(
                    "CREATE TRIGGER full_line BEFORE INSERT ON outbox_message BEGIN SELECT RAISE(ABORT, 'full'); END;
                     CREATE TRIGGER full_later BEFORE INSERT ON outbox_scheduled BEGIN SELECT RAISE(ABORT, 'full'); END;",
                )
                .await;
            let text = message(Some("a"), "x").with_id("the-id").unwrap();
            let save = Save {
                once,
                due,
                ..Save::from(&text)
            };
            let attempt = async || {
                let mut tx = scratch.pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
                let saved = if together {
                    let saved = scratch.store.save_all(&mut tx, &[save]).await;
                    saved.map(|saved| saved[0])
                } else {
                    scratch.store.save(&mut tx, save).await
                };
                tx.commit().await.unwrap();
                saved
            };
            let failed = attempt().await;
            assert!(matches!(failed, Err(SaveError::Database(_))), "{failed:?}");
            scratch
                .sql("DROP TRIGGER full_line; DROP TRIGGER full_later;")
                .await;
            assert!(matches!(attempt().await.unwrap(), Saved::New(_)));
            assert_eq!(attempt().await.unwrap(), Saved::Duplicate);
            let stored = "SELECT (SELECT count(*) FROM outbox_message) + (SELECT count(*) FROM outbox_scheduled)";
            assert_eq!(scratch.count(stored).await, 1);
        }
    }
}

#[tokio::test]
async fn keyless_messages_spread_over_the_lanes() {
    let scratch = Scratch::new().await;
    let messages: Vec<Message> = (0..200).map(|_| message(None, "x")).collect();
    scratch.save(&messages).await;
    let lanes = "SELECT count(DISTINCT lane) FROM outbox_message";
    assert_eq!(scratch.count(lanes).await, 8);
}

/// The shape of the facade's `write`.
async fn write<S, C>(store: &S, tx: &mut C, message: &Message) -> Result<Saved, SaveError>
where
    S: OutboxWriter<C>,
    C: ?Sized + Send,
{
    store.save(tx, Save::from(message)).await
}

/// One store type has one `OutboxWriter` impl, so that the connection type is known before the arguments are looked at, and any of these coerces to it.
#[tokio::test]
async fn a_transaction_type_checks_by_reference_and_dereferenced() {
    let scratch = Scratch::new().await;
    let text = message(None, "x");
    let mut tx = scratch.pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
    write(&scratch.store, &mut tx, &text).await.unwrap();
    write(&scratch.store, &mut *tx, &text).await.unwrap();
    tx.commit().await.unwrap();
    let mut pooled = scratch.pool.acquire().await.unwrap();
    write(&scratch.store, &mut pooled, &text).await.unwrap_err();
    let connection: &mut SqliteConnection = &mut pooled;
    write(&scratch.store, connection, &text).await.unwrap_err();
    assert_eq!(
        scratch.count("SELECT count(*) FROM outbox_message").await,
        2
    );
}
