//! P2, P3: no statement reads or sorts a table that grows, whatever the statistics say, and whether its plan was made for its arguments, for any, or when
//! the tables were still empty.

use outbox_migrations::POSTGRES;
use outbox_store_postgres::Statements;
use outbox_store_postgres_sqlx::PostgresStore;
use sqlx::{AssertSqlSafe, Executor, PgConnection, Row};

use crate::{
    arguments::{self, Argument},
    backlog::{Backlog, Samples},
    explain::{Allowed, faults},
    schema::TestSchema,
};

/// A hundred thousand pending messages.
const BACKLOG: Backlog = Backlog {
    pending: 100_000,
    one: 20_000,
    waiting: 20_000,
    scheduled: 20_000,
    published: 20_000,
    dead: 10_000,
    ids: 20_000,
};

/// Those that are run as several at once, without plans.
const BATCHES: [&str; 3] = ["begin", "begin_migration", "begin_read"];

/// For tests of applications: it lists the three tables.
const LISTS_ALL: &str = "pending";

/// In the transaction of whoever saves, with that one's settings.
const SAVES: [&str; 3] = ["lock_order", "save", "save_all"];

/// In transactions that only read, for people.
const READS: [&str; 13] = [
    "dead_count_all",
    "dead_count_id",
    "dead_count_key",
    "dead_letters",
    "dead_page_all",
    "dead_page_id",
    "dead_page_key",
    "status_blocked",
    "status_circuits",
    "status_horizon",
    "status_lanes",
    "status_moment",
    "status_topics",
];

/// Runs the statement, and tells what its plan did.
const RUN: &str = "ANALYZE, TIMING OFF, FORMAT JSON";

/// How a plan comes about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Planned {
    /// Now, for these arguments.
    Custom,
    /// Now, for any arguments.
    Generic,
    /// Before, when the tables were empty.
    Before,
}

/// A session that explains statements as a store runs them.
struct Explaining<'a> {
    statements: &'a Statements,
    connection: &'a mut PgConnection,
}

