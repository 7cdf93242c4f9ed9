//! The transactions of handlers on diesel-async (T1 to T3): however they end, nothing of them is left, and the lone connection of the pool is not lost.

use std::pin::pin;

use diesel_async::{AnsiTransactionManager, SimpleAsyncConnection, TransactionManager};
use outbox_message::MessageId;
use outbox_store::{Consumer, Handled, OutboxStore, StoreError, Transactions};
use outbox_store_postgres_diesel::HandlerTransaction;
use tokio::select;

use crate::{
    scratch::{Scratch, message, request},
    transactions::{NO_TRANSACTION, ask, give_up_after},
};

const SESSION: &str = "SELECT pg_backend_pid()::bigint AS number";

impl Scratch {
    async fn handler(&self) -> HandlerTransaction {
        Transactions::begin(&self.store).await.unwrap()
    }

    async fn once(&self, open: &mut HandlerTransaction) -> Handled {
        let (consumer, id) = (
            Consumer::new("billing").unwrap(),
            MessageId::new("1").unwrap(),
        );
        let handled = self.store.once(self.store.tx(open), &consumer, &id).await;
        handled.unwrap()
    }
}

fn spoiled(refused: Result<(), StoreError>) -> String {
    let refused = refused.unwrap_err();
    assert!(
        matches!(refused, StoreError::Unusable { .. }) && !refused.is_transient(),
        "{refused:?}"
    );
    refused.to_string()
}

#[tokio::test]
async fn t1_a_handler_records_and_saves_in_its_transaction() {
    let scratch = Scratch::new().await;
    let session = ask(&scratch, SESSION).await;
    for commits in [false, true] {
        let mut open = scratch.handler().await;
        assert_eq!(scratch.once(&mut open).await, Handled::First);
        let tx = scratch.store.tx(&mut open);
        scratch.store.save(tx, &message("k")).await.unwrap();
        if commits {
            scratch.store.commit(open).await.unwrap();
        } else {
            scratch.store.rollback(open).await;
        }
    }
    let claim = scratch.store.claim(&request()).await.unwrap();
    assert_eq!(claim.entries.len(), 1);
    assert_eq!(
        ask(&scratch, SESSION).await,
        session,
        "it went back to the pool"
    );
}

#[tokio::test]
async fn t2_a_beginning_and_a_commit_can_be_dropped_anywhere() {
    let scratch = Scratch::new().await;
    let (mut begins, mut commits, mut is_committed) = (0, 0, false);
    while give_up_after(begins, Transactions::begin(&scratch.store))
        .await
        .is_none()
    {
        begins += 1;
        scratch.until(NO_TRANSACTION).await;
    }
    loop {
        let mut open = scratch.handler().await;
        // The one that was dropped may have been committed, and then stays so.
        let is_duplicate = scratch.once(&mut open).await == Handled::Duplicate;
        assert!(is_duplicate || !is_committed);
        is_committed |= is_duplicate;
        if let Some(done) = give_up_after(commits, scratch.store.commit(open)).await {
            done.unwrap();
            break;
        }
        commits += 1;
        scratch.until(NO_TRANSACTION).await;
    }
    assert!(begins > 1 && commits > 1, "{begins}, {commits}");
    assert!(scratch.pool().status().size <= 1);
}

#[tokio::test]
async fn t2_a_handler_that_is_dropped_while_its_statement_waits_lets_go() {
    let scratch = Scratch::new().await;
    let lock = scratch
        .schema
        .sql("LOCK TABLE outbox.inbox IN ACCESS EXCLUSIVE MODE");
    let mut locking = scratch.schema.pool.begin().await.unwrap();
    sqlx::query(lock).execute(&mut *locking).await.unwrap();
    {
        let mut open = scratch.handler().await;
        let mut handling = pin!(scratch.once(&mut open));
        select! {
            _ = &mut handling => panic!("the table is locked"),
            () = scratch.until(
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'
                 AND application_name = current_setting('application_name')",
            ) => {}
        }
    }
    // There is room in the pool again although the server still waits.
    assert!(ask(&scratch, SESSION).await > 0);
    locking.commit().await.unwrap();
    scratch.until(NO_TRANSACTION).await;
    let mut open = scratch.handler().await;
    assert_eq!(scratch.once(&mut open).await, Handled::First);
}

/// Postgres itself would answer such a COMMIT without an error, and roll back.
#[tokio::test]
async fn t3_a_transaction_that_a_failed_statement_aborted_is_not_committed() {
    let scratch = Scratch::new().await;
    let session = ask(&scratch, SESSION).await;
    let mut open = scratch.handler().await;
    assert_eq!(scratch.once(&mut open).await, Handled::First);
    // A handler that does not look at the answer.
    let tx = scratch.store.tx(&mut open);
    tx.batch_execute("SELECT 1 / 0").await.unwrap_err();
    let said = spoiled(scratch.store.commit(open).await);
    assert!(said.contains("aborted by a statement"), "{said}");
    assert_eq!(ask(&scratch, SESSION).await, session, "it was rolled back");
    let mut open = scratch.handler().await;
    assert_eq!(scratch.once(&mut open).await, Handled::First);
}

#[tokio::test]
async fn t3_a_transaction_with_a_savepoint_left_is_not_committed() {
    let scratch = Scratch::new().await;
    let mut open = scratch.handler().await;
    assert_eq!(scratch.once(&mut open).await, Handled::First);
    let tx = scratch.store.tx(&mut open);
    AnsiTransactionManager::begin_transaction(tx).await.unwrap();
    let said = spoiled(scratch.store.commit(open).await);
    assert!(said.contains("savepoint"), "{said}");
    let mut open = scratch.handler().await;
    assert_eq!(scratch.once(&mut open).await, Handled::First);
}

#[tokio::test]
async fn t3_a_commit_whose_server_went_away_is_a_passing_error() {
    let scratch = Scratch::new().await;
    let mut open = scratch.handler().await;
    assert_eq!(scratch.once(&mut open).await, Handled::First);
    scratch
        .schema
        .run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE application_name = current_setting('application_name') AND pid <> pg_backend_pid() AND xact_start IS NOT NULL",
        )
        .await;
    let refused = scratch.store.commit(open).await.unwrap_err();
    assert!(refused.is_transient(), "{refused:?}");
    let mut open = scratch.handler().await;
    assert_eq!(scratch.once(&mut open).await, Handled::First);
}
