//! The schema for SQLite.

use crate::{Migration, MigrationFile, Schema, Tool, files::files};

/// The schema for SQLite, in a database file that it shares with the application's own tables.
pub const SQLITE: Schema = Schema {
    preamble: "PRAGMA journal_mode = WAL;\n",
    begin: "BEGIN IMMEDIATE",
    migrations: &[
        Migration {
            version: 1,
            name: "lanes, messages, dead letters",
            sql: include_str!("../sqlite/0001_lanes.sql"),
            down: include_str!("../sqlite/0001_lanes.down.sql"),
        },
        Migration {
            version: 2,
            name: "published messages that are kept",
            sql: include_str!("../sqlite/0002_retention.sql"),
            down: include_str!("../sqlite/0002_retention.down.sql"),
        },
        Migration {
            version: 3,
            name: "topics that are stopped",
            sql: include_str!("../sqlite/0003_topics.sql"),
            down: include_str!("../sqlite/0003_topics.down.sql"),
        },
        Migration {
            version: 4,
            name: "the inbox of consumers",
            sql: include_str!("../sqlite/0004_inbox.sql"),
            down: include_str!("../sqlite/0004_inbox.down.sql"),
        },
        Migration {
            version: 5,
            name: "the audit of operators",
            sql: include_str!("../sqlite/0005_audit.sql"),
            down: include_str!("../sqlite/0005_audit.down.sql"),
        },
    ],
};

/// The migrations as files for a tool that runs the application's own. The journal mode is not among them: it cannot be set in a transaction.
pub fn sqlite_files(tool: Tool) -> Vec<MigrationFile> {
    files(SQLITE, tool, |_, _, sql| sql.to_owned())
}
