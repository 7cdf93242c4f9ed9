//! A web service with its relay beside it: the handler saves a row and a message in one transaction, and SIGTERM stops the
//! server first, then the relay within its grace, then the pool.
//!
//! Run it with `cargo run -p outbox --example axum_service --features sqlite,relay,file -- shop.db published.ndjson`, then
//! `curl -d '{"total":9900}' -H 'content-type: application/json' http://127.0.0.1:PORT/orders`.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example talks to its reader"
)]

use std::error::Error;

use axum::{Json, Router, extract::State, http::StatusCode, routing::post};
use outbox::{
    Envelope, Outbox, Relay, WriteError,
    file::FilePublisher,
    sqlite::{SqliteStore, connect_options},
};
use serde::{Deserialize, Serialize};
use sqlx::SqlitePool;
use tokio::{net::TcpListener, signal, sync::watch};

#[derive(Clone)]
struct Service {
    pool: SqlitePool,
    outbox: Outbox<SqliteStore>,
    relay: outbox::relay::Waker,
}

#[derive(Deserialize)]
struct NewOrder {
    total: i64,
}

#[derive(Serialize)]
struct Order {
    id: i64,
    total: i64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let database = arguments
        .next()
        .ok_or("usage: axum_service DATABASE PUBLISHED")?;
    let published = arguments
        .next()
        .ok_or("usage: axum_service DATABASE PUBLISHED")?;

    let options = connect_options(&format!("sqlite:{database}"))?.create_if_missing(true);
    let pool = SqlitePool::connect_with(options).await?;
    SqliteStore::migrate(&pool).await?;
    sqlx::query(
        "create table if not exists orders (id integer primary key, total integer not null)",
    )
    .execute(&pool)
    .await?;
    let outbox = Outbox::new(SqliteStore::open(pool.clone()).await?);

    let relay = Relay::new(outbox.store(), FilePublisher::open(published)?);
    let service = Service {
        pool: pool.clone(),
        outbox,
        relay: relay.waker(),
    };
    let (stop_relay, relay_stopped) = watch::channel(());
    let relay = tokio::spawn(relay.run(closed(relay_stopped)));

    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on {}", listener.local_addr()?);
    let app = Router::new()
        .route("/orders", post(create))
        .with_state(service);
    axum::serve(listener, app)
        .with_graceful_shutdown(terminated())
        .await?;

    // No handler saves any more: what is saved by now is still published within the relay's grace, or by the next one.
    drop(stop_relay);
    let report = relay.await??;
    pool.close().await;
    println!(
        "published {} released {} left {}",
        report.published, report.released, report.left
    );
    Ok(())
}

async fn create(
    State(service): State<Service>,
    Json(order): Json<NewOrder>,
) -> Result<Json<Order>, (StatusCode, String)> {
    let order = save(&service, order).await.map_err(|error| {
        report(&error);
        (
            StatusCode::INTERNAL_SERVER_ERROR,
            "the order was not saved".to_owned(),
        )
    })?;
    // Only a hint, so that the relay looks at once instead of at its next poll.
    service.relay.wake();
    Ok(Json(order))
}

/// The error and its causes, for the log; the client learns none of it.
fn report(error: &dyn Error) {
    eprintln!("an order was not saved: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        eprintln!("  because {error}");
        cause = error.source();
    }
}

async fn save(service: &Service, order: NewOrder) -> Result<Order, SaveOrderError> {
    let mut tx = service.pool.begin_with("BEGIN IMMEDIATE").await?;
    let id = sqlx::query_scalar("insert into orders (total) values (?) returning id")
        .bind(order.total)
        .fetch_one(&mut *tx)
        .await?;
    let order = Order {
        id,
        total: order.total,
    };
    let envelope = Envelope::make("urn:babel:orders:created", &order)
        .map_err(WriteError::from)?
        .queue("orders");
    service.outbox.write(&mut tx, envelope, id).await?;
    tx.commit().await?;
    Ok(order)
}

#[derive(Debug, thiserror::Error)]
enum SaveOrderError {
    #[error("the database refused")]
    Database(#[from] sqlx::Error),
    #[error("the message was not written")]
    Outbox(#[from] WriteError),
}

/// Completes when the service is told to stop.
async fn terminated() {
    let interrupted = signal::ctrl_c();
    let terminate = async {
        match signal::unix::signal(signal::unix::SignalKind::terminate()) {
            Ok(mut terminate) => {
                terminate.recv().await;
            }
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = interrupted => {}
        () = terminate => {}
    }
}

/// Completes when the sender is dropped.
async fn closed(mut receiver: watch::Receiver<()>) {
    while receiver.changed().await.is_ok() {}
}
