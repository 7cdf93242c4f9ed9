//! The schema for Postgres.

use crate::{Migration, Schema};

/// The schema for Postgres, in a schema of its own beside the application's. Its SQL names that schema `outbox`; see
/// [`SchemaName::apply`](crate::SchemaName::apply).
pub const POSTGRES: Schema = Schema {
    preamble: "",
    begin: "BEGIN",
    migrations: &[Migration {
        version: 1,
        name: "lanes, messages, dead letters",
        sql: include_str!("../postgres/0001_lanes.sql"),
    }],
};
