//! Transactional outbox: save a message in your own database transaction; a relay publishes it afterwards.
//!
//! A service that commits a business row and then publishes an event can crash in between, and then one of the two
//! is missing. Here the message is a row of the same transaction, so that both are there or neither is, and a relay
//! publishes it afterwards: at least once, and in order for each key.
//!
//! # Where to find things
//!
//! | you want to | look at | feature |
//! | --- | --- | --- |
//! | save messages in your transaction | [`Outbox::write`], [`Outbox::save`], [`Outbox::save_all`] | |
//! | the same on a connection that blocks | [`Outbox::write_sync`], [`Outbox::save_sync`], [`Outbox::save_all_sync`] | |
//! | make an envelope, or a message without one | [`Envelope`], [`Message`], [`Key`] | |
//! | schedule a message, or save it once | [`Save`] | |
//! | keep messages in SQLite | `sqlite` | `sqlite` |
//! | keep messages in Postgres, through sqlx | `postgres_sqlx` | `postgres-sqlx` |
//! | keep messages in Postgres, through diesel-async | `postgres_diesel` | `postgres-diesel` |
//! | keep messages in Postgres, through diesel's blocking connections | `postgres_diesel` | `postgres-diesel-sync` |
//! | run the tables' statements yourself | `migrations` | with a store |
//! | keep messages in memory, in tests | `Outbox::memory`, `memory` | `memory` |
//! | publish what was saved | `Relay`, `RelayConfig`, `Report` | `relay` |
//! | publish to a file or to standard output | `file` | `file` |
//! | publish to HTTP endpoints: webhooks, CloudEvents | `http` | `http` |
//! | publish to Kafka | `kafka` | `kafka`, `kafka-tls` |
//! | publish to NATS `JetStream` | `nats` | `nats` |
//! | publish to `RabbitMQ` | `rabbitmq` | `rabbitmq` |
//! | publish to Redis | `redis` | `redis` |
//! | handle what a broker delivers, once for each message id | `inbox`: `Inbox`, `Processor`, `Dispatcher` | `inbox` |
//! | write a publisher of your own | [`publisher`] | |
//! | look at dead letters and blocked keys | [`store::OutboxOperator`] | |
//! | publish dead letters of what a relay gives up on | `DeadLetters` | `relay` |
//! | bring dead letters back from a broker's queue | [`Redriving`], [`publisher::Redrive`] | with a broker |
//! | write a store of your own | [`store`], and the crate `outbox-testkit` | |
//! | test your own service | the crate `outbox-testkit` | |
//!
//! # A message's way
//!
#![cfg_attr(
    all(feature = "sqlite", feature = "relay", feature = "file"),
    doc = "```"
)]
#![cfg_attr(
    not(all(feature = "sqlite", feature = "relay", feature = "file")),
    doc = "```ignore"
)]
//! use outbox::{Envelope, Outbox, Relay, file::FilePublisher, sqlite::SqliteStore};
//! # use sqlx::sqlite::{SqliteConnectOptions, SqlitePool};
//! # use serde::Serialize;
//!
//! #[derive(Serialize)]
//! struct OrderCreated {
//!     id: i64,
//!     total: i64,
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! # let folder = tempfile::tempdir()?;
//! # let options = SqliteConnectOptions::new().filename(folder.path().join("shop.db")).create_if_missing(true);
//! # let pool = SqlitePool::connect_with(options).await?;
//! # sqlx::query("create table orders (id integer primary key, total integer not null)").execute(&pool).await?;
//! SqliteStore::migrate(&pool).await?; // once, at deployment
//! let outbox = Outbox::new(SqliteStore::open(pool.clone()).await?);
//!
//! // Your transaction, your row, your message: all of it or nothing.
//! let order = OrderCreated { id: 1042, total: 9900 };
//! let mut tx = pool.begin_with("BEGIN IMMEDIATE").await?;
//! sqlx::query("insert into orders (id, total) values (?, ?)").bind(order.id).bind(order.total).execute(&mut *tx).await?;
//! let envelope = Envelope::make("urn:babel:orders:created", &order)?.queue("orders");
//! outbox.write(&mut tx, envelope, "order-1042").await?;
//! tx.commit().await?;
//!
//! // Elsewhere, any time later:
//! let publisher = FilePublisher::open(folder.path().join("published.ndjson"))?;
//! let report = Relay::new(outbox.store(), publisher).drain().await?;
//! assert_eq!(report.published, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "relay")]
mod dead_letters;
mod outbox;
mod redrive;

pub use outbox_envelope::{self as envelope, Envelope};
pub use outbox_message::{self as message, Key, Message};
pub use outbox_publisher as publisher;
pub use outbox_store::{self as store, Save, SaveError, Saved};

#[cfg(feature = "relay")]
pub use outbox_engine::{self as relay, Relay, RelayConfig, Report};

/// When to try again after a counted failure.
#[cfg(feature = "relay")]
pub use outbox_backoff as backoff;

/// The consumer's half: each message has its effect once, in the transaction of its handler.
#[cfg(feature = "inbox")]
pub use outbox_inbox as inbox;

/// Messages in memory, for tests and demonstrations.
#[cfg(feature = "memory")]
pub use outbox_store_memory as memory;

/// Messages in a Postgres database, through diesel and diesel-async.
#[cfg(feature = "postgres-diesel")]
pub use outbox_store_postgres_diesel as postgres_diesel;

/// Messages in a Postgres database, through sqlx.
#[cfg(feature = "postgres-sqlx")]
pub use outbox_store_postgres_sqlx as postgres_sqlx;

/// Messages in an SQLite file, through sqlx.
#[cfg(feature = "sqlite")]
pub use outbox_store_sqlite as sqlite;

/// The statements that make the tables, as a script and as files for the migrations of an application.
#[cfg(feature = "migrations")]
pub use outbox_migrations as migrations;

/// Publishes to a file or to standard output, a line of JSON for each message.
#[cfg(feature = "file")]
pub use outbox_publisher_file as file;

/// Publishes to HTTP endpoints: as webhooks, or as CloudEvents.
#[cfg(feature = "http")]
pub use outbox_publisher_http as http;

/// Publishes to topics of Kafka.
#[cfg(feature = "kafka")]
pub use outbox_publisher_kafka as kafka;

/// Publishes to streams of NATS `JetStream`.
#[cfg(feature = "nats")]
pub use outbox_publisher_nats as nats;

/// Publishes to queues and exchanges of `RabbitMQ`.
#[cfg(feature = "rabbitmq")]
pub use outbox_publisher_rabbitmq as rabbitmq;

/// Publishes to Redis: to lists that BabelQueue or Laravel reads, or to streams.
#[cfg(feature = "redis")]
pub use outbox_publisher_redis as redis;

#[cfg(feature = "relay")]
pub use dead_letters::{DeadLetters, InvalidDeadLetterTopic};
pub use outbox::{Outbox, WriteError};
pub use redrive::{Bypass, LeftInPlace, Redriving};
