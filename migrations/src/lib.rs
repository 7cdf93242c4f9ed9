//! The schema of each database as numbered SQL files, embedded and printable. Running them is the adapters' work.
//!
//! Each file creates or changes the tables and records its own version in the last statement, so that
//! what [`script`] and [`postgres_script`] print can also be run by hand, and what [`sqlite_files`] and [`postgres_files`] give can be run
//! by the application's own migrations.
//!
//! ```
//! use outbox_migrations::{SQLITE, SchemaName, postgres_script, script};
//!
//! assert!(script(SQLITE).contains("CREATE TABLE outbox_message"));
//! assert!(postgres_script(&SchemaName::default()).contains(r#"CREATE TABLE "outbox".message"#));
//! ```

mod files;
mod postgres;
mod schema;
mod schema_name;
mod sqlite;

pub use files::{MigrationFile, Tool};
pub use postgres::{POSTGRES, postgres_files, postgres_script};
pub use schema::{Migration, Schema, script};
pub use schema_name::{InvalidSchemaName, SchemaName};
pub use sqlite::{SQLITE, sqlite_files};
