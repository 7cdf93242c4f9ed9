//! Transactions of the relay side: however they end, none stays open and no connection is lost.

use std::{
    future::poll_fn,
    pin::pin,
    task::Poll::{Pending, Ready},
};

use diesel::{QueryableByName, sql_query, sql_types::BigInt};
use diesel_async::RunQueryDsl;
use outbox_store::{OutboxStore, StoreError};
use outbox_store_postgres_diesel::Connection;
use tokio::select;

use crate::scratch::{Scratch, message, request};

/// Polls at most so often and then drops the future, as a caller does that runs out of time.
pub(crate) async fn give_up_after<F: Future>(polls: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = polls;
    poll_fn(|context| {
        if left == 0 {
            return Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(context) {
            Ready(done) => Ready(Some(done)),
            Pending => Pending,
        }
    })
    .await
}

#[derive(QueryableByName)]
struct Number {
    #[diesel(sql_type = BigInt)]
    number: i64,
}

/// Asks the only connection of the pool.
pub(crate) async fn ask(scratch: &Scratch, statement: &str) -> i64 {
    let mut connection = scratch.pool().get().await.unwrap();
    let number: Number = sql_query(statement)
        .get_result(&mut connection)
        .await
        .unwrap();
    number.number
}

pub(crate) const NO_TRANSACTION: &str = "SELECT (count(*) = 0)::int::bigint FROM pg_stat_activity \
     WHERE application_name = current_setting('application_name') AND xact_start IS NOT NULL AND pid <> pg_backend_pid()";

#[tokio::test]
async fn a_claim_that_is_dropped_anywhere_leaves_no_transaction_open() {
    let scratch = Scratch::new().await;
    scratch.save(&message("a")).await;
    let mut dropped = 0;
    loop {
        let claim = request();
        if let Some(done) = give_up_after(dropped, scratch.store.claim(&claim)).await {
            done.unwrap();
            break;
        }
        dropped += 1;
        scratch.until(NO_TRANSACTION).await;
    }
    assert!(dropped > 3, "a claim waits for the server several times");
    assert!(scratch.pool().status().size <= 1);
}

#[tokio::test]
async fn a_renewal_that_is_dropped_while_it_waits_lets_its_lane_go() {
    let scratch = Scratch::new().await;
    scratch.save(&message("a")).await;
    let request = request();
    let claim = scratch.store.claim(&request).await.unwrap();
    let tokens = [claim.lanes[0].token.clone()];
    let lock = scratch
        .schema
        .sql("SELECT lane FROM outbox.lane FOR UPDATE");
    let mut locking = scratch.schema.pool.begin().await.unwrap();
    sqlx::query(lock).execute(&mut *locking).await.unwrap();
    select! {
        _ = scratch.store.extend(&tokens, request.lease) => panic!("the lane is locked"),
        () = scratch.until(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'
             AND application_name = current_setting('application_name')",
        ) => {}
    }
    locking.commit().await.unwrap();
    scratch.until(NO_TRANSACTION).await;
    let lost = scratch.store.extend(&tokens, request.lease).await.unwrap();
    assert_eq!(lost, []);
}

#[tokio::test]
async fn a_statement_that_is_refused_gives_its_connection_back() {
    let scratch = Scratch::new().await;
    let session = "SELECT pg_backend_pid()::bigint AS number";
    let before = ask(&scratch, session).await;
    scratch.schema.run("DROP TABLE outbox.lane").await;
    let refused = scratch.store.claim(&request()).await.unwrap_err();
    assert!(
        matches!(refused, StoreError::Schema { found: 0, .. }),
        "{refused:?}"
    );
    assert_eq!(ask(&scratch, session).await, before);
}

#[tokio::test]
async fn statements_stay_prepared_unless_there_is_a_pooler() {
    // The files of SQL begin with a comment.
    let kept =
        "SELECT count(*) AS number FROM pg_prepared_statements WHERE starts_with(statement, '--')";
    let direct = Scratch::new().await;
    direct.save(&message("a")).await;
    direct.store.claim(&request()).await.unwrap();
    assert!(ask(&direct, kept).await > 1);

    let pooled = Scratch::with(|config| config.connection = Connection::Pooler).await;
    pooled.save(&message("a")).await;
    pooled.store.claim(&request()).await.unwrap();
    assert_eq!(ask(&pooled, kept).await, 0);
}
