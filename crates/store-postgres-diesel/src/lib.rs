//! The Postgres store of the outbox toolkit, through diesel and diesel-async: messages in the application's own database, saved in its own transactions.
//!
//! # Where to find things
//!
//! * [`PostgresStore::migrate`] creates the tables, once, at deployment; [`PostgresStore::open`] changes nothing
//! * [`PostgresStore::save`] saves a message inside the caller's transaction, on a connection of diesel-async
//! * [`PostgresStore::once`] records inside a handler's transaction that a message was handled
//! * `sync::PostgresWriter` does the same on a blocking connection of diesel (feature `sync`)
//! * [`OutboxStore`](outbox_store::OutboxStore) and [`OutboxOperator`](outbox_store::OutboxOperator) are what relays and people use
//! * [`PostgresConfig`] names the schema, and says what stands between this program and the server
//!
//! ```no_run
//! use diesel_async::{
//!     AsyncConnection, AsyncPgConnection,
//!     pooled_connection::{AsyncDieselConnectionManager, ManagerConfig, RecyclingMethod, deadpool::Pool},
//! };
//! use outbox_message::Message;
//! use outbox_store_postgres_diesel::{PostgresStore, SaveError};
//!
//! // A transaction of diesel answers one error type, which both diesel's errors and those of a save become.
//! #[derive(Debug, thiserror::Error)]
//! enum OrderError {
//!     #[error(transparent)]
//!     Database(#[from] diesel::result::Error),
//!     #[error(transparent)]
//!     Outbox(#[from] SaveError),
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut config = ManagerConfig::default();
//! config.recycling_method = RecyclingMethod::Fast;
//! let url = "postgres://app@localhost/shop";
//! let manager = AsyncDieselConnectionManager::<AsyncPgConnection>::new_with_config(url, config);
//! let pool = Pool::builder(manager).build()?;
//! PostgresStore::migrate(&pool).await?;
//!
//! let store = PostgresStore::open(pool.clone()).await?;
//! let message = Message::new("orders", r#"{"id":1042}"#)?.with_key("order-1042")?;
//! let mut connection = pool.get().await?;
//! connection
//!     .transaction(async |connection| {
//!         // ... the statements of the application ...
//!         store.save(connection, &message).await?;
//!         Ok::<_, OrderError>(())
//!     })
//!     .await?;
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
//! [`WakeUp::Notify`] a relay has one connection more, beside the pool, on which it listens. `RecyclingMethod::Fast` spares a round trip for each of
//! these transactions. Behind a pooler ([`Connection::Pooler`]) the pool needs it, since any other method runs a statement outside of a transaction, and
//! [`connect_through_pooler`], since connecting does so too.
//!
//! TLS is a matter of the pool: its manager makes the connections, see `ManagerConfig::custom_setup`.
//!
//! # Building
//!
//! Without the feature `sync` nothing of libpq is needed. With it the program is linked with libpq, by the crate `pq-sys`: either the system's (`libpq-dev`
//! on Debian and Ubuntu), or one that is built along, when the program itself depends on `pq-sys` with the feature `bundled_without_openssl` (needs
//! a C compiler, speaks no TLS) or `bundled`.
//!
//! # What diesel does not tell
//!
//! Diesel passes no SQLSTATE on. Conflicts, deadlocks and missing tables are recognized all the same; a role that lacks a right is not, and is reported as
//! [`StoreError::Database`] or [`SaveError::Database`] with the server's own words.

mod error;
mod inbox;
mod listen;
mod operator;
mod pool;
mod pooler;
mod relay;
mod save;
mod statement;
mod store;
#[cfg(feature = "sync")]
pub mod sync;

pub use error::DieselError;
pub use inbox::HandlerTransaction;
pub use outbox_store::{SaveError, StoreError};
pub use outbox_store_postgres::{
    Connection, InvalidSchemaName, PostgresConfig, SchemaName, WakeUp,
};
pub use pooler::connect_through_pooler;
pub use store::PostgresStore;
