//! Futures that are dropped before they end: the pool stays usable, and no session stays inside a transaction.

use std::{
    future::Future,
    pin::pin,
    task::{Context, Poll},
};

use outbox_store::{OutboxOperator, OutboxStore};
use outbox_store_postgres_sqlx::PostgresConfig;

use crate::scratch::{Scratch, message, published, request};

/// Drops a future when it waited for the server this many times. `None` if it did not end before.
pub(crate) async fn cut<T>(work: impl Future<Output = T>, waits: usize) -> Option<T> {
    let mut work = pin!(work);
    let mut left = waits;
    std::future::poll_fn(move |context: &mut Context<'_>| {
        match work.as_mut().poll(context) {
            Poll::Ready(done) => return Poll::Ready(Some(done)),
            Poll::Pending if left == 0 => return Poll::Ready(None),
            Poll::Pending => left -= 1,
        }
        Poll::Pending
    })
    .await
}

/// How often a call that ended before it was cut is tried again: a server that answered at once gave it nothing to wait for.
const TRIES: usize = 50;

/// One connection: if it came back unfit, nothing would work.
async fn lone() -> Scratch {
    Scratch::with(PostgresConfig::default(), 1, |options| options).await
}

#[tokio::test]
async fn a_claim_cut_off_anywhere_leaves_its_connection_fit_for_the_next() {
    let scratch = lone().await;
    scratch
        .save(&[message(Some("a"), "1"), message(None, "2")])
        .await;
    let (mut cuts, mut tries) = (0, 0);
    while tries < TRIES {
        match cut(scratch.store.claim(&request(10)), cuts).await {
            None => (cuts, tries) = (cuts + 1, 0),
            Some(_) => tries += 1,
        }
        scratch.store.status().await.unwrap();
        let mut tx = scratch.pool().begin().await.unwrap();
        scratch.store.pending(&mut tx).await.unwrap();
        tx.rollback().await.unwrap();
        // A claim whose COMMIT was on its way may have taken place: its relay is gone then.
        scratch
            .schema
            .advance(std::time::Duration::from_secs(31))
            .await;
    }
    assert!(cuts > 3, "the claim was cut at {cuts} places only");
    scratch.assert_no_transaction_is_left().await;
}

#[tokio::test]
async fn a_settlement_cut_off_anywhere_can_be_sent_again() {
    let scratch = lone().await;
    let (mut cuts, mut tries) = (0, 0);
    while tries < TRIES {
        scratch
            .save(&[message(Some("a"), "1"), message(None, "2")])
            .await;
        let claim = scratch.store.claim(&request(10)).await.unwrap();
        let lanes = published(&claim);
        match cut(scratch.store.settle(&lanes), cuts).await {
            None => (cuts, tries) = (cuts + 1, 0),
            Some(_) => tries += 1,
        }
        scratch.store.settle(&lanes).await.unwrap();
        assert_eq!(scratch.store.status().await.unwrap().pending(), 0);
    }
    assert!(cuts > 3, "the settlement was cut at {cuts} places only");
    scratch.assert_no_transaction_is_left().await;
}

#[tokio::test]
async fn a_save_cut_off_anywhere_goes_with_its_transaction() {
    let scratch = lone().await;
    let order = message(Some("a"), vec![b'x'; 1 << 20]);
    let mut cuts = 0;
    loop {
        let mut tx = scratch.pool().begin().await.unwrap();
        let saved = cut(scratch.store.save(&mut tx, &order), cuts).await;
        drop(tx);
        assert!(scratch.drain().await.is_empty());
        if saved.is_some() {
            break;
        }
        cuts += 1;
    }
    assert!(cuts > 0);
    scratch.assert_no_transaction_is_left().await;
}

#[tokio::test]
async fn a_transaction_goes_on_after_a_save_that_was_cut_off() {
    let scratch = lone().await;
    let mut tx = scratch.pool().begin().await.unwrap();
    let order = message(Some("a"), "first");
    let cut_off = cut(scratch.store.save(&mut tx, &order), 0).await;
    assert!(cut_off.is_none());
    let second = message(Some("a"), "second");
    scratch.store.save(&mut tx, &second).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(scratch.drain().await.last().unwrap(), b"second");
}

#[tokio::test]
async fn a_claim_cut_off_while_it_waits_for_a_lock_takes_nothing() {
    let scratch = lone().await;
    scratch.save(&[message(Some("a"), "1")]).await;
    let mut blocker = scratch.schema.pool.begin().await.unwrap();
    let lock = scratch
        .schema
        .sql("LOCK TABLE outbox.lane IN ACCESS EXCLUSIVE MODE");
    sqlx::query(lock).execute(&mut *blocker).await.unwrap();
    {
        let asked = request(10);
        let mut claim = pin!(scratch.store.claim(&asked));
        loop {
            tokio::select! {
                biased;
                claimed = &mut claim => panic!("{claimed:?}"),
                waiting = scratch.waiting_for_locks() => if waiting > 0 { break },
            }
        }
    }
    // There is room in the pool again although the server still waits.
    sqlx::query("SELECT 1")
        .execute(scratch.pool())
        .await
        .unwrap();
    assert_eq!(scratch.waiting_for_locks().await, 1);
    blocker.rollback().await.unwrap();
    scratch.assert_no_transaction_is_left().await;
    assert_eq!(scratch.drain().await, [b"1"]);
}

#[tokio::test]
async fn a_statement_that_fails_leaves_its_connection_fit_for_the_next() {
    let scratch = lone().await;
    let pid = "SELECT pg_backend_pid()";
    let before: i32 = sqlx::query_scalar(pid)
        .fetch_one(scratch.pool())
        .await
        .unwrap();
    scratch
        .schema
        .run("ALTER TABLE outbox.lane RENAME TO moved")
        .await;
    scratch.store.claim(&request(10)).await.unwrap_err();
    scratch
        .schema
        .run("ALTER TABLE outbox.moved RENAME TO lane")
        .await;
    scratch.store.claim(&request(10)).await.unwrap();
    let after: i32 = sqlx::query_scalar(pid)
        .fetch_one(scratch.pool())
        .await
        .unwrap();
    assert_eq!(before, after, "the connection was given up");
}

#[tokio::test]
async fn a_connection_that_the_server_ended_is_replaced() {
    let scratch = lone().await;
    scratch.save(&[message(Some("a"), "1")]).await;
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1";
    let name = format!("{}-store", scratch.schema.application);
    for _ in 0..3 {
        let ended = sqlx::query(end).bind(&name).execute(&scratch.schema.pool);
        assert_eq!(ended.await.unwrap().rows_affected(), 1);
        // The server may end it while it is in use again.
        if let Err(error) = scratch.store.status().await {
            assert!(error.is_transient(), "{error}");
        }
        assert_eq!(scratch.store.status().await.unwrap().pending(), 1);
    }
}
