//! The shape of the facade, as the compiler sees it: what can be cloned and sent, and which ways to write a save infer the
//! connection. What must not compile stands in the documentation of this package.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

use std::future::Future;

use outbox::{
    Envelope, Key, Message, Outbox, Relay, RelayConfig, Save, SaveError, WriteError,
    memory::{MemoryStore, MemoryTx},
    postgres_diesel, postgres_sqlx,
    relay::{RelayError, Report},
    sqlite::{SqliteStore, connect_options},
    store::{OutboxOperator, OutboxStore, OutboxWriter},
};
use outbox_testkit::{Recorder, saved};
use sqlx::{SqlitePool, pool::PoolConnection, sqlite::Sqlite};
use tempfile::TempDir;

fn is_shared<T: Clone + Send + Sync + 'static>(value: T) -> T {
    value
}

fn is_sent<F: Future + Send + 'static>(future: F) -> F {
    future
}

fn is_a_store<S: OutboxStore + OutboxOperator>() {}

async fn sqlite() -> (TempDir, SqlitePool, Outbox<SqliteStore>) {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("shop.db").display());
    let options = connect_options(&url).unwrap().create_if_missing(true);
    let pool = SqlitePool::connect_with(options).await.unwrap();
    SqliteStore::migrate(&pool).await.unwrap();
    let store = SqliteStore::open(pool.clone()).await.unwrap();
    (folder, pool, Outbox::new(store))
}

fn message(payload: &'static str) -> Message {
    Message::new("orders", payload).unwrap()
}

fn envelope() -> Envelope {
    let data = std::collections::BTreeMap::from([("id", 1042)]);
    Envelope::make("urn:babel:orders:created", &data).unwrap()
}

#[test]
fn an_outbox_is_cloned_and_shared_between_tasks() {
    is_shared(Outbox::memory());
    let _ = is_shared::<Outbox<SqliteStore>>;
    let _ = is_shared::<Outbox<postgres_sqlx::PostgresStore>>;
    let _ = is_shared::<Outbox<postgres_diesel::PostgresStore>>;
    let _ = is_shared::<Outbox<postgres_diesel::sync::PostgresWriter>>;
    let _ = (is_a_store::<MemoryStore>, is_a_store::<SqliteStore>);
    let _ = is_a_store::<postgres_sqlx::PostgresStore>;
    let _ = is_a_store::<postgres_diesel::PostgresStore>;
}

#[test]
fn the_connections_of_postgres_are_inferred_too() {
    async fn sqlx_tx(
        outbox: &Outbox<postgres_sqlx::PostgresStore>,
        tx: &mut sqlx::Transaction<'static, sqlx::Postgres>,
    ) -> Result<(), WriteError> {
        outbox.write(tx, envelope(), "order-1").await?;
        outbox.write(&mut **tx, envelope(), Key::NONE).await?;
        outbox.save(tx, &message("a")).await?;
        Ok(())
    }
    async fn diesel_async_tx(
        outbox: &Outbox<postgres_diesel::PostgresStore>,
        tx: &mut diesel_async::AsyncPgConnection,
    ) -> Result<(), WriteError> {
        outbox.write(tx, envelope(), "order-1").await?;
        outbox.save(tx, &message("a")).await?;
        Ok(())
    }
    fn diesel_tx(
        outbox: &Outbox<postgres_diesel::sync::PostgresWriter>,
        tx: &mut diesel::PgConnection,
    ) -> Result<(), WriteError> {
        outbox.write_sync(tx, envelope(), "order-1")?;
        outbox.save_sync(tx, &message("a"))?;
        outbox.save_all_sync(tx, &[Save::from(&message("b"))])?;
        Ok(())
    }
    let _ = (sqlx_tx, diesel_async_tx, diesel_tx);
}

#[tokio::test]
async fn a_relay_can_be_spawned() {
    let relay = Relay::new(Outbox::memory().store(), Recorder::new());
    let waker = is_shared(relay.waker());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let run = is_sent(relay.run(async {
        stopped.await.ok();
    }));
    let run = tokio::spawn(run);
    waker.wake();
    stop.send(()).unwrap();
    let report: Result<Report, RelayError> = run.await.unwrap();
    assert_eq!(report.unwrap(), Report::default());
}

#[tokio::test]
async fn every_way_to_write_a_transaction_infers_its_connection() {
    let (_folder, pool, outbox) = sqlite().await;
    let mut tx = pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
    outbox.write(&mut tx, envelope(), "order-1").await.unwrap();
    outbox.write(&mut *tx, envelope(), 2_i64).await.unwrap();
    outbox.write(&mut tx, envelope(), Key::NONE).await.unwrap();
    outbox.save(&mut tx, &message("a")).await.unwrap();
    outbox.save(&mut *tx, &message("b")).await.unwrap();
    let (c, d) = (message("c"), message("d"));
    let both = [Save::from(&c), Save::from(&d)];
    outbox.save_all(&mut tx, &both).await.unwrap();

    let store = outbox.store();
    assert_eq!(saved(&store, &mut *tx).await.unwrap().len(), 7);
    tx.rollback().await.unwrap();
}

#[tokio::test]
async fn generic_code_saves_in_any_store() {
    async fn place<S, C>(outbox: &Outbox<S>, tx: &mut C) -> Result<(), WriteError>
    where
        S: OutboxWriter<C>,
        C: ?Sized + Send,
    {
        outbox.write(tx, envelope(), "order-1").await.map(|_| ())
    }
    let (_folder, pool, in_sqlite) = sqlite().await;
    let mut tx = pool.begin().await.unwrap();
    place(&in_sqlite, &mut *tx).await.unwrap();
    tx.commit().await.unwrap();

    let in_memory = Outbox::memory();
    let mut tx: MemoryTx = in_memory.store().begin();
    is_sent(async move {
        place(&in_memory, &mut tx).await.unwrap();
        tx.commit();
    })
    .await;
}

#[tokio::test]
async fn c1_a_connection_without_a_transaction_is_refused_and_told_how_to_begin_one() {
    let (_folder, pool, outbox) = sqlite().await;
    let mut connection: PoolConnection<Sqlite> = pool.acquire().await.unwrap();
    let refused = outbox.save(&mut connection, &message("a")).await;
    let Err(error @ SaveError::NoTransaction { .. }) = refused else {
        panic!("saved outside of a transaction: {refused:?}");
    };
    assert!(error.to_string().contains("BEGIN IMMEDIATE"), "{error}");
}

#[tokio::test]
async fn c4_a_key_that_breaks_a_limit_is_one_write_error() {
    let outbox = Outbox::memory();
    let mut tx = outbox.store().begin();
    let refused = outbox.write(&mut tx, envelope(), "").await;
    assert!(matches!(
        refused,
        Err(WriteError::Save(SaveError::Invalid(_)))
    ));
    assert!(saved(&outbox.store(), &mut tx).await.unwrap().is_empty());
}

#[test]
fn settings_that_do_not_fit_are_refused_before_anything_runs() {
    let config = RelayConfig {
        renewal: std::time::Duration::from_secs(25),
        ..RelayConfig::default()
    };
    let refused = Relay::with_config(MemoryStore::new(), Recorder::new(), config).unwrap_err();
    let text = refused.to_string();
    assert!(text.contains("renewal") && text.contains("lease"), "{text}");
}
