//! The schema for SQLite.

use crate::{Migration, Schema};

/// The schema for SQLite, in a database file that it shares with the application's own tables.
pub const SQLITE: Schema = Schema {
    preamble: "PRAGMA journal_mode = WAL;\n",
    begin: "BEGIN IMMEDIATE",
    migrations: &[Migration {
        version: 1,
        name: "lanes, messages, dead letters",
        sql: include_str!("../sqlite/0001_lanes.sql"),
    }],
};
