//! The schema for Postgres.

use crate::{
    Migration, MigrationFile, Schema, SchemaName, Tool,
    files::{Direction, files},
    script,
};

/// The schema for Postgres, in a schema of its own beside the application's. Its SQL names that schema `outbox`; see
/// [`SchemaName::apply`](crate::SchemaName::apply).
pub const POSTGRES: Schema = Schema {
    preamble: "",
    begin: "BEGIN",
    migrations: &[
        Migration {
            version: 1,
            name: "lanes, messages, dead letters",
            sql: include_str!("../postgres/0001_lanes.sql"),
            down: include_str!("../postgres/0001_lanes.down.sql"),
        },
        Migration {
            version: 2,
            name: "saving from any language, and in commit order",
            sql: include_str!("../postgres/0002_save.sql"),
            down: include_str!("../postgres/0002_save.down.sql"),
        },
        Migration {
            version: 3,
            name: "views for people",
            sql: include_str!("../postgres/0003_views.sql"),
            down: include_str!("../postgres/0003_views.down.sql"),
        },
        Migration {
            version: 4,
            name: "partitions of published messages",
            sql: include_str!("../postgres/0004_retention.sql"),
            down: include_str!("../postgres/0004_retention.down.sql"),
        },
        Migration {
            version: 5,
            name: "stopped topics",
            sql: include_str!("../postgres/0005_topics.sql"),
            down: include_str!("../postgres/0005_topics.down.sql"),
        },
        Migration {
            version: 6,
            name: "the inbox of consumers",
            sql: include_str!("../postgres/0006_inbox.sql"),
            down: include_str!("../postgres/0006_inbox.down.sql"),
        },
        Migration {
            version: 7,
            name: "the audit of operators",
            sql: include_str!("../postgres/0007_audit.sql"),
            down: include_str!("../postgres/0007_audit.down.sql"),
        },
        Migration {
            version: 8,
            name: "quiet: who need not notify",
            sql: include_str!("../postgres/0008_quiet.sql"),
            down: include_str!("../postgres/0008_quiet.down.sql"),
        },
        Migration {
            version: 9,
            name: "rows checked by one function",
            sql: include_str!("../postgres/0009_rows.sql"),
            down: include_str!("../postgres/0009_rows.down.sql"),
        },
        Migration {
            version: 10,
            name: "rules of a row as domains",
            sql: include_str!("../postgres/0010_domains.sql"),
            down: include_str!("../postgres/0010_domains.down.sql"),
        },
    ],
};

/// All migrations as one script, the schema itself included.
pub fn postgres_script(name: &SchemaName) -> String {
    format!("{};\n{}", name.create(), name.apply(&script(POSTGRES)))
}

/// The migrations as files for a tool that runs the application's own. The first creates the schema, and when it is taken back drops it, if there is nothing
/// else in it.
pub fn postgres_files(name: &SchemaName, tool: Tool) -> Vec<MigrationFile> {
    files(POSTGRES, tool, |version, direction, sql| {
        let sql = name.apply(sql);
        match (version, direction) {
            (1, Direction::Up) => format!("{};\n\n{sql}", name.create()),
            (1, Direction::Down) => format!("{sql}\nDROP SCHEMA {};\n", name.quoted()),
            _ => sql,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_begins_with_the_schema_and_has_its_name_everywhere() {
        let name: SchemaName = "Billing outbox".parse().unwrap();
        let script = postgres_script(&name);
        assert!(script.starts_with("CREATE SCHEMA IF NOT EXISTS \"Billing outbox\";\n"));
        let files = postgres_files(&name, Tool::Sqlx);
        assert!(
            files[0]
                .contents
                .starts_with("CREATE SCHEMA IF NOT EXISTS \"Billing outbox\";\n")
        );
        assert!(
            files[1]
                .contents
                .ends_with("DROP SCHEMA \"Billing outbox\";\n")
        );
        for text in files.iter().map(|file| &file.contents).chain([&script]) {
            let statements = text.lines().filter(|line| !line.trim().starts_with("--"));
            for line in statements {
                let other = line.replace("\"Billing outbox\".", "");
                assert!(!other.contains("outbox."), "{line}");
            }
        }
    }
}
