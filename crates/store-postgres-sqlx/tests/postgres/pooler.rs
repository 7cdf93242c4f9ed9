//! What is kept on a connection: behind a pooler nothing, since the next transaction has another server connection.

use outbox_store::{OutboxOperator, OutboxStore, Save};
use outbox_store_postgres_sqlx::{Connection, PostgresConfig};

use crate::scratch::{Scratch, message};

/// How many statements are prepared on the only connection, after everything was used.
async fn prepared(connection: Connection) -> i64 {
    let config = PostgresConfig {
        connection,
        ..PostgresConfig::default()
    };
    let scratch = Scratch::with(config, 1, |options| options).await;
    let order = message(Some("a"), "1");
    let mut tx = scratch.pool().begin().await.unwrap();
    scratch.store.save(&mut tx, &order).await.unwrap();
    let both = [Save::from(&order), Save::from(&order)];
    scratch.store.save_all(&mut tx, &both).await.unwrap();
    scratch.store.pending(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(scratch.drain().await.len(), 3);
    scratch.store.status().await.unwrap();
    scratch.store.maintain().await.unwrap();
    sqlx::query_scalar("SELECT count(*) FROM pg_prepared_statements")
        .persistent(false)
        .fetch_one(scratch.pool())
        .await
        .unwrap()
}

#[tokio::test]
async fn d3_behind_a_pooler_no_statement_stays_prepared() {
    assert_eq!(prepared(Connection::Pooler).await, 0);
    assert!(prepared(Connection::Direct).await > 5);
}
