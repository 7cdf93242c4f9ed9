//! The Postgres store of the outbox toolkit, through diesel and diesel-async.

mod error;
mod listen;
mod pool;
mod save;
mod statement;
mod store;
#[cfg(feature = "sync")]
pub mod sync;

pub use error::DieselError;
pub use outbox_store::{SaveError, StoreError};
pub use outbox_store_postgres::{Connection, PostgresConfig, SchemaName, WakeUp};
pub use store::PostgresStore;
