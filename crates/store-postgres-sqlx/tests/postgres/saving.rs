//! The writer side: whose transaction it is, and what a writer is told.

use std::time::Duration;

use outbox_message::Message;
use outbox_store::{Due, OutboxStore, Save, SaveError};
use outbox_store_postgres_sqlx::PostgresConfig;
use sqlx::Executor;

use crate::scratch::{Scratch, message, payloads, request};

fn assert_told_to_begin(saved: Result<outbox_store::Saved, SaveError>) {
    let Err(error @ SaveError::NoTransaction { .. }) = saved else {
        panic!("saved outside of a transaction: {saved:?}");
    };
    assert!(error.to_string().contains("pool.begin()"), "{error}");
}

#[tokio::test]
async fn c1_a_connection_without_a_transaction_is_refused_and_told_how_to_begin_one() {
    let scratch = Scratch::new().await;
    let mut connection = scratch.pool().acquire().await.unwrap();
    let order = message(None, "a");
    assert_told_to_begin(scratch.store.save(&mut connection, &order).await);
    let all = scratch.store.save_all(&mut connection, &[]).await;
    assert!(matches!(all, Err(SaveError::NoTransaction { .. })));

    // What the driver was not told of it does not know.
    connection.execute("BEGIN").await.unwrap();
    assert_told_to_begin(scratch.store.save(&mut connection, &order).await);
    connection.execute("ROLLBACK").await.unwrap();
    assert!(scratch.drain().await.is_empty());
}

#[tokio::test]
async fn c1_a_savepoint_takes_its_own_messages_along() {
    use sqlx::Connection;

    let scratch = Scratch::new().await;
    let mut tx = scratch.pool().begin().await.unwrap();
    let (kept, gone) = (message(None, "kept"), message(None, "gone"));
    scratch.store.save(&mut tx, &kept).await.unwrap();
    let mut inner = tx.begin().await.unwrap();
    scratch.store.save(&mut inner, &gone).await.unwrap();
    inner.rollback().await.unwrap();
    assert_eq!(scratch.store.pending(&mut tx).await.unwrap(), [kept]);
    tx.commit().await.unwrap();
    assert_eq!(scratch.drain().await, [b"kept"]);
}

#[tokio::test]
async fn a_save_after_a_statement_that_failed_says_what_the_server_said() {
    let scratch = Scratch::new().await;
    let mut tx = scratch.pool().begin().await.unwrap();
    tx.execute("SELECT 1 / 0").await.unwrap_err();
    let saved = scratch.store.save(&mut tx, &message(None, "a")).await;
    let Err(SaveError::Database(source)) = saved else {
        panic!("{saved:?}");
    };
    assert!(source.to_string().contains("aborted"), "{source}");
    let error = source
        .downcast_ref::<outbox_store_postgres_sqlx::SqlxError>()
        .unwrap();
    assert_eq!(
        error.0.as_database_error().unwrap().code().unwrap(),
        "25P02"
    );
}

/// Case 31: sessions that show times in other zones and styles.
#[tokio::test]
async fn case_31_the_time_zone_of_a_session_moves_no_due_time() {
    for zone in ["Asia/Kathmandu", "America/Los_Angeles"] {
        let scratch = Scratch::with(PostgresConfig::default(), 5, |options| {
            options.options([("TimeZone", zone), ("DateStyle", "SQL, DMY")])
        })
        .await;
        let later = message(Some("later"), "later");
        let at = message(Some("at"), "at");
        let past = message(Some("past"), "past");
        let now = scratch.schema.now_ms().await;
        let mut tx = scratch.pool().begin().await.unwrap();
        let dues: [(&Message, Due); 3] = [
            (&later, Due::After(Duration::from_mins(1))),
            (&at, Due::AtUnixMs(now + 30_000)),
            (&past, Due::AtUnixMs(now - 1)),
        ];
        for (message, due) in dues {
            let save = Save {
                due: Some(due),
                ..Save::from(message)
            };
            scratch.store.save(&mut tx, save).await.unwrap();
        }
        tx.commit().await.unwrap();

        assert_eq!(scratch.drain().await, [b"past"], "{zone}");
        let claim = scratch.store.claim(&request(10)).await.unwrap();
        let next = claim.next_due.unwrap();
        assert!(next <= Duration::from_secs(30), "{zone}: {next:?}");
        scratch.schema.advance(Duration::from_secs(30)).await;
        let claim = scratch.store.claim(&request(10)).await.unwrap();
        assert_eq!(payloads(&claim), [b"at"], "{zone}");
    }
}
