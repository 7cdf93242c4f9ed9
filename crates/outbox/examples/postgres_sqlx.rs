//! The whole story on Postgres through sqlx: a business row and a message in one transaction, two relays, a look at what is left.
//!
//! Run it with `DATABASE_URL=postgres://... cargo run -p outbox --example postgres_sqlx --features postgres-sqlx,relay,file`.
//! It works in a schema of its own, which it drops at the end.

#![allow(clippy::print_stderr, reason = "an example talks to its reader")]

use std::{env, error::Error};

use outbox::{
    Envelope, Outbox, Relay,
    file::FilePublisher,
    postgres_sqlx::{PostgresConfig, PostgresStore, SchemaName},
    store::OutboxOperator,
};
use serde::Serialize;
use sqlx::{AssertSqlSafe, PgPool, postgres::PgConnectOptions};

#[derive(Serialize)]
struct OrderCreated {
    id: i64,
    total: i64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = env::var("DATABASE_URL").or_else(|_| env::var("OUTBOX_TEST_POSTGRES"))?;
    let schema: SchemaName = format!("example_sqlx_{}", std::process::id()).parse()?;
    // The application's own table stands in the same schema here; usually the outbox has one to itself.
    let options: PgConnectOptions = url.parse()?;
    let pool = PgPool::connect_with(options.options([("search_path", schema.as_str())])).await?;

    let played = play(&pool, &schema).await;
    let drop = format!("drop schema if exists {} cascade", schema.quoted());
    sqlx::raw_sql(AssertSqlSafe(drop)).execute(&pool).await?;
    played
}

async fn play(pool: &PgPool, schema: &SchemaName) -> Result<(), Box<dyn Error>> {
    // Once, at deployment, by a role that may create tables.
    PostgresStore::migrate_with(pool, schema).await?;
    sqlx::query("create table orders (id bigint primary key, total bigint not null)")
        .execute(pool)
        .await?;

    let config = PostgresConfig {
        schema: schema.clone(),
        ..PostgresConfig::default()
    };
    let outbox = Outbox::new(PostgresStore::open_with(pool.clone(), config).await?);

    // The order and its message are there together, or neither is.
    for id in [1042, 1043] {
        place_order(pool, &outbox, OrderCreated { id, total: 9900 }).await?;
    }
    let refused = place_order(pool, &outbox, OrderCreated { id: 1042, total: 1 }).await;
    eprintln!(
        "the second order 1042 was refused, and so was its message: {}",
        refused.is_err()
    );
    let status = outbox.store().status().await?;
    eprintln!("{} messages pending", status.pending());

    // Elsewhere, any time later, in this process or in others; any number of relays share the work.
    let relay = || Relay::new(outbox.store(), FilePublisher::stdout());
    let (one, other) = (relay(), relay());
    let (one, other) = tokio::join!(one.drain(), other.drain());
    eprintln!("{} messages published", one?.published + other?.published);
    Ok(())
}

async fn place_order(
    pool: &PgPool,
    outbox: &Outbox<PostgresStore>,
    order: OrderCreated,
) -> Result<(), Box<dyn Error>> {
    let mut tx = pool.begin().await?;
    let envelope = Envelope::make("urn:babel:orders:created", &order)?.queue("orders");
    outbox.write(&mut tx, envelope, order.id).await?;
    sqlx::query("insert into orders (id, total) values ($1, $2)")
        .bind(order.id)
        .bind(order.total)
        .execute(&mut *tx)
        .await?;
    tx.commit().await?;
    Ok(())
}
