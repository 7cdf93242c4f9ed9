//! A session that explains statements as a store runs them.

use outbox_store_postgres::Statements;
use sqlx::{AssertSqlSafe, Executor, PgConnection, Row};

use crate::arguments::Argument;

/// Runs the statement, and tells what its plan did.
pub(crate) const RUN: &str = "ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON";

/// How a plan comes about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Planned {
    /// Now, for these arguments.
    Custom,
    /// Now, for any arguments.
    Generic,
    /// Before, when the tables were empty.
    Before,
}

/// A session that explains statements as a store runs them.
pub(crate) struct Explaining<'a> {
    pub(crate) statements: &'a Statements,
    pub(crate) connection: &'a mut PgConnection,
}

impl Explaining<'_> {
    pub(crate) async fn run(&mut self, sql: &str) {
        let sql = sqlx::raw_sql(AssertSqlSafe(sql));
        self.connection.execute(sql).await.unwrap();
    }

    pub(crate) fn text(&self, name: &str) -> String {
        let all = self.statements.all();
        let (_, text) = all.iter().find(|(known, _)| *known == name).unwrap();
        text.to_string()
    }

    pub(crate) async fn begin(&mut self, begin: &str) {
        let begin = if begin.is_empty() {
            "BEGIN".to_owned()
        } else {
            self.text(begin)
        };
        self.run(&begin).await;
    }

    pub(crate) async fn prepare(&mut self, name: &str, text: &str, arguments: &[Argument]) {
        let kinds: Vec<&str> = arguments.iter().map(|argument| argument.kind).collect();
        let kinds = if kinds.is_empty() {
            String::new()
        } else {
            format!("({})", kinds.join(", "))
        };
        self.run(&format!("PREPARE {name} {kinds} AS {text}")).await;
    }

    /// Explains a prepared statement; with `options` that run it, in a transaction that is rolled back.
    pub(crate) async fn explain(
        &mut self,
        name: &str,
        options: &str,
        arguments: &[String],
    ) -> String {
        let arguments = if arguments.is_empty() {
            String::new()
        } else {
            format!("({})", arguments.join(", "))
        };
        let sql = format!("EXPLAIN ({options}) EXECUTE {name} {arguments}");
        let explain = sqlx::raw_sql(AssertSqlSafe(sql));
        let row = self.connection.fetch_one(explain).await;
        let row = row.unwrap_or_else(|error| panic!("{name}: {error}"));
        row.get_unchecked(0)
    }

    /// The plan of a statement that was run.
    pub(crate) async fn plan(
        &mut self,
        name: &str,
        begin: &str,
        planned: Planned,
        arguments: Vec<Argument>,
    ) -> String {
        let prepared = format!("{name}_{begin}");
        self.begin(begin).await;
        let mode = match planned {
            Planned::Custom => "force_custom_plan",
            Planned::Generic | Planned::Before => "force_generic_plan",
        };
        self.run(&format!("SET LOCAL plan_cache_mode = {mode}"))
            .await;
        if planned != Planned::Before {
            let text = self.text(name);
            self.prepare(&prepared, &text, &arguments).await;
        }
        let literals: Vec<String> = arguments.into_iter().map(|a| a.literal).collect();
        let plan = self.explain(&prepared, RUN, &literals).await;
        self.run("ROLLBACK").await;
        if planned != Planned::Before {
            self.run(&format!("DEALLOCATE {prepared}")).await;
        }
        plan
    }
}
