//! Writers and relays at once on one file (case 30).

use outbox_store::{OutboxStore, Outcome, SaveError, StoreError};
use outbox_store_sqlite::SqliteStore;
use sqlx::SqlitePool;

use crate::scratch::{Scratch, message, request, settlements};

const EACH: usize = 40;

async fn write_orders(pool: SqlitePool, store: SqliteStore, writer: usize) {
    for number in 0..EACH {
        let mut tx = pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
        let orders: i64 = sqlx::query_scalar("SELECT count(*) FROM orders")
            .fetch_one(&mut *tx)
            .await
            .unwrap();
        let insert = sqlx::query("INSERT INTO orders (seen) VALUES (?1)").bind(orders);
        insert.execute(&mut *tx).await.unwrap();
        let key = format!("writer-{writer}");
        let order = message(Some(&key), number.to_string());
        store.save(&mut tx, &order).await.unwrap();
        tx.commit().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn case_30_writers_that_begin_immediate_are_never_locked_out_by_a_relay() {
    let scratch = Scratch::new().await;
    scratch
        .sql("CREATE TABLE orders (seen INTEGER NOT NULL)")
        .await;
    let writers: Vec<_> = (0..8)
        .map(|writer| {
            tokio::spawn(write_orders(
                scratch.pool.clone(),
                scratch.store.clone(),
                writer,
            ))
        })
        .collect();
    let mut published = 0;
    while published < 8 * EACH {
        let claim = scratch.store.claim(&request(100)).await.unwrap();
        published += claim.entries.len();
        if claim.lanes.is_empty() {
            tokio::task::yield_now().await;
            continue;
        }
        let lanes = settlements(&claim, |_| Outcome::Published);
        for settled in scratch.store.settle(&lanes).await.unwrap() {
            assert!(!settled.lost && settled.missed.is_empty());
        }
    }
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(
        scratch.count("SELECT count(*) FROM outbox_message").await,
        0
    );
}

#[tokio::test]
async fn case_30_a_deferred_transaction_that_read_first_is_busy_and_says_why() {
    let scratch = Scratch::new().await;
    let mut tx = scratch.pool.begin().await.unwrap();
    let read = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM outbox_message");
    read.fetch_one(&mut *tx).await.unwrap();
    scratch.save(&[message(None, "other")]).await;
    let busy = scratch.store.save(&mut tx, &message(None, "late")).await;
    let Err(error @ SaveError::Busy { .. }) = busy else {
        panic!("{busy:?}");
    };
    assert!(error.to_string().contains("BEGIN IMMEDIATE"), "{error}");
    tx.rollback().await.unwrap();
    assert_eq!(scratch.drain(10).await, [b"other"]);
}

#[tokio::test]
async fn a_relay_that_finds_the_write_lock_taken_reports_a_passing_error() {
    let scratch = Scratch::new().await;
    scratch.save(&[message(None, "x")]).await;
    let options = (*scratch.pool.connect_options())
        .clone()
        .busy_timeout(std::time::Duration::ZERO);
    let pool = SqlitePool::connect_with(options).await.unwrap();
    let store = SqliteStore::open(pool).await.unwrap();
    let writer = scratch.pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
    let error = store.claim(&request(1)).await.unwrap_err();
    assert!(matches!(error, StoreError::Database { .. }) && error.is_transient());
    writer.rollback().await.unwrap();
    assert_eq!(store.claim(&request(1)).await.unwrap().entries.len(), 1);
}

#[tokio::test]
async fn looking_for_work_takes_no_lock() {
    let scratch = Scratch::new().await;
    let options = (*scratch.pool.connect_options())
        .clone()
        .busy_timeout(std::time::Duration::ZERO);
    let pool = SqlitePool::connect_with(options).await.unwrap();
    let store = SqliteStore::open(pool).await.unwrap();
    let _writer = scratch.pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
    let claim = store.claim(&request(1)).await.unwrap();
    assert!(claim.entries.is_empty());
}
