//! What the Postgres stores of the outbox toolkit share: the statements, and every procedure over them, without a driver.

mod claim;
mod config;
mod failure;
mod inbox;
mod lease;
mod operator;
mod procedure;
mod quiet;
mod relay;
mod row;
mod save;
mod schema;
mod session;
mod settle;
mod statements;
mod store;
mod topic;
mod upkeep;
mod value;

pub use config::{Connection, LANES, PostgresConfig, WakeUp};
pub use failure::{Failure, require, schema_hint};
pub use inbox::{forget, once};
pub use outbox_migrations::{InvalidSchemaName, POSTGRES, SchemaName, postgres_script as script};
pub use row::{Cell, Row, UnexpectedRow};
pub use save::{pending, save, save_all};
pub use schema::{MIGRATE, check, migrate};
pub use session::{Database, DriverError, Session, Text, Transaction};
pub use statements::Statements;
pub use store::Relaying;
pub use value::Value;
