//! The Postgres store, through sqlx: messages in the application's own database, saved in its own transactions.
//!
//! # Where to find things
//!
//! * [`PostgresStore::migrate`] creates the tables, once, at deployment; [`PostgresStore::open`] changes nothing
//! * [`PostgresStore::save`] saves a message inside the caller's transaction
//! * [`PostgresStore::once`] records inside a handler's transaction that a message was handled
//! * [`OutboxStore`](outbox_store::OutboxStore) and [`OutboxOperator`](outbox_store::OutboxOperator) are what relays and people use
//! * [`PostgresConfig`] names the schema, and says what stands between this program and the server
//!
//! ```no_run
//! use outbox_message::Message;
//! use outbox_store_postgres_sqlx::PostgresStore;
//! use sqlx::PgPool;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let pool = PgPool::connect("postgres://app@localhost/shop").await?;
//! PostgresStore::migrate(&pool).await?;
//!
//! let store = PostgresStore::open(pool.clone()).await?;
//! let message = Message::new("orders", r#"{"id":1042}"#)?.with_key("order-1042")?;
//! let mut tx = pool.begin().await?;
//! store.save(&mut tx, &message).await?;
//! tx.commit().await?;
//! # Ok(())
//! # }
//! ```
//!
//! The tables stand in a schema of their own, `outbox` unless [`PostgresConfig::schema`] says otherwise, and any program may write messages into them
//! by the rules that stand in [`PostgresStore::print_migrations`]. There are 64 lanes.
//!
//! # Connections
//!
//! A claim, a settlement and a renewal each take a connection of the pool for one short transaction; none is held while a broker is spoken to. With
//! [`WakeUp::Notify`] a relay has one connection more, beside the pool, on which it listens.
//!
//! TLS is a feature of sqlx: `tls-rustls` and `tls-native-tls` of this crate turn on its own. Without one of them a server that asks for TLS cannot be
//! reached.

mod database;
mod error;
mod inbox;
mod listen;
mod operator;
mod relay;
mod session;
mod store;
mod write;

// For tests that put something between the shared store and this driver.
#[doc(hidden)]
pub use database::{PgDatabase, PgTransaction};
pub use error::SqlxError;
pub use inbox::HandlerTransaction;
pub use outbox_store_postgres::{
    Connection, InvalidSchemaName, PostgresConfig, SchemaName, WakeUp,
};
pub use store::PostgresStore;
