//! An order and its message in one transaction of diesel, on a blocking connection. Nothing here is async; a relay is another program.
//!
//! `cargo run --example diesel_sync --features sync -- postgres://localhost/shop`

#![allow(clippy::print_stdout, reason = "an example talks to its reader")]

use std::{env, error::Error};

use diesel::{Connection, PgConnection, RunQueryDsl, sql_query, sql_types::BigInt};
use outbox_message::Message;
use outbox_store_postgres_diesel::{
    PostgresConfig, SaveError,
    sync::{self, PostgresWriter},
};

/// What can go wrong with an order. A transaction of diesel answers one error type, which both diesel's errors and those of a save become.
#[derive(Debug, thiserror::Error)]
enum OrderError {
    #[error("the database refused the order")]
    Database(#[from] diesel::result::Error),
    #[error("the order's message was not saved")]
    Outbox(#[from] SaveError),
}

fn main() -> Result<(), Box<dyn Error>> {
    let url = env::args().nth(1).ok_or("name a database")?;
    let mut connection = PgConnection::establish(&url)?;
    sync::migrate(&mut connection)?;
    let outbox = PostgresWriter::new(PostgresConfig::default());

    sql_query("CREATE TABLE IF NOT EXISTS orders (id bigint PRIMARY KEY, total bigint NOT NULL)")
        .execute(&mut connection)?;
    place_order(&mut connection, &outbox, 1043)?;

    for message in outbox.pending(&mut connection)? {
        println!(
            "pending: {} to {}",
            message.id.as_str(),
            message.topic.as_str()
        );
    }
    Ok(())
}

/// Both are stored, or neither.
fn place_order(
    connection: &mut PgConnection,
    outbox: &PostgresWriter,
    id: i64,
) -> Result<(), Box<dyn Error>> {
    let message =
        Message::new("orders", format!(r#"{{"id":{id}}}"#))?.with_key(format!("order-{id}"))?;
    connection.transaction(|connection| {
        sql_query("INSERT INTO orders (id, total) VALUES ($1, 9900)")
            .bind::<BigInt, _>(id)
            .execute(connection)?;
        outbox.save(connection, &message)?;
        Ok::<_, OrderError>(())
    })?;
    Ok(())
}
