//! The name of the schema that holds the tables on Postgres, the one thing in the SQL that is not fixed.

use std::{error::Error, fmt, str::FromStr};

/// What the SQL files write where the schema's name is to stand.
const WRITTEN: &str = "outbox.";

/// The name of a schema, checked, and quoted wherever it is put into a statement: mixed case and reserved words are names like others.
///
/// ```
/// use outbox_migrations::SchemaName;
///
/// let name: SchemaName = "Billing outbox".parse()?;
/// assert_eq!(name.apply("SELECT * FROM outbox.message"), r#"SELECT * FROM "Billing outbox".message"#);
/// # Ok::<(), outbox_migrations::InvalidSchemaName>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SchemaName(String);

impl SchemaName {
    /// The most bytes that Postgres keeps of a name.
    pub const MAX_BYTES: usize = 63;

    /// The name as it is, unquoted.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name as it stands in a statement.
    pub fn quoted(&self) -> String {
        format!("\"{}\"", self.0)
    }

    /// The statement that creates the schema unless it is there.
    pub fn create(&self) -> String {
        format!("CREATE SCHEMA IF NOT EXISTS {}", self.quoted())
    }

    /// The same SQL with this name where the files write `outbox.` before the name of a table, function or sequence.
    pub fn apply(&self, sql: &str) -> String {
        let mut applied = String::with_capacity(sql.len());
        let mut rest = sql;
        while let Some(at) = rest.find(WRITTEN) {
            let (before, after) = rest.split_at(at);
            let after = &after[WRITTEN.len()..];
            applied.push_str(before);
            let is_name = after.starts_with(|c: char| c.is_ascii_lowercase());
            let is_word = before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
            if is_name && !is_word {
                applied.push_str(&self.quoted());
                applied.push('.');
            } else {
                applied.push_str(WRITTEN);
            }
            rest = after;
        }
        applied.push_str(rest);
        applied
    }
}

impl Default for SchemaName {
    /// `outbox`.
    fn default() -> Self {
        Self("outbox".to_owned())
    }
}

impl fmt::Display for SchemaName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for SchemaName {
    type Err = InvalidSchemaName;

    fn from_str(name: &str) -> Result<Self, InvalidSchemaName> {
        // These would end a quoted name, a text, or the body of a function.
        let breaks_out = |c: char| c.is_control() || matches!(c, '"' | '\'' | '$' | '\\');
        if name.is_empty() {
            Err(InvalidSchemaName::Empty)
        } else if name.len() > Self::MAX_BYTES {
            Err(InvalidSchemaName::TooLong(name.len()))
        } else if let Some(c) = name.chars().find(|c| breaks_out(*c)) {
            Err(InvalidSchemaName::Character(c))
        } else if name.starts_with("pg_") || name == "information_schema" {
            Err(InvalidSchemaName::Reserved)
        } else {
            Ok(Self(name.to_owned()))
        }
    }
}

/// Why a text is no name for the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidSchemaName {
    /// It is empty.
    Empty,
    /// It has so many bytes, more than [`SchemaName::MAX_BYTES`], and Postgres would cut it.
    TooLong(usize),
    /// It has this character, which cannot stand in the statements.
    Character(char),
    /// It is one of Postgres's own.
    Reserved,
}

impl fmt::Display for InvalidSchemaName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the schema name is empty"),
            Self::TooLong(len) => write!(
                f,
                "the schema name has {len} bytes, at most {} are kept by Postgres",
                SchemaName::MAX_BYTES
            ),
            Self::Character(c) => write!(f, "the schema name has the character {c:?}; quotes, dollar signs, backslashes and control characters cannot be in it"),
            Self::Reserved => f.write_str("the schema name is one of Postgres's own: names beginning with pg_, and information_schema, are taken"),
        }
    }
}

impl Error for InvalidSchemaName {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_that_postgres_keeps_whole_is_taken_and_quoted() {
        for name in [
            "outbox",
            "Select",
            "user",
            "my-app.v2",
            "größe",
            &"x".repeat(63),
        ] {
            let parsed: SchemaName = name.parse().unwrap();
            assert_eq!(parsed.as_str(), name);
            assert_eq!(parsed.apply("outbox.lane"), format!("\"{name}\".lane"));
        }
    }

    #[test]
    fn what_would_be_cut_or_break_out_is_refused() {
        let refused = |name: &str| name.parse::<SchemaName>().unwrap_err();
        assert_eq!(refused(""), InvalidSchemaName::Empty);
        assert_eq!(refused(&"x".repeat(64)), InvalidSchemaName::TooLong(64));
        assert_eq!(refused("a\"b"), InvalidSchemaName::Character('"'));
        assert_eq!(refused("a$b"), InvalidSchemaName::Character('$'));
        assert_eq!(refused("a\0b"), InvalidSchemaName::Character('\0'));
        assert_eq!(refused("pg_outbox"), InvalidSchemaName::Reserved);
        assert_eq!(refused("information_schema"), InvalidSchemaName::Reserved);
    }

    #[test]
    fn only_names_of_the_schema_are_replaced() {
        let name: SchemaName = "x".parse().unwrap();
        let sql = "-- The outbox. A my_outbox.table stays.\nSELECT nextval('outbox.position') FROM outbox.lane l";
        assert_eq!(
            name.apply(sql),
            "-- The outbox. A my_outbox.table stays.\nSELECT nextval('\"x\".position') FROM \"x\".lane l"
        );
    }
}
