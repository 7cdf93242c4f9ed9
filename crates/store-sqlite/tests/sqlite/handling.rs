//! Handlers on one file: deliveries at once (I2), and their transactions, of which nothing is left however they end (T1 to T3).

use std::time::Duration;

use outbox_message::MessageId;
use outbox_migrations::SQLITE;
use outbox_store::{
    Consumer, Handled, OutboxOperator, Purge, PurgeMode, SaveError, StoreError, Transactions,
};
use outbox_store_sqlite::{HandlerTransaction, SqliteStore, connect_options};
use sqlx::{AssertSqlSafe, Connection, Executor, SqliteConnection, SqlitePool};

use crate::scratch::{Scratch, message, url};

fn names(id: &str) -> (Consumer, MessageId) {
    (
        Consumer::new("billing").unwrap(),
        MessageId::new(id).unwrap(),
    )
}

async fn once(store: &SqliteStore, tx: &mut SqliteConnection, id: &str) -> Handled {
    let (consumer, id) = names(id);
    store.once(tx, &consumer, &id).await.unwrap()
}

impl Scratch {
    async fn handler(&self) -> HandlerTransaction {
        Transactions::begin(&self.store).await.unwrap()
    }

    /// Handles in a transaction of its own.
    async fn handle(&self, id: &str) -> Handled {
        let mut open = self.handler().await;
        let handled = once(&self.store, self.store.tx(&mut open), id).await;
        self.store.commit(open).await.unwrap();
        handled
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i2_a_second_delivery_waits_at_its_beginning_and_goes_by_what_became_of_the_first() {
    for (commits, told) in [(true, Handled::Duplicate), (false, Handled::First)] {
        let scratch = Scratch::new().await;
        let store = scratch.another().await;
        let mut first = scratch.handler().await;
        let handled = once(&scratch.store, scratch.store.tx(&mut first), "1").await;
        assert_eq!(handled, Handled::First);
        let second = tokio::spawn(async move {
            let mut open = Transactions::begin(&store).await.unwrap();
            let handled = once(&store, store.tx(&mut open), "1").await;
            store.commit(open).await.unwrap();
            handled
        });
        if commits {
            scratch.store.commit(first).await.unwrap();
        } else {
            scratch.store.rollback(first).await;
        }
        assert_eq!(second.await.unwrap(), told);
        assert_eq!(scratch.handle("1").await, Handled::Duplicate);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i2_of_many_deliveries_at_once_one_is_handled() {
    let scratch = Scratch::new().await;
    let deliver = |number: usize| {
        let store = scratch.store.clone();
        tokio::spawn(async move {
            let mut open = Transactions::begin(&store).await.unwrap();
            let handled = once(&store, store.tx(&mut open), "the same").await;
            match (handled, number % 3) {
                (Handled::First, 0) => store.rollback(open).await,
                (Handled::First, 1) => drop(open),
                _ => {
                    store.commit(open).await.unwrap();
                    return usize::from(handled == Handled::First);
                }
            }
            0
        })
    };
    let deliveries: Vec<_> = (0..30).map(deliver).collect();
    let mut handled = 0;
    for delivery in deliveries {
        handled += delivery.await.unwrap();
    }
    assert_eq!(handled, 1);
}

#[tokio::test]
async fn i2_a_deferred_transaction_that_read_first_is_busy_and_says_why() {
    let scratch = Scratch::new().await;
    let mut tx = scratch.pool.begin().await.unwrap();
    let read = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM outbox_inbox");
    read.fetch_one(&mut *tx).await.unwrap();
    assert_eq!(scratch.handle("1").await, Handled::First);
    let (consumer, id) = names("1");
    let busy = scratch.store.once(&mut tx, &consumer, &id).await;
    let Err(error @ SaveError::Busy { .. }) = busy else {
        panic!("{busy:?}");
    };
    assert!(error.to_string().contains("BEGIN IMMEDIATE"), "{error}");
    tx.rollback().await.unwrap();
    assert_eq!(scratch.handle("1").await, Handled::Duplicate);
}

/// A deferred transaction that asks first takes the write lock with it.
#[tokio::test]
async fn i2_a_deferred_transaction_that_asks_first_keeps_others_out() {
    let scratch = Scratch::new().await;
    let options = connect_options(&url(&scratch.folder)).unwrap();
    let pool = SqlitePool::connect_with(options.busy_timeout(Duration::ZERO)).await;
    let other = SqliteStore::open(pool.unwrap()).await.unwrap();
    let mut tx = scratch.pool.begin().await.unwrap();
    assert_eq!(once(&scratch.store, &mut tx, "1").await, Handled::First);
    let refused = Transactions::begin(&other).await.unwrap_err();
    assert!(refused.is_transient(), "{refused:?}");
    tx.commit().await.unwrap();
    let mut open = Transactions::begin(&other).await.unwrap();
    let handled = once(&other, other.tx(&mut open), "1").await;
    assert_eq!(handled, Handled::Duplicate);
}

#[tokio::test]
async fn i1_a_savepoint_that_is_rolled_back_forgets() {
    let scratch = Scratch::new().await;
    let mut open = scratch.handler().await;
    let tx = scratch.store.tx(&mut open);
    let mut savepoint = tx.begin().await.unwrap();
    assert_eq!(
        once(&scratch.store, &mut savepoint, "1").await,
        Handled::First
    );
    savepoint.rollback().await.unwrap();
    assert_eq!(once(&scratch.store, &mut *tx, "1").await, Handled::First);
    let mut savepoint = tx.begin().await.unwrap();
    assert_eq!(
        once(&scratch.store, &mut savepoint, "2").await,
        Handled::First
    );
    savepoint.commit().await.unwrap();
    scratch.store.commit(open).await.unwrap();
    assert_eq!(scratch.handle("1").await, Handled::Duplicate);
    assert_eq!(scratch.handle("2").await, Handled::Duplicate);
}

/// One connection: if it came back inside a transaction, nothing could begin.
#[tokio::test]
async fn t2_a_dropped_handler_is_rolled_back_and_frees_the_write_lock() {
    let scratch = Scratch::with_connections(1).await;
    for _ in 0..3 {
        let mut open = scratch.handler().await;
        let tx = scratch.store.tx(&mut open);
        assert_eq!(once(&scratch.store, &mut *tx, "1").await, Handled::First);
        scratch
            .store
            .save(tx, &message(None, "gone"))
            .await
            .unwrap();
        drop(open);
    }
    let mut open = scratch.handler().await;
    scratch
        .store
        .save(scratch.store.tx(&mut open), &message(None, "gone"))
        .await
        .unwrap();
    scratch.store.rollback(open).await;
    assert_eq!(scratch.handle("1").await, Handled::First);
    assert!(scratch.drain(10).await.is_empty());
}

#[tokio::test]
async fn t3_what_cannot_be_committed_whole_is_refused() {
    let scratch = Scratch::with_connections(1).await;
    let mut open = scratch.handler().await;
    let savepoint = scratch.store.tx(&mut open).begin().await.unwrap();
    std::mem::forget(savepoint);
    let refused = scratch.store.commit(open).await.unwrap_err();
    assert!(
        matches!(refused, StoreError::Unusable { .. }),
        "{refused:?}"
    );

    // As SQLite does by itself on a full disk.
    let mut open = scratch.handler().await;
    let tx = scratch.store.tx(&mut open);
    assert_eq!(once(&scratch.store, &mut *tx, "1").await, Handled::First);
    tx.execute("INSERT OR ROLLBACK INTO outbox_schema_version (one, version) VALUES (1, 1)")
        .await
        .unwrap_err();
    let refused = scratch.store.commit(open).await;
    assert!(refused.is_err());
    assert_eq!(scratch.handle("1").await, Handled::First);
}

#[tokio::test]
async fn a5_what_was_handled_is_purged_beside_an_open_reader() {
    let scratch = Scratch::new().await;
    assert_eq!(scratch.handle("1").await, Handled::First);
    let mut reader = scratch.pool.begin().await.unwrap();
    let read = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM outbox_inbox");
    assert_eq!(read.fetch_one(&mut *reader).await.unwrap(), 1);
    let purge = Purge {
        older_than: Duration::MAX,
        inbox_older_than: Some(Duration::ZERO),
        limit: 10,
        mode: PurgeMode::Delete,
    };
    let purged = scratch.store.purge(&purge).await.unwrap();
    assert_eq!(purged.inbox, 1);
    reader.rollback().await.unwrap();
    assert_eq!(scratch.handle("1").await, Handled::First);
}

/// Version 4 brings the inbox, beside whatever a store of version 3 holds.
#[tokio::test]
async fn a_file_without_an_inbox_gets_one_beside_its_messages() {
    let folder = tempfile::tempdir().unwrap();
    let options = connect_options(&url(&folder)).unwrap();
    let pool = SqlitePool::connect_with(options.create_if_missing(true))
        .await
        .unwrap();
    pool.execute("PRAGMA journal_mode = WAL").await.unwrap();
    for migration in &SQLITE.migrations[..3] {
        let mut tx = pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
        let run = sqlx::raw_sql(AssertSqlSafe(migration.sql));
        run.execute(&mut *tx).await.unwrap();
        tx.commit().await.unwrap();
    }
    pool.execute(
        "INSERT INTO outbox_message (position, lane, id, topic, payload) VALUES (1, 0, 'm', 'orders', x'00')",
    )
    .await
    .unwrap();
    let refused = SqliteStore::open(pool.clone()).await.unwrap_err();
    assert!(
        matches!(refused, StoreError::Schema { found: 3, .. }),
        "{refused:?}"
    );
    SqliteStore::migrate(&pool).await.unwrap();
    let store = SqliteStore::open(pool.clone()).await.unwrap();
    let scratch = Scratch {
        folder,
        pool,
        store,
    };
    assert_eq!(scratch.handle("m").await, Handled::First);
    assert_eq!(scratch.handle("m").await, Handled::Duplicate);
    assert_eq!(scratch.drain(10).await, [b"\0"]);
}