impl Explaining<'_> {
    async fn run(&mut self, sql: &str) {
        let sql = sqlx::raw_sql(AssertSqlSafe(sql));
        self.connection.execute(sql).await.unwrap();
    }

    fn text(&self, name: &str) -> String {
        let all = self.statements.all();
        let (_, text) = all.iter().find(|(known, _)| *known == name).unwrap();
        text.to_string()
    }

    async fn begin(&mut self, begin: &str) {
        let begin = if begin.is_empty() {
            "BEGIN".to_owned()
        } else {
            self.text(begin)
        };
        self.run(&begin).await;
    }

    async fn prepare(&mut self, name: &str, text: &str, arguments: &[Argument]) {
        let kinds: Vec<&str> = arguments.iter().map(|argument| argument.kind).collect();
        let kinds = if kinds.is_empty() {
            String::new()
        } else {
            format!("({})", kinds.join(", "))
        };
        self.run(&format!("PREPARE {name} {kinds} AS {text}")).await;
    }

    /// Explains a prepared statement; with `options` that run it, in a transaction that is rolled back.
    async fn explain(&mut self, name: &str, options: &str, arguments: &[String]) -> String {
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
    async fn plan(
        &mut self,
        name: &str,
        begin: &str,
        planned: Planned,
        samples: &Samples,
    ) -> String {
        let arguments = arguments::of(name, samples, POSTGRES.version());
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

    /// Prepares every statement and has a plan made for any arguments, which stays.
    async fn plan_all(&mut self, samples: &Samples) {
        for (name, begin) in looked_at(self.statements) {
            let arguments = arguments::of(name, samples, POSTGRES.version());
            let text = self.text(name);
            self.begin(begin).await;
            self.run("SET LOCAL plan_cache_mode = force_generic_plan")
                .await;
            let prepared = format!("{name}_{begin}");
            self.prepare(&prepared, &text, &arguments).await;
            let nulls = vec!["NULL".to_owned(); arguments.len()];
            self.explain(&prepared, "COSTS OFF", &nulls).await;
            self.run("ROLLBACK").await;
        }
    }

    /// What all statements do that they may not.
    async fn faults(&mut self, planned: Planned, samples: &Samples) -> Vec<String> {
        let mut all = Vec::new();
        for (name, begin) in looked_at(self.statements) {
            let plan = self.plan(name, begin, planned, samples).await;
            let found = faults(&plan, allowed(name));
            all.extend(
                found
                    .iter()
                    .map(|fault| format!("{name}, {planned:?}: {fault}")),
            );
        }
        all
    }
}

/// The statements that have a plan, each with how its transaction begins.
fn looked_at(statements: &Statements) -> Vec<(&'static str, &'static str)> {
    let mut all = Vec::new();
    for (name, _) in statements.all() {
        if BATCHES.contains(&name) || name == LISTS_ALL {
            continue;
        }
        if READS.contains(&name) {
            all.push((name, "begin_read"));
        } else if SAVES.contains(&name) {
            all.push((name, ""));
        } else {
            all.push((name, "begin"));
        }
        // Steps over dead letters look for them too.
        if name.starts_with("dead_page") {
            all.push((name, "begin"));
        }
    }
    all
}

fn allowed(name: &str) -> Allowed {
    let rows = match name {
        // They count, for people.
        "status_topics" | "status_moment" | "status_blocked" | "dead_count_all" => None,
        // They look at 10,000 rows: behind a line that is all of one key, or of eight lanes together.
        "read_line" | "look_ahead" | "look_line" => Some(11_000.0),
        _ => Some(2_000.0),
    };
    Allowed {
        rows,
        sorted: 2_000.0,
    }
}

async fn filled() -> TestSchema {
    let schema = TestSchema::new();
    PostgresStore::migrate_with(&schema.pool, &schema.name)
        .await
        .unwrap();
    Backlog::prepare(&schema).await;
    schema
}

#[tokio::test]
async fn p2_no_statement_reads_or_sorts_a_table_that_grows() {
    let schema = filled().await;
    let statements = Statements::new(&schema.name);
    let mut before = schema.pool.acquire().await.unwrap();
    let mut before = Explaining {
        statements: &statements,
        connection: &mut before,
    };
    let none = Samples::none();
    before.plan_all(&none).await;
    BACKLOG.fill(&schema).await;
    let samples = Samples::of(&schema).await;
    let mut faults = before.faults(Planned::Before, &samples).await;
    let mut now = schema.pool.acquire().await.unwrap();
    let mut now = Explaining {
        statements: &statements,
        connection: &mut now,
    };
    for statistics in ["never analyzed", "analyzed"] {
        if statistics == "analyzed" {
            Backlog::analyze(&schema).await;
        }
        for planned in [Planned::Generic, Planned::Custom] {
            let found = now.faults(planned, &samples).await;
            faults.extend(
                found
                    .into_iter()
                    .map(|fault| format!("{statistics}, {fault}")),
            );
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[tokio::test]
async fn a_statement_that_reads_or_sorts_all_is_found() {
    let schema = filled().await;
    let few = Backlog {
        pending: 3_000,
        one: 10,
        waiting: 10,
        scheduled: 3_000,
        published: 3_000,
        dead: 10,
        ids: 10,
    };
    few.fill(&schema).await;
    Backlog::analyze(&schema).await;
    let statements = Statements::new(&schema.name);
    let mut connection = schema.pool.acquire().await.unwrap();
    let mut explaining = Explaining {
        statements: &statements,
        connection: &mut connection,
    };
    for (sql, fault) in [
        (
            "SELECT id FROM outbox.message WHERE id = 'none'",
            "reads the table from end to end",
        ),
        (
            "SELECT id FROM outbox.published WHERE id = 'none'",
            "reads the table from end to end",
        ),
        (
            "SELECT id FROM outbox.message WHERE lane >= 0 AND id = 'none'",
            "takes 3",
        ),
        (
            "SELECT id FROM outbox.message WHERE lane >= 0 ORDER BY saved_at LIMIT 10",
            "sorts 3",
        ),
        (
            "SELECT count(*) FROM outbox.scheduled s JOIN outbox.message m ON m.id = s.id WHERE m.lane >= 0 AND s.lane >= 0",
            "takes 1",
        ),
    ] {
        explaining.begin("begin").await;
        let sql = schema.name.apply(sql);
        explaining.prepare("control", &sql, &[]).await;
        let plan = explaining.explain("control", RUN, &[]).await;
        explaining.run("ROLLBACK; DEALLOCATE control").await;
        let found = faults(&plan, allowed("other"));
        assert!(
            found.iter().any(|found| found.contains(fault)),
            "{sql}: {found:?}"
        );
    }
}
