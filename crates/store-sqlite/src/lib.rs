//! The SQLite store: messages in the application's own database file, saved in its own transactions.
//!
//! # Where to find things
//!
//! * [`SqliteStore::migrate`] creates the tables, once, at deployment; [`SqliteStore::open`] changes nothing
//! * [`SqliteStore::save`] saves a message inside the caller's transaction
//! * [`SqliteStore::once`] records inside a handler's transaction that a message was handled
//! * [`OutboxStore`](outbox_store::OutboxStore) and [`OutboxOperator`](outbox_store::OutboxOperator) are what relays and people use
//! * [`connect_options`] opens a file the way an outbox should be opened
//!
//! Begin the transaction of a save with `BEGIN IMMEDIATE`: a transaction that begins by reading and then saves fails as
//! soon as another writer commits in between, and no busy timeout helps ([`SaveError::Busy`](outbox_store::SaveError::Busy)).
//!
//! ```
//! use outbox_message::Message;
//! use outbox_store_sqlite::{SqliteStore, connect_options};
//! use sqlx::SqlitePool;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let file = folder.path().join("app.db");
//! let options = connect_options(&format!("sqlite:{}", file.display()))?.create_if_missing(true);
//! let pool = SqlitePool::connect_with(options).await?;
//! SqliteStore::migrate(&pool).await?;
//!
//! let store = SqliteStore::open(pool.clone()).await?;
//! let message = Message::new("orders", r#"{"id":1042}"#)?.with_key("order-1042")?;
//! let mut tx = pool.begin_with("BEGIN IMMEDIATE").await?;
//! store.save(&mut tx, &message).await?;
//! tx.commit().await?;
//! # Ok(())
//! # }
//! ```
//!
//! The tables have names that begin with `outbox_`, and any program may write messages into them by the rules that stand in
//! [`SqliteStore::print_migrations`]. There are 8 lanes, so that several relays can publish at once; a claim takes at most 2.

mod claim;
mod connect;
mod error;
mod inbox;
mod lease;
mod moves;
mod operator;
mod relay;
mod row;
mod save;
mod schema;
mod settle;
mod store;
mod topics;
mod transaction;
mod upkeep;

pub use connect::connect_options;
pub use inbox::HandlerTransaction;
pub use store::{SqliteConfig, SqliteStore};
