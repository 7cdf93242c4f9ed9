//! The whole story on Postgres through diesel-async: an order and a message in one transaction, then a relay on a pool of the application.
//!
//! Run it with `DATABASE_URL=postgres://... cargo run -p outbox --example diesel_async --features postgres-diesel,relay,file`.
//! It works in a schema of its own, which it drops at the end.

#![allow(clippy::print_stderr, reason = "an example talks to its reader")]

use std::{env, error::Error};

use diesel::{sql_query, sql_types::BigInt};
use diesel_async::{
    AsyncConnection, AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection,
    pooled_connection::{
        AsyncDieselConnectionManager, ManagerConfig, RecyclingMethod, deadpool::Pool,
    },
};
use outbox::{
    Envelope, Outbox, Relay, WriteError,
    file::FilePublisher,
    postgres_diesel::{PostgresConfig, PostgresStore, SchemaName},
};
use serde::Serialize;

#[derive(Serialize)]
struct OrderCreated {
    id: i64,
    total: i64,
}

/// What can go wrong with an order. A transaction of diesel answers one error type, which diesel's errors and those of a write become.
#[derive(Debug, thiserror::Error)]
enum OrderError {
    #[error("the database refused the order")]
    Database(#[from] diesel::result::Error),
    #[error("the message of the order was not written")]
    Outbox(#[from] WriteError),
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = env::var("DATABASE_URL").or_else(|_| env::var("OUTBOX_TEST_POSTGRES"))?;
    let schema: SchemaName = format!("example_diesel_async_{}", std::process::id()).parse()?;
    let pool = pool(&url)?;

    let played = play(&pool, &schema).await;
    let drop = format!("drop schema if exists {} cascade", schema.quoted());
    pool.get().await?.batch_execute(&drop).await?;
    played
}

async fn play(pool: &Pool<AsyncPgConnection>, schema: &SchemaName) -> Result<(), Box<dyn Error>> {
    // Once, at deployment, by a role that may create tables.
    PostgresStore::migrate_with(pool, schema).await?;
    // The application's own table stands in the same schema here; usually the outbox has one to itself.
    let mut connection = pool.get().await?;
    let table = format!(
        "set search_path to {}; create table orders (id bigint primary key, total bigint not null)",
        schema.quoted()
    );
    connection.batch_execute(&table).await?;

    let config = PostgresConfig {
        schema: schema.clone(),
        ..PostgresConfig::default()
    };
    let outbox = Outbox::new(PostgresStore::open_with(pool.clone(), config).await?);

    // The order and its message are there together, or neither is.
    for id in [1042, 1043] {
        place_order(&mut connection, &outbox, OrderCreated { id, total: 9900 }).await?;
    }
    let again = OrderCreated { id: 1042, total: 1 };
    let refused = place_order(&mut connection, &outbox, again).await;
    eprintln!(
        "the second order 1042 was refused, and so was its message: {}",
        refused.is_err()
    );

    // Elsewhere, any time later, in this process or in another one.
    let relay = Relay::new(outbox.store(), FilePublisher::stdout());
    let report = relay.drain().await?;
    eprintln!("{} messages published", report.published);
    Ok(())
}

async fn place_order(
    connection: &mut AsyncPgConnection,
    outbox: &Outbox<PostgresStore>,
    order: OrderCreated,
) -> Result<(), Box<dyn Error>> {
    let envelope = Envelope::make("urn:babel:orders:created", &order)?.queue("orders");
    connection
        .transaction(async |connection| {
            outbox.write(connection, envelope, order.id).await?;
            sql_query("insert into orders (id, total) values ($1, $2)")
                .bind::<BigInt, _>(order.id)
                .bind::<BigInt, _>(order.total)
                .execute(connection)
                .await?;
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
