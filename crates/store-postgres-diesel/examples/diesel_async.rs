//! An order and its message in one transaction of diesel-async, then a relay side that takes the message: the whole way, without a broker.
//!
//! `cargo run --example diesel_async -- postgres://localhost/shop`

#![allow(clippy::print_stdout, reason = "an example talks to its reader")]

use std::{env, error::Error};

use diesel::sql_query;
use diesel_async::{
    AsyncConnection, AsyncPgConnection, RunQueryDsl,
    pooled_connection::{
        AsyncDieselConnectionManager, ManagerConfig, RecyclingMethod, deadpool::Pool,
    },
};
use outbox_message::Message;
use outbox_store_postgres_diesel::{PostgresStore, SaveError};

/// What can go wrong with an order. A transaction of diesel answers one error type, which both diesel's errors and those of a save become.
#[derive(Debug, thiserror::Error)]
enum OrderError {
    #[error("the database refused the order")]
    Database(#[from] diesel::result::Error),
    #[error("the order's message was not saved")]
    Outbox(#[from] SaveError),
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = env::args().nth(1).ok_or("name a database")?;
    let pool = pool(&url)?;
    PostgresStore::migrate(&pool).await?;
    let store = PostgresStore::open(pool.clone()).await?;

    let mut connection = pool.get().await?;
    sql_query("CREATE TABLE IF NOT EXISTS orders (id bigint PRIMARY KEY, total bigint NOT NULL)")
        .execute(&mut connection)
        .await?;
    place_order(&mut connection, &store, 1042).await?;

    for message in store.pending(&mut connection).await? {
        println!(
            "pending: {} to {}",
            message.id.as_str(),
            message.topic.as_str()
        );
    }
    Ok(())
}

/// Both are stored, or neither.
async fn place_order(
    connection: &mut AsyncPgConnection,
    store: &PostgresStore,
    id: i64,
) -> Result<(), Box<dyn Error>> {
    let message =
        Message::new("orders", format!(r#"{{"id":{id}}}"#))?.with_key(format!("order-{id}"))?;
    connection
        .transaction(async |connection| {
            sql_query("INSERT INTO orders (id, total) VALUES ($1, 9900)")
                .bind::<diesel::sql_types::BigInt, _>(id)
                .execute(connection)
                .await?;
            store.save(connection, &message).await?;
            Ok::<_, OrderError>(())
        })
        .await?;
    Ok(())
}

fn pool(url: &str) -> Result<Pool<AsyncPgConnection>, Box<dyn Error>> {
    let mut config = ManagerConfig::default();
    config.recycling_method = RecyclingMethod::Fast;
    let manager = AsyncDieselConnectionManager::new_with_config(url, config);
    Ok(Pool::builder(manager).max_size(4).build()?)
}
