//! The transactions of handlers (T1 to T3): however they end, nothing of them is left, and the pool stays usable.

use std::pin::pin;

use outbox_message::MessageId;
use outbox_store::{Consumer, Handled, StoreError, Transactions};
use outbox_store_postgres_sqlx::{HandlerTransaction, PostgresConfig};
use sqlx::{Connection, Executor};

use crate::{
    cutting::cut,
    scratch::{Scratch, message},
};

/// One connection: if it came back unfit, nothing would work.
async fn lone() -> Scratch {
    Scratch::with(PostgresConfig::default(), 1, |options| options).await
}

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

    async fn session(&self) -> i32 {
        let pid = sqlx::query_scalar("SELECT pg_backend_pid()");
        pid.fetch_one(self.pool()).await.unwrap()
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
async fn t1_a_handler_records_and_saves_in_its_transaction_and_has_savepoints() {
    let scratch = lone().await;
    let session = scratch.session().await;
    for commits in [false, true] {
        let mut open = scratch.handler().await;
        assert_eq!(scratch.once(&mut open).await, Handled::First);
        let tx = scratch.store.tx(&mut open);
        scratch
            .store
            .save(&mut *tx, &message(Some("k"), "reply"))
            .await
            .unwrap();
        let mut savepoint = tx.begin().await.unwrap();
        savepoint.execute("SELECT 1 / 0").await.unwrap_err();
        savepoint.rollback().await.unwrap();
        if commits {
            scratch.store.commit(open).await.unwrap();
        } else {
            scratch.store.rollback(open).await;
        }
    }
    assert_eq!(scratch.drain().await, [b"reply"]);
    assert_eq!(scratch.session().await, session, "it went back to the pool");
}

#[tokio::test]
async fn t2_a_beginning_a_commit_and_a_rollback_can_be_cut_off_anywhere() {
    let scratch = lone().await;
    let (mut begins, mut ends, mut is_committed) = (0, 0, false);
    while cut(Transactions::begin(&scratch.store), begins)
        .await
        .is_none()
    {
        begins += 1;
        assert!(scratch.session().await > 0);
    }
    for commits in [true, false] {
        let mut cuts = 0;
        loop {
            let mut open = scratch.handler().await;
            // The one that was cut off may have been committed, and then stays so.
            let is_duplicate = scratch.once(&mut open).await == Handled::Duplicate;
            assert!(is_duplicate || !is_committed);
            is_committed |= is_duplicate;
            let end = async {
                if commits {
                    scratch.store.commit(open).await.unwrap();
                } else {
                    scratch.store.rollback(open).await;
                }
            };
            let ended = cut(end, cuts).await;
            assert!(scratch.session().await > 0);
            if ended.is_some() {
                break;
            }
            cuts += 1;
        }
        ends += cuts;
    }
    assert!(begins > 0 && ends > 1, "{begins}, {ends}");
    scratch.assert_no_transaction_is_left().await;
}

#[tokio::test]
async fn t2_a_handler_that_is_dropped_while_its_statement_waits_frees_its_place_in_the_pool() {
    let scratch = lone().await;
    let mut blocker = scratch.schema.pool.begin().await.unwrap();
    let lock = scratch
        .schema
        .sql("LOCK TABLE outbox.inbox IN ACCESS EXCLUSIVE MODE");
    blocker.execute(lock).await.unwrap();
    {
        let mut open = scratch.handler().await;
        let mut handling = pin!(scratch.once(&mut open));
        loop {
            tokio::select! {
                biased;
                handled = &mut handling => panic!("{handled:?}"),
                waiting = scratch.waiting_for_locks() => if waiting > 0 { break },
            }
        }
    }
    // There is room in the pool again although the server still waits.
    assert!(scratch.session().await > 0);
    assert_eq!(scratch.waiting_for_locks().await, 1);
    blocker.rollback().await.unwrap();
    scratch.assert_no_transaction_is_left().await;
    let mut open = scratch.handler().await;
    assert_eq!(scratch.once(&mut open).await, Handled::First);
}

/// Postgres itself would answer such a COMMIT without an error, and roll back.
#[tokio::test]
async fn t3_a_transaction_that_a_failed_statement_aborted_is_not_committed() {
    let scratch = lone().await;
    let session = scratch.session().await;
    let mut open = scratch.handler().await;
    assert_eq!(scratch.once(&mut open).await, Handled::First);
    // A handler that does not look at the answer.
    scratch
        .store
        .tx(&mut open)
        .execute("SELECT 1 / 0")
        .await
        .unwrap_err();
    let said = spoiled(scratch.store.commit(open).await);
    assert!(said.contains("aborted by a statement"), "{said}");
    assert_eq!(scratch.session().await, session, "it was rolled back");
    let mut open = scratch.handler().await;
    assert_eq!(scratch.once(&mut open).await, Handled::First);
}

#[tokio::test]
async fn t3_a_transaction_with_a_savepoint_left_is_not_committed() {
    let scratch = lone().await;
    let mut open = scratch.handler().await;
    assert_eq!(scratch.once(&mut open).await, Handled::First);
    let savepoint = scratch.store.tx(&mut open).begin().await.unwrap();
    std::mem::forget(savepoint);
    let said = spoiled(scratch.store.commit(open).await);
    assert!(said.contains("savepoint"), "{said}");
    let mut open = scratch.handler().await;
    assert_eq!(scratch.once(&mut open).await, Handled::First);
}

#[tokio::test]
async fn t3_a_commit_that_the_server_refuses_is_a_passing_error_and_did_nothing() {
    let scratch = lone().await;
    scratch
        .schema
        .run("CREATE TABLE outbox.mine (n int UNIQUE DEFERRABLE INITIALLY DEFERRED)")
        .await;
    let mut open = scratch.handler().await;
    assert_eq!(scratch.once(&mut open).await, Handled::First);
    let insert = scratch
        .schema
        .sql("INSERT INTO outbox.mine VALUES (1), (1)");
    scratch.store.tx(&mut open).execute(insert).await.unwrap();
    let refused = scratch.store.commit(open).await.unwrap_err();
    assert!(refused.is_transient(), "{refused:?}");
    let mut open = scratch.handler().await;
    assert_eq!(scratch.once(&mut open).await, Handled::First);
    // A server that went away in between is one too.
    let mut other = scratch.schema.pool.begin().await.unwrap();
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1";
    let name = format!("{}-store", scratch.schema.application);
    let ended = sqlx::query(end).bind(name).execute(&mut *other).await;
    assert_eq!(ended.unwrap().rows_affected(), 1);
    let refused = scratch.store.commit(open).await.unwrap_err();
    assert!(refused.is_transient(), "{refused:?}");
    assert!(scratch.session().await > 0);
}
