//! What crosses crates. Here is the code of the pages, as doctests; the tests are in `tests/`, the benches in `benches/`.
//!
//! # Where a message can be saved
//!
//! In an open transaction, by reference:
//!
//! ```
//! # use outbox::{Key, Message, Outbox, sqlite::SqliteStore};
//! # use sqlx::SqlitePool;
//! async fn save(outbox: &Outbox<SqliteStore>, pool: &SqlitePool, message: &Message) -> Result<(), Box<dyn std::error::Error>> {
//!     let mut tx = pool.begin().await?;
//!     outbox.save(&mut tx, message).await?;
//!     Ok(())
//! }
//! ```
//!
//! Not in a pool: that would be outside of the transaction. The only difference to the code above is the argument.
//!
//! ```compile_fail,E0308
//! # use outbox::{Key, Message, Outbox, sqlite::SqliteStore};
//! # use sqlx::SqlitePool;
//! async fn save(outbox: &Outbox<SqliteStore>, pool: &SqlitePool, message: &Message) -> Result<(), Box<dyn std::error::Error>> {
//!     let mut tx = pool.begin().await?;
//!     outbox.save(&pool, message).await?;
//!     Ok(())
//! }
//! ```
//!
//! Nor in a pool by mutable reference, which is no connection:
//!
//! ```compile_fail,E0308
//! # use outbox::{Key, Message, Outbox, sqlite::SqliteStore};
//! # use sqlx::SqlitePool;
//! async fn save(outbox: &Outbox<SqliteStore>, pool: &mut SqlitePool, message: &Message) -> Result<(), Box<dyn std::error::Error>> {
//!     let mut tx = pool.begin().await?;
//!     outbox.save(pool, message).await?;
//!     Ok(())
//! }
//! ```

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
mod readme {}

#[cfg(doctest)]
#[doc = include_str!("../../docs/running.md")]
mod running {}

#[cfg(doctest)]
#[doc = include_str!("../../docs/inbox.md")]
mod inbox {}

#[cfg(doctest)]
#[doc = include_str!("../../docs/dead-letters.md")]
mod dead_letters {}

#[cfg(doctest)]
#[doc = include_str!("../../docs/testing.md")]
mod testing {}

#[cfg(doctest)]
#[doc = include_str!("../../docs/postgres-sqlx.md")]
mod postgres_sqlx {}

#[cfg(doctest)]
#[doc = include_str!("../../docs/postgres-diesel.md")]
mod postgres_diesel {}
