//! Migrations as files for the tools with which applications run their own. The tool begins and commits, so the files do not.

use crate::Schema;

/// A tool that runs an application's migrations from files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tool {
    /// sqlx: `<number>_<name>.up.sql` and `<number>_<name>.down.sql`.
    Sqlx,
    /// diesel: `<number>_<name>/up.sql` and `<number>_<name>/down.sql`.
    Diesel,
}

/// One file, for a tool's folder of migrations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigrationFile {
    /// Its path in that folder, with `/` in between.
    pub path: String,
    /// Its statements.
    pub contents: String,
}

/// The number of version 0 among an application's migrations, which are numbered by the time they were made. It never changes: a tool runs
/// a file again whose number it does not know.
const FIRST_NUMBER: i64 = 20_261_130_000_000;

/// Both files of each migration; `edit` makes a file's statements of its version, its direction and what the migration says.
pub(crate) fn files(
    schema: Schema,
    tool: Tool,
    edit: impl Fn(i64, Direction, &str) -> String,
) -> Vec<MigrationFile> {
    let mut files = Vec::new();
    for migration in schema.migrations {
        let version = migration.version;
        let number = FIRST_NUMBER + version;
        let separator = match tool {
            Tool::Sqlx => '.',
            Tool::Diesel => '/',
        };
        for (direction, sql) in [
            (Direction::Up, migration.sql),
            (Direction::Down, migration.down),
        ] {
            files.push(MigrationFile {
                path: format!(
                    "{number}_outbox_{version}{separator}{}.sql",
                    direction.as_str()
                ),
                contents: edit(version, direction, sql),
            });
        }
    }
    files
}

/// Which of the two files of a migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Up,
    Down,
}

impl Direction {
    fn as_str(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{POSTGRES, SQLITE, SchemaName, postgres_files, sqlite_files};

    #[test]
    fn each_tool_finds_its_names() {
        let paths = |tool| {
            let files = sqlite_files(tool);
            files.into_iter().take(2).map(|file| file.path)
        };
        assert!(paths(Tool::Sqlx).eq([
            "20261130000001_outbox_1.up.sql",
            "20261130000001_outbox_1.down.sql"
        ]));
        assert!(paths(Tool::Diesel).eq([
            "20261130000001_outbox_1/up.sql",
            "20261130000001_outbox_1/down.sql"
        ]));
    }

    #[test]
    fn every_migration_has_both_files_and_no_transaction_of_its_own() {
        let name = SchemaName::default();
        for tool in [Tool::Sqlx, Tool::Diesel] {
            for (schema, files) in [
                (POSTGRES, postgres_files(&name, tool)),
                (SQLITE, sqlite_files(tool)),
            ] {
                assert_eq!(files.len(), schema.migrations.len() * 2);
                for file in files {
                    let ends = |line: &str| line == "COMMIT;" || line.starts_with("BEGIN;");
                    assert!(!file.contents.trim().is_empty(), "{}", file.path);
                    assert!(!file.contents.lines().any(ends), "{}", file.path);
                }
            }
        }
    }
}
