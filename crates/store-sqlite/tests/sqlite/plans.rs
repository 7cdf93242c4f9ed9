//! P2, P3: no statement of writers, relays or steps over dead letters reads a table that grows from end to end.

use std::{collections::BTreeMap, fs, path::Path};

use sqlx::{AssertSqlSafe, Row};

use crate::scratch::{Scratch, message};

/// Statements for people and for tests of applications, which count or list everything.
const READ_EVERYTHING: [&str; 7] = [
    "pending",
    "status_blocked",
    "status_counts",
    "status_topics",
    "dead_count_all",
    "dead_count_id",
    "dead_count_key",
];

/// What may be read from end to end: JSON arrays, steps of a recursion, single rows, and tables that do not grow.
const SMALL: [&str; 21] = [
    "SCAN CONSTANT ROW",
    "SCAN behind",
    "SCAN chosen VIRTUAL TABLE",
    "SCAN given VIRTUAL TABLE",
    "SCAN json_each VIRTUAL TABLE",
    "SCAN walk",
    "SCAN clock",
    // Its index, of which one row is read.
    "SCAN d USING INDEX outbox_dead_saved",
    "SCAN l",
    "SCAN last",
    "SCAN outbox_lane",
    "SCAN outbox_destination_state",
    "SCAN outbox_topic_state",
    "SCAN sqlite_master",
    "SCAN seen",
    "SCAN done",
    "SCAN aside",
    "SCAN keyed",
    "SCAN turn",
    "SCAN unkeyed",
    "SCAN (subquery",
];

/// The plan of each statement, by the name of its file.
async fn plans(scratch: &Scratch) -> BTreeMap<String, Vec<String>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sql");
    let mut plans = BTreeMap::new();
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let sql = format!("EXPLAIN QUERY PLAN {}", fs::read_to_string(&path).unwrap());
        let rows = sqlx::query(AssertSqlSafe(sql)).fetch_all(&scratch.pool);
        let rows = rows.await.unwrap_or_else(|error| panic!("{name}: {error}"));
        let details = rows.iter().map(|row| row.get::<String, _>("detail"));
        plans.insert(name, details.collect());
    }
    plans
}

