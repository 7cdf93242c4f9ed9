//! What a schema is: migrations in their order, and all of them as one script.

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
    /// The statements that take it back.
    pub down: &'static str,
}

/// All migrations of a schema as one script, each in a transaction of its own. That of Postgres has its name put in by
/// [`postgres_script`](crate::postgres_script).
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
    use crate::{POSTGRES, SQLITE};

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
