//! Saving on connections of diesel-async, and what its errors become.

use std::{error::Error, time::Duration};

use diesel_async::{AsyncConnection, AsyncPgConnection, SimpleAsyncConnection};
use outbox_message::{Message, MessageId};
use outbox_store::{Save, SaveError, SaveOrder, Saved};
use outbox_store_postgres_diesel::PostgresStore;
use thiserror::Error as ThisError;
use tokio::{join, sync::Barrier};

use crate::scratch::{Scratch, connect, message};

/// An application's own error, as a transaction of diesel asks for.
#[derive(Debug, ThisError)]
enum OrderError {
    #[error(transparent)]
    Database(#[from] diesel::result::Error),
    #[error(transparent)]
    Outbox(#[from] SaveError),
    #[error("no such customer")]
    NoCustomer,
}

#[tokio::test]
async fn a_connection_without_a_transaction_is_refused() {
    let scratch = Scratch::new().await;
    let mut connection = connect(&scratch.schema).await;
    let refused = scratch.store.save(&mut connection, &message("a")).await;
    assert_eq!(
        refused.unwrap_err().to_string(),
        "the connection has no open transaction: begin it through the driver, with connection.transaction(..)"
    );
}

#[tokio::test]
async fn an_error_of_the_application_takes_its_message_back() {
    let scratch = Scratch::new().await;
    let mut connection = connect(&scratch.schema).await;
    let placed: Result<(), OrderError> = connection
        .transaction(async |connection| {
            scratch.store.save(connection, &message("a")).await?;
            Err(OrderError::NoCustomer)
        })
        .await;
    assert!(matches!(placed, Err(OrderError::NoCustomer)));
    assert_eq!(pending(&scratch.store, &mut connection).await, 0);
}

#[tokio::test]
async fn a_savepoint_that_is_rolled_back_takes_only_its_own_messages_back() {
    let scratch = Scratch::new().await;
    let mut connection = connect(&scratch.schema).await;
    let placed = connection
        .transaction(async |connection| {
            scratch.store.save(connection, &message("outer")).await?;
            let inner: Result<(), OrderError> = connection
                .transaction(async |connection| {
                    scratch.store.save(connection, &message("inner")).await?;
                    Err(OrderError::NoCustomer)
                })
                .await;
            assert!(inner.is_err());
            Ok::<_, OrderError>(())
        })
        .await;
    placed.unwrap();
    assert_eq!(pending(&scratch.store, &mut connection).await, 1);
}

#[tokio::test]
async fn a_test_transaction_of_diesel_is_a_transaction() {
    let scratch = Scratch::new().await;
    let mut connection = connect(&scratch.schema).await;
    connection.begin_test_transaction().await.unwrap();
    scratch
        .store
        .save(&mut connection, &message("a"))
        .await
        .unwrap();
    assert_eq!(pending(&scratch.store, &mut connection).await, 1);
    drop(connection);
    let mut another = connect(&scratch.schema).await;
    assert_eq!(pending(&scratch.store, &mut another).await, 0);
}

#[tokio::test]
async fn a_deadlock_is_a_conflict_that_can_be_tried_again() {
    let scratch = Scratch::new().await;
    let barrier = Barrier::new(2);
    let one = save_both(&scratch, &barrier, ["a", "b"]);
    let other = save_both(&scratch, &barrier, ["b", "a"]);
    let (one, other) = join!(one, other);
    // The server ends one of them, and the other goes on.
    let failed = match (one, other) {
        (Ok(()), Err(failed)) | (Err(failed), Ok(())) => failed,
        both => panic!("one of both fails: {both:?}"),
    };
    assert!(
        matches!(failed, OrderError::Outbox(SaveError::Conflict(_))),
        "{failed:?}"
    );
}

/// Saves two messages in commit order, the second when both have saved their first.
async fn save_both(
    scratch: &Scratch,
    barrier: &Barrier,
    keys: [&str; 2],
) -> Result<(), OrderError> {
    let messages = keys.map(message);
    let saves = messages.each_ref().map(|message| Save {
        order: SaveOrder::Commit,
        ..Save::from(message)
    });
    connect(&scratch.schema)
        .await
        .transaction(async |connection| {
            connection
                .batch_execute("SET LOCAL deadlock_timeout = '10ms'")
                .await?;
            scratch.store.save(connection, saves[0]).await?;
            barrier.wait().await;
            scratch.store.save(connection, saves[1]).await?;
            Ok(())
        })
        .await
}

#[tokio::test]
async fn a_serialization_failure_is_a_conflict_that_can_be_tried_again() {
    let scratch = Scratch::new().await;
    let twice = with_id("once");
    let once = Save {
        once: Some(Duration::from_mins(1)),
        ..Save::from(&twice)
    };
    let mut connection = connect(&scratch.schema).await;
    let failed: Result<Saved, OrderError> = connection
        .build_transaction()
        .repeatable_read()
        .run(async |connection| {
            // The snapshot is taken before the other transaction commits.
            connection.batch_execute("SELECT 1").await?;
            let mut another = connect(&scratch.schema).await;
            another
                .transaction(async |another| {
                    scratch.store.save(another, once).await?;
                    Ok::<_, OrderError>(())
                })
                .await?;
            Ok(scratch.store.save(connection, once).await?)
        })
        .await;
    assert!(
        matches!(failed, Err(OrderError::Outbox(SaveError::Conflict(_)))),
        "{failed:?}"
    );
}

#[tokio::test]
async fn a_schema_that_is_gone_is_named_as_such() {
    let scratch = Scratch::new().await;
    let gone = format!("DROP SCHEMA {} CASCADE", scratch.schema.name.quoted());
    scratch.schema.run(&gone).await;
    let refused = refused(&scratch, "SELECT 1").await;
    assert!(
        matches!(refused, SaveError::Schema { found: 0, .. }),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_role_without_rights_is_told_in_the_words_of_the_server() {
    let scratch = Scratch::new().await;
    let refused = refused(&scratch, "SET LOCAL ROLE pg_monitor").await;
    assert!(matches!(refused, SaveError::Database(_)), "{refused:?}");
    let said = refused.source().unwrap().to_string();
    assert!(said.contains("permission denied"), "{said}");
}

/// What a save is answered after a statement of its transaction.
async fn refused(scratch: &Scratch, first: &str) -> SaveError {
    let mut connection = connect(&scratch.schema).await;
    let refused: Result<(), OrderError> = connection
        .transaction(async |connection| {
            connection.batch_execute(first).await?;
            scratch.store.save(connection, &message("a")).await?;
            Ok(())
        })
        .await;
    match refused {
        Err(OrderError::Outbox(error)) => error,
        other => panic!("the save was not refused: {other:?}"),
    }
}

fn with_id(id: &str) -> Message {
    Message {
        id: MessageId::new(id).unwrap(),
        ..message("a")
    }
}

async fn pending(store: &PostgresStore, connection: &mut AsyncPgConnection) -> usize {
    store.pending(connection).await.unwrap().len()
}
