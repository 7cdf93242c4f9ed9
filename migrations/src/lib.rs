//! The schema of each database as numbered SQL files, embedded and printable. Running them is the adapters' work.
//!
//! Each file creates or changes the tables and records its own version in the last statement, so that
//! what [`script`] prints can also be run by hand.
//!
//! ```
//! let script = outbox_migrations::script(outbox_migrations::SQLITE);
//! assert!(script.contains("CREATE TABLE outbox_message"));
//! ```

mod postgres;
mod schema_name;
mod sqlite;

pub use postgres::POSTGRES;
pub use schema_name::{InvalidSchemaName, SchemaName};
pub use sqlite::SQLITE;

/// The migrations of one database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schema {
    /// What stands before all migrations in a script, and outside of their transactions.
    pub preamble: &'static str,
    /// How this database begins the transaction of a migration.
    pub begin: &'static str,
    /// The migrations, by version, without gaps, from 1.
    pub migrations: &'static [Migration],
}

impl Schema {
    /// The version that the last migration leads to.
    pub fn version(&self) -> i64 {
        self.migrations
            .last()
            .map_or(0, |migration| migration.version)
    }
}

/// One step of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migration {
    /// The version it leads to.
    pub version: i64,
    /// What it does, in a few words.
    pub name: &'static str,
    /// Its statements; the last one records the version.
    pub sql: &'static str,
}

/// All migrations of a schema as one script, each in a transaction of its own.
pub fn script(schema: Schema) -> String {
    let mut script = String::from(schema.preamble);
    for migration in schema.migrations {
        script.push_str("\n-- Version ");
        script.push_str(&migration.version.to_string());
        script.push_str(": ");
        script.push_str(migration.name);
        script.push('\n');
        script.push_str(schema.begin);
        script.push_str(";\n\n");
        script.push_str(migration.sql);
        script.push_str("\nCOMMIT;\n");
    }
    script
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_numbered_from_one_without_gaps() {
        for schema in [POSTGRES, SQLITE] {
            for (expected, migration) in (1_i64..).zip(schema.migrations) {
                assert_eq!(migration.version, expected);
            }
            assert_eq!(
                usize::try_from(schema.version()),
                Ok(schema.migrations.len())
            );
        }
    }
}