fn assert_bounded(plans: &BTreeMap<String, Vec<String>>) {
    assert!(plans.len() > 40, "all statements were found");
    for (name, plan) in plans {
        if READ_EVERYTHING.contains(&name.as_str()) {
            continue;
        }
        for step in plan.iter().filter(|step| step.starts_with("SCAN")) {
            let small = SMALL.iter().any(|small| {
                step.strip_prefix(small).is_some_and(|rest| {
                    !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
                })
            });
            assert!(small, "{name}: {step}\n{plan:#?}");
        }
    }
    let uses = |name: &str, step: &str| {
        assert!(
            plans[name].iter().any(|found| found.contains(step)),
            "{name} without {step}: {:#?}",
            plans[name]
        );
    };
    uses(
        "lanes",
        "SEARCH m USING COVERING INDEX outbox_message_lane (lane=?)",
    );
    uses(
        "lanes",
        "outbox_scheduled_due (lane=? AND due_at>? AND due_at<?)",
    );
    uses(
        "lanes",
        "outbox_blocked_key_until (lane=? AND until>? AND until<?)",
    );
    uses(
        "read_line",
        "SEARCH n USING COVERING INDEX outbox_message_lane (lane=? AND rowid>?)",
    );
    uses("read_line", "SEARCH m USING INTEGER PRIMARY KEY (rowid=?)");
    uses("read_line", "SEARCH h USING INTEGER PRIMARY KEY (rowid=?)");
    uses(
        "look_ahead",
        "SEARCH m USING INDEX outbox_message_lane (lane=? AND rowid>?)",
    );
    uses(
        "read_waiting",
        "SEARCH n USING COVERING INDEX outbox_waiting_key (topic=? AND key=? AND rowid>?)",
    );
    uses("promote", "outbox_scheduled_due (lane=? AND due_at<?)");
    uses(
        "due_blocks",
        "outbox_blocked_key_until (lane=? AND until<?)",
    );
    uses(
        "confirmed_line",
        "SEARCH outbox_message USING INTEGER PRIMARY KEY (rowid=?)",
    );
    uses(
        "dead_page_id",
        "outbox_dead_id (id=? AND rowid>? AND rowid<?)",
    );
    uses(
        "dead_page_key",
        "outbox_dead_key (topic=? AND key=? AND rowid>? AND rowid<?)",
    );
    uses("read_line", "SEARCH t USING PRIMARY KEY (topic=?)");
    uses("due_blocks", "SEARCH t USING PRIMARY KEY (topic=?)");
    uses(
        "probe_pick",
        "outbox_blocked_key_topic (topic=? AND lane=?)",
    );
    uses("probe_pick", "outbox_scheduled_aside (topic=? AND lane=?)");
    uses("free_keys", "outbox_blocked_key_topic (topic=?)");
    uses("free_messages", "outbox_scheduled_aside (topic=?)");
    uses("purge_published", "outbox_published_at (published_at<?)");
    uses("forget_ids", "outbox_saved_id_expires (expires_at<?)");
    uses("inbox_purge", "outbox_inbox_handled (handled_at<?)");
    uses(
        "inbox_purge",
        "SEARCH outbox_inbox USING PRIMARY KEY (consumer=? AND message_id=?)",
    );
    uses("inbox_count", "outbox_inbox_handled (handled_at<?)");
    uses(
        "inbox_forget",
        "SEARCH outbox_inbox USING PRIMARY KEY (consumer=? AND message_id=?)",
    );
    uses("dead_oldest", "SCAN d USING INDEX outbox_dead_saved");
    for (name, plan) in plans {
        // Sorting a page or the lanes is bounded; reports may sort what they read.
        let bounded =
            ["due_blocks", "lanes", "dead_letters", "probe_pick"].contains(&name.as_str());
        if !bounded && !name.starts_with("status") {
            assert!(
                !plan.iter().any(|step| step.contains("ORDER BY")),
                "{name}: {plan:#?}"
            );
        }
    }
}

#[tokio::test]
async fn p2_no_statement_scans_a_table_that_grows() {
    let scratch = Scratch::new().await;
    assert_bounded(&plans(&scratch).await);
}

#[tokio::test]
async fn p2_the_plans_stay_when_the_tables_are_full_and_analyzed() {
    let scratch = Scratch::new().await;
    let one_key: Vec<_> = (0..2_000).map(|_| message(Some("a"), "x")).collect();
    scratch.save(&one_key).await;
    scratch
        .sql(
            "INSERT INTO outbox_waiting SELECT position, lane, id, topic, key, headers, content_type, attempts, tries, error, saved_at, payload FROM outbox_message;
             INSERT INTO outbox_scheduled SELECT position, lane, id, topic, key, headers, content_type, attempts, tries, error, saved_at, 1, payload FROM outbox_message;
             INSERT INTO outbox_dead SELECT position, lane, id, topic, key, headers, content_type, attempts, tries, error, saved_at, 1, 'exhausted', 'skip', payload FROM outbox_message;
             INSERT INTO outbox_blocked_key (lane, topic, key, until, reason, position) SELECT lane, topic, position, 1, 'retry', position FROM outbox_message;
             INSERT INTO outbox_saved_id SELECT id, 1 FROM outbox_message;
             INSERT INTO outbox_inbox SELECT 'billing', id, 1 FROM outbox_message;
             INSERT INTO outbox_published (position, lane, id, topic, key, attempts, tries, saved_at, published_at, payload) SELECT position, lane, id, topic, key, attempts, tries, saved_at, 1, payload FROM outbox_message;
             ANALYZE;",
        )
        .await;
    // The statistics are read when a connection is opened.
    let fresh = scratch.another().await;
    let scratch = Scratch {
        pool: fresh.pool().clone(),
        store: fresh,
        folder: scratch.folder,
    };
    assert_bounded(&plans(&scratch).await);
}
