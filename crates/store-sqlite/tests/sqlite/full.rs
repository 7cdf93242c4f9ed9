//! D2, F7: SQLite ends a transaction by itself, as it does when the disk is full. Everything works again once there is room.

use std::time::Duration;

use outbox_store::{
    AfterDeath, Claim, DeadFilter, DeadPage, DeathReason, OutboxOperator, OutboxStore, Outcome,
    StoreError,
};

use crate::scratch::{Scratch, message, request, retry, settlements};

/// Lets SQLite end each transaction of the relay or operator side by itself.
const END_TRANSACTIONS: &str = "
    CREATE TRIGGER end_lane BEFORE UPDATE ON outbox_lane BEGIN SELECT RAISE(ROLLBACK, 'full'); END;
    CREATE TRIGGER end_dead BEFORE DELETE ON outbox_dead BEGIN SELECT RAISE(ROLLBACK, 'full'); END;
";

const LET_THEM_BE: &str = "DROP TRIGGER end_lane; DROP TRIGGER end_dead;";

fn all_dead() -> DeadPage {
    DeadPage {
        filter: DeadFilter::default(),
        after: None,
        upto: None,
        limit: 10,
    }
}

/// A store with one connection; it has a dead letter and a message in each of two lanes, one of which is claimed.
async fn used() -> (Scratch, Claim) {
    let scratch = Scratch::with_connections(1).await;
    scratch.save(&[message(Some("a"), "dead")]).await;
    let dead = Outcome::Dead {
        reason: DeathReason::Permanent,
        error: "refused".into(),
        after: AfterDeath::Skip,
        notice: None,
    };
    scratch.settle(&scratch.claim(1).await, &dead).await;
    scratch.save(&[message(Some("a"), "claimed")]).await;
    let claim = scratch.claim(1).await;
    scratch.save(&[message(Some("b"), "unclaimed")]).await;
    (scratch, claim)
}

async fn fails<T>(scratch: &Scratch, done: Result<T, StoreError>) {
    let Err(error) = done else {
        panic!("the transaction was not ended");
    };
    assert!(error.is_transient(), "{error}");
    // The application may draw the next connection from the same pool.
    let next = scratch.pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
    next.rollback().await.unwrap();
}

#[tokio::test]
async fn a_connection_whose_transaction_sqlite_ended_does_not_go_back_to_the_pool() {
    let (scratch, claim) = used().await;
    let store = &scratch.store;
    let tokens: Vec<_> = claim.lanes.iter().map(|lane| lane.token.clone()).collect();
    let published = settlements(&claim, |_| Outcome::Published);

    scratch.sql(END_TRANSACTIONS).await;
    fails(&scratch, store.claim(&request(1)).await).await;
    fails(
        &scratch,
        store.extend(&tokens, Duration::from_secs(30)).await,
    )
    .await;
    fails(&scratch, store.settle(&published).await).await;
    fails(&scratch, store.redrive(&all_dead()).await).await;
    fails(&scratch, store.discard(&all_dead()).await).await;
    scratch.sql(LET_THEM_BE).await;

    let lost = store.extend(&tokens, Duration::from_secs(30)).await;
    assert!(lost.unwrap().is_empty());
    for settled in store.settle(&published).await.unwrap() {
        assert!(!settled.lost && settled.missed.is_empty());
    }
    assert_eq!(store.redrive(&all_dead()).await.unwrap().count, 1);
    assert_eq!(scratch.drain(10).await.len(), 2);
}

#[tokio::test]
async fn a_settlement_that_finds_no_room_works_once_there_is_room() {
    let scratch = Scratch::with_connections(1).await;
    scratch
        .save(&[message(Some("a"), vec![b'x'; 1 << 20])])
        .await;
    let claim = scratch.claim(1).await;
    // The payload is copied before the row it came from is deleted.
    let later = settlements(&claim, |_| retry(60));
    scratch.sql("PRAGMA max_page_count = 1").await;
    fails(&scratch, scratch.store.settle(&later).await).await;
    scratch.sql("PRAGMA max_page_count = 1073741823").await;
    for settled in scratch.store.settle(&later).await.unwrap() {
        assert!(!settled.lost && settled.missed.is_empty());
    }
    let waiting = "SELECT count(*) FROM outbox_waiting";
    assert_eq!(scratch.count(waiting).await, 1);
}

#[tokio::test]
async fn a_connection_that_the_application_left_in_this_state_fails_one_claim_only() {
    let (scratch, _claim) = used().await;
    scratch.sql(END_TRANSACTIONS).await;
    let mut tx = scratch.pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
    let ended = sqlx::query("DELETE FROM outbox_dead").execute(&mut *tx);
    ended.await.unwrap_err();
    drop(tx);
    scratch.sql(LET_THEM_BE).await;
    fails(&scratch, scratch.store.claim(&request(1)).await).await;
    assert_eq!(scratch.claim(1).await.entries.len(), 1);
}
