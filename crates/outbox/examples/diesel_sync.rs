//! An order and a message in one transaction of diesel, on a connection that blocks. Nothing here is async; a relay is another program, such as
//! `outbox relay`, or another thread with a runtime.
//!
//! Run it with `DATABASE_URL=postgres://... cargo run -p outbox --example diesel_sync --features postgres-diesel-sync`.
//! It works in a schema of its own, which it drops at the end.

#![allow(clippy::print_stderr, reason = "an example talks to its reader")]

use std::{env, error::Error};

use diesel::{
    Connection, PgConnection, RunQueryDsl, connection::SimpleConnection, sql_query,
    sql_types::BigInt,
};
use outbox::{
    Envelope, Outbox, WriteError,
    postgres_diesel::{
        PostgresConfig, SchemaName,
        sync::{self, PostgresWriter},
    },
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

fn main() -> Result<(), Box<dyn Error>> {
    let url = env::var("DATABASE_URL").or_else(|_| env::var("OUTBOX_TEST_POSTGRES"))?;
    let schema: SchemaName = format!("example_diesel_sync_{}", std::process::id()).parse()?;
    let mut connection = PgConnection::establish(&url)?;

    let played = play(&mut connection, &schema);
    let drop = format!("drop schema if exists {} cascade", schema.quoted());
    connection.batch_execute(&drop)?;
    played
}

fn play(connection: &mut PgConnection, schema: &SchemaName) -> Result<(), Box<dyn Error>> {
    // Once, at deployment, by a role that may create tables.
    sync::migrate_with(connection, schema)?;
    // The application's own table stands in the same schema here; usually the outbox has one to itself.
    connection.batch_execute(&format!(
        "set search_path to {}; create table orders (id bigint primary key, total bigint not null)",
        schema.quoted()
    ))?;

    let config = PostgresConfig {
        schema: schema.clone(),
        ..PostgresConfig::default()
    };
    let outbox = Outbox::new(PostgresWriter::new(config));

    // The order and its message are there together, or neither is.
    for id in [1042, 1043] {
        place_order(connection, &outbox, &OrderCreated { id, total: 9900 })?;
    }
    let again = OrderCreated { id: 1042, total: 1 };
    let refused = place_order(connection, &outbox, &again);
    eprintln!(
        "the second order 1042 was refused, and so was its message: {}",
        refused.is_err()
    );
    for message in outbox.store().pending(connection)? {
        eprintln!("pending: {} to {}", message.id, message.topic);
    }
    Ok(())
}

fn place_order(
    connection: &mut PgConnection,
    outbox: &Outbox<PostgresWriter>,
    order: &OrderCreated,
) -> Result<(), Box<dyn Error>> {
    let envelope = Envelope::make("urn:babel:orders:created", order)?.queue("orders");
    connection.transaction(|connection| {
        outbox.write_sync(connection, envelope, order.id)?;
        sql_query("insert into orders (id, total) values ($1, $2)")
            .bind::<BigInt, _>(order.id)
            .bind::<BigInt, _>(order.total)
            .execute(connection)?;
        Ok::<_, OrderError>(())
    })?;
    Ok(())
}
