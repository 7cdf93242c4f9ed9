//! P2, P3: no statement reads or sorts a table that grows, whatever the statistics say, and whether its plan was made for its arguments, for any, or when
//! the tables were still empty.

use outbox_migrations::POSTGRES;
use outbox_store_postgres::Statements;

use crate::{
    arguments,
    backlog::{Backlog, Samples},
    explain::{Allowed, faults},
    place::{Place, is_soak},
    session::{Explaining, Planned, RUN},
};

/// A hundred thousand pending messages.
const BACKLOG: Backlog = Backlog {
    pending: 100_000,
    one: 20_000,
    waiting: 20_000,
    aside: 20_000,
    scheduled: 20_000,
    published: 20_000,
    dead: 10_000,
    ids: 20_000,
    later: 0,
};

/// A million, for the long form.
const LARGE: Backlog = Backlog {
    pending: 1_000_000,
    one: 100_000,
    waiting: 100_000,
    aside: 100_000,
    scheduled: 100_000,
    published: 1_000_000,
    dead: 10_000,
    ids: 100_000,
    later: 0,
};

/// Those that are run as several at once, without plans.
const BATCHES: [&str; 3] = ["begin", "begin_migration", "begin_read"];

/// For tests of applications: it lists the three tables.
const LISTS_ALL: &str = "pending";

/// In the transaction of whoever saves or handles, with that one's settings.
const SAVES: [&str; 6] = [
    "inbox_forget",
    "inbox_once",
    "lock_order",
    "save",
    "save_all",
    "save_now",
];

/// In transactions that only read, for people.
const READS: [&str; 15] = [
    "audit_page",
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
    "status_stopped",
    "status_topics",
];

impl Explaining<'_> {
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
            let arguments = arguments::of(name, samples, POSTGRES.version());
            let plan = self.plan(name, begin, planned, arguments).await;
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
        // It looks at 5,000 published messages.
        "replay_page" => Some(6_000.0),
        _ => Some(2_000.0),
    };
    Allowed {
        rows,
        sorted: 2_000.0,
    }
}

async fn prepared() -> Place {
    let place = Place::schema().await;
    Backlog::prepare(&place).await;
    place
}

#[tokio::test]
async fn p2_no_statement_reads_or_sorts_a_table_that_grows() {
    let place = prepared().await;
    let statements = Statements::new(&place.name);
    let mut before = place.pool.acquire().await.unwrap();
    let mut before = Explaining {
        statements: &statements,
        connection: &mut before,
    };
    let none = Samples::none();
    before.plan_all(&none).await;
    let backlog = if is_soak() { LARGE } else { BACKLOG };
    backlog.fill(&place).await;
    let samples = Samples::of(&place).await;
    let mut faults = before.faults(Planned::Before, &samples).await;
    let mut now = place.pool.acquire().await.unwrap();
    let mut now = Explaining {
        statements: &statements,
        connection: &mut now,
    };
    for statistics in ["never analyzed", "analyzed"] {
        if statistics == "analyzed" {
            Backlog::analyze(&place).await;
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
    let place = prepared().await;
    let few = Backlog {
        pending: 3_000,
        one: 10,
        waiting: 10,
        aside: 10,
        scheduled: 3_000,
        published: 3_000,
        dead: 10,
        ids: 10,
        later: 0,
    };
    few.fill(&place).await;
    Backlog::analyze(&place).await;
    let statements = Statements::new(&place.name);
    let mut connection = place.pool.acquire().await.unwrap();
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
        let sql = place.name.apply(sql);
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
