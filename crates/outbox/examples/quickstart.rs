//! The whole story in one file: a business row and a message in one SQLite transaction, then a relay that publishes it.
//!
//! Run it with `cargo run -p outbox --example quickstart --features sqlite,relay,file`.

#![allow(clippy::print_stderr, reason = "an example talks to its reader")]

use std::error::Error;

use outbox::{
    Envelope, Outbox, Relay,
    file::FilePublisher,
    sqlite::{SqliteStore, connect_options},
};
use serde::Serialize;
use sqlx::SqlitePool;

#[derive(Serialize)]
struct OrderCreated {
    id: i64,
    total: i64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("shop.db");
    let options = connect_options(&format!("sqlite:{}", file.display()))?.create_if_missing(true);
    let pool = SqlitePool::connect_with(options).await?;
    sqlx::query("create table orders (id integer primary key, total integer not null)")
        .execute(&pool)
        .await?;

    // Once, at deployment.
    SqliteStore::migrate(&pool).await?;
    let outbox = Outbox::new(SqliteStore::open(pool.clone()).await?);

    // The order and its message are there together, or neither is.
    place_order(
        &pool,
        &outbox,
        OrderCreated {
            id: 1042,
            total: 9900,
        },
    )
    .await?;
    place_order(
        &pool,
        &outbox,
        OrderCreated {
            id: 1043,
            total: 250,
        },
    )
    .await?;
    let refused = place_order(&pool, &outbox, OrderCreated { id: 1042, total: 1 }).await;
    eprintln!(
        "the second order 1042 was refused, and so was its message: {}",
        refused.is_err()
    );

    // Elsewhere, any time later, in this process or in another one.
    let report = Relay::new(outbox.store(), FilePublisher::stdout())
        .drain()
        .await?;
    eprintln!("{} messages published", report.published);
    Ok(())
}

async fn place_order(
    pool: &SqlitePool,
    outbox: &Outbox<SqliteStore>,
    order: OrderCreated,
) -> Result<(), Box<dyn Error>> {
    let mut tx = pool.begin_with("BEGIN IMMEDIATE").await?;
    let envelope = Envelope::make("urn:babel:orders:created", &order)?.queue("orders");
    outbox.write(&mut tx, envelope, order.id).await?;
    sqlx::query("insert into orders (id, total) values (?, ?)")
        .bind(order.id)
        .bind(order.total)
        .execute(&mut *tx)
        .await?;
    tx.commit().await?;
    Ok(())
}
