//! The real program in a folder of its own: started with arguments and input, watched, and read. What is expected of it stands in the tests.

use std::{
    io::Write,
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use serde_json::Value;
use sqlx::{ConnectOptions, Connection, SqliteConnection, sqlite::SqliteConnectOptions};
use tempfile::TempDir;

use crate::schema::Schema;

/// A temporary folder with a file `published.ndjson`, and a store: `orders.db` in the folder, or a schema of its own on Postgres. None of it exists yet.
pub(crate) struct Place {
    folder: TempDir,
    schema: Option<Schema>,
}

/// A program that has ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            schema: None,
        }
    }

    pub(crate) fn on_postgres() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            schema: Some(Schema::new()),
        }
    }

    /// The schema on Postgres.
    pub(crate) fn schema(&self) -> &Schema {
        self.schema.as_ref().expect("the place is on Postgres")
    }

    /// With the outbox tables made.
    pub(crate) fn migrated() -> Self {
        let place = Self::new();
        place.run(&["migrate"], "").expect(0);
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn store(&self) -> String {
        match &self.schema {
            Some(schema) => schema.url.clone(),
            None => format!("sqlite:{}", self.path("orders.db").display()),
        }
    }

    pub(crate) fn to_file(&self) -> String {
        format!("file:{}", self.path("published.ndjson").display())
    }

    /// The program with these arguments, in this folder, on this store.
    pub(crate) fn program(&self, args: &[&str]) -> Command {
        let mut program = Command::new(env!("CARGO_BIN_EXE_outbox"));
        program
            .args(args)
            .current_dir(self.folder.path())
            .env("OUTBOX_STORE", self.store())
            .env(
                "OUTBOX_SCHEMA",
                self.schema.as_ref().map_or("outbox", |schema| &schema.name),
            )
            .env_remove("OUTBOX_TO")
            .env_remove("OUTBOX_CONFIG")
            .env_remove("OUTBOX_LOG_FORMAT")
            .env_remove("RUST_LOG")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        program
    }

    /// Runs the program to its end with this input.
    pub(crate) fn run(&self, args: &[&str], input: &str) -> Ran {
        let mut child = self.program(args).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        thread::scope(|scope| {
            scope.spawn(move || {
                // A program that refuses its arguments does not read.
                let _ = stdin.write_all(input.as_bytes());
            });
            Ran::of(child)
        })
    }

    /// The lines that were published, as JSON.
    pub(crate) fn published(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.path("published.ndjson")).unwrap_or_default();
        assert!(
            text.is_empty() || text.ends_with('\n'),
            "a line is cut short"
        );
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    pub(crate) fn status(&self) -> Value {
        self.run(&["status", "--json"], "").expect(0).json()
    }

    /// Asks for the status until it is as wanted.
    pub(crate) fn wait_for(&self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let status = self.status();
            if wanted(&status) {
                return status;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Runs statements on the store with a connection of its own. The tables are named as SQLite has them.
    pub(crate) fn sql(&self, statements: &str) {
        match &self.schema {
            Some(schema) => schema.sql(&statements.replace("outbox_", "")),
            None => self.with_sql(statements, || {}),
        }
    }

    /// Runs statements and keeps their connection open meanwhile.
    pub(crate) fn with_sql<T>(&self, statements: &str, meanwhile: impl FnOnce() -> T) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let options = SqliteConnectOptions::new()
            .filename(self.path("orders.db"))
            .create_if_missing(true);
        let statements = sqlx::AssertSqlSafe(statements.to_owned());
        let connection: SqliteConnection = runtime.block_on(async {
            let mut connection = options.connect().await.unwrap();
            sqlx::raw_sql(statements)
                .execute(&mut connection)
                .await
                .unwrap();
            connection
        });
        let result = meanwhile();
        runtime.block_on(connection.close()).unwrap();
        result
    }
}

impl Ran {
    pub(crate) fn of(child: Child) -> Self {
        let output = child.wait_with_output().unwrap();
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The same, if it ended with this code.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// The one object on standard output.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.stdout.lines().count(), 1, "{self:#?}");
        serde_json::from_str(&self.stdout).unwrap()
    }

    /// Asserts that the error says each of these.
    #[track_caller]
    pub(crate) fn says(&self, words: &[&str]) {
        for word in words {
            assert!(
                self.stderr.contains(word),
                "{word:?} is not in {}",
                self.stderr
            );
        }
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
    }
}

/// `count` lines of messages, spread over `keys` keys.
pub(crate) fn lines(count: usize, keys: usize) -> String {
    let line = |n: usize| {
        let key = n % keys;
        format!(r#"{{"topic":"orders","id":"m-{n}","key":"k-{key}","payload":{{"n": {n}}}}}"#)
    };
    let lines: Vec<String> = (0..count).map(line).collect();
    lines.join("\n")
}
