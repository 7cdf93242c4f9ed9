//! A service that consumes: what a broker delivers is saved, then handled in the service's own transaction, once for each message id.
//!
//! Run it with `cargo run -p outbox --example inbox_service --features sqlite,inbox -- billing.db incoming.db`, and type a delivery, as often as you like:
//! `{"job":"urn:babel:orders:created","data":{"id":1042,"total":9900},"meta":{"id":"m-1"}}`. The end of the input stops it.

#![allow(clippy::print_stdout, reason = "an example talks to its reader")]

use std::{error::Error, io};

use outbox::{
    Envelope, Outbox, Relay, RelayConfig,
    inbox::{Delivered, Dispatcher, HandlerError, Incoming, Intake, Processor, UnknownUrn},
    sqlite::{SqliteStore, connect_options},
};
use serde::{Deserialize, Serialize};
use sqlx::{SqliteConnection, SqlitePool};
use tokio::{sync::oneshot, task::block_in_place};

#[derive(Deserialize)]
struct OrderCreated {
    id: i64,
    total: i64,
}

#[derive(Serialize)]
struct BillIssued {
    order: i64,
    total: i64,
}

struct Billing {
    outbox: Outbox<SqliteStore>,
}

impl Billing {
    /// The bill, the message about it, and the id of the message about the order are committed together, or nothing is.
    async fn order_created(
        &self,
        tx: &mut SqliteConnection,
        order: Delivered<OrderCreated>,
    ) -> Result<(), HandlerError> {
        let OrderCreated { id, total } = order.data;
        if total < 0 {
            return Err(HandlerError::new("an order has a negative total").permanent());
        }
        sqlx::query("insert into bills (order_id, total) values (?, ?)")
            .bind(id)
            .bind(total)
            .execute(&mut *tx)
            .await?;
        let issued = Envelope::make("urn:babel:bills:issued", &BillIssued { order: id, total })?;
        self.outbox.write(tx, issued.queue("bills"), id).await?;
        println!("billing order {id}");
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let usage = "usage: inbox_service DATABASE INCOMING";
    let mut arguments = std::env::args().skip(1);
    let billing = open(arguments.next().ok_or(usage)?).await?;
    // What came in is not in the service's own outbox, whose relay would publish it.
    let incoming = open(arguments.next().ok_or(usage)?).await?;
    sqlx::query("create table if not exists bills (order_id integer, total integer not null)")
        .execute(billing.pool())
        .await?;

    let service = Billing {
        outbox: Outbox::new(billing.clone()),
    };
    let dispatcher = Dispatcher::new(service)
        .on("urn:babel:orders:created", Billing::order_created)
        .unknown_urn(UnknownUrn::Delete);
    let processor = Processor::new(billing, "billing".parse()?, dispatcher);
    // SQLite has one writer at a time, so that more would wait for each other.
    let config = RelayConfig {
        concurrency: 1,
        ..RelayConfig::default()
    };
    let relay = Relay::with_config(incoming.clone(), processor, config)?;
    let waker = relay.waker();
    let (stop, stopped) = oneshot::channel::<()>();
    let relay = tokio::spawn(relay.run(async {
        stopped.await.ok();
    }));

    // Here a service has the client of its broker.
    let intake = Intake::new(incoming);
    let mut deliveries = io::stdin().lines();
    while let Some(delivery) = block_in_place(|| deliveries.next()) {
        intake.take(Incoming::new("orders", delivery?)).await?;
        // It is saved, and here it is acknowledged. If that fails it comes again, and is a duplicate.
        waker.wake();
    }

    drop(stop);
    let report = relay.await??;
    println!("handled {} dead {}", report.published, report.dead);
    Ok(())
}

async fn open(file: String) -> Result<SqliteStore, Box<dyn Error>> {
    let options = connect_options(&format!("sqlite:{file}"))?.create_if_missing(true);
    let pool = SqlitePool::connect_with(options).await?;
    SqliteStore::migrate(&pool).await?;
    Ok(SqliteStore::open(pool).await?)
}
