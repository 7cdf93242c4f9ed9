//! What the tables let in, whoever writes them.

use outbox_store::{Entry, OutboxStore};
use sqlx::{Executor, postgres::PgDatabaseError};

use crate::scratch::{Scratch, request};

/// The columns of a row that is fine; the key is in its lane.
const FINE: [(&str, &str); 11] = [
    ("position", "outbox.next_position()"),
    ("attempts", "0"),
    ("tries", "0"),
    ("saved_at", "now()"),
    ("lane", "outbox.lane_of('t', 'k')"),
    ("id", "'i'"),
    ("topic", "'t'"),
    ("key", "'k'"),
    ("content_type", "'text/plain'"),
    ("headers", r#"'[["a", ""], ["b", "ž\n"]]'"#),
    ("payload", "''"),
];

/// The `INSERT` of a fine row, but for some columns.
fn insert(table: &str, others: &[(&str, &str)]) -> String {
    let mut columns = FINE.to_vec();
    if table == "scheduled" {
        columns.push(("due_at", "now() + interval '1 minute'"));
    }
    for (column, value) in others {
        let other = columns.iter_mut().find(|(name, _)| name == column);
        other.expect(column).1 = value;
    }
    let (names, values): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    format!(
        "INSERT INTO outbox.{table} ({}) VALUES ({})",
        names.join(", "),
        values.join(", ")
    )
}

/// What the server says of a statement that it refuses.
async fn refusal(scratch: &Scratch, statement: &str) -> Box<PgDatabaseError> {
    let done = scratch
        .schema
        .pool
        .execute(sqlx::raw_sql(scratch.schema.sql(statement)))
        .await;
    let error = done.expect_err(statement);
    error.into_database_error().unwrap().downcast()
}

#[tokio::test]
async fn c4_a_row_of_any_other_program_is_checked_by_the_tables() {
    let scratch = Scratch::new().await;
    let mut broken: Vec<(&[(&str, &str)], &str)> = vec![
        (&[("attempts", "-1")], "attempts are from 0 to 4294967295"),
        (
            &[("attempts", "4294967296")],
            "attempts are from 0 to 4294967295",
        ),
        (&[("tries", "-1")], "tries are from 0 to 4294967295"),
        (&[("tries", "4294967296")], "tries are from 0 to 4294967295"),
        (
            &[("saved_at", "'infinity'")],
            "the time of saving is finite",
        ),
        (
            &[("saved_at", "'-infinity'")],
            "the time of saving is finite",
        ),
        (&[("lane", "-1"), ("key", "NULL")], "a lane is from 0 to 63"),
        (&[("lane", "64"), ("key", "NULL")], "a lane is from 0 to 63"),
        (&[("id", "''")], "an id has 1 to 255 bytes"),
        (&[("id", "repeat('i', 256)")], "an id has 1 to 255 bytes"),
        (
            &[("topic", "''")],
            "a topic has 1 to 255 bytes and no control character",
        ),
        (
            &[("topic", "repeat('t', 256)")],
            "a topic has 1 to 255 bytes and no control character",
        ),
        (
            &[("topic", r"E'a\tb'")],
            "a topic has 1 to 255 bytes and no control character",
        ),
        (
            &[("topic", r"U&'a\009F'")],
            "a topic has 1 to 255 bytes and no control character",
        ),
        (
            &[("key", "''"), ("lane", "outbox.lane_of('t', '')")],
            "a key has 1 to 1024 bytes",
        ),
        (&[("key", "repeat('k', 1025)")], "a key has 1 to 1024 bytes"),
        (
            &[("content_type", "''")],
            "a content type has 1 to 255 bytes",
        ),
        (
            &[("content_type", "repeat('c', 256)")],
            "a content type has 1 to 255 bytes",
        ),
        (
            &[("payload", r"convert_to(repeat('x', 67108865), 'UTF8')")],
            "a payload has at most 64 MiB",
        ),
        (
            &[(
                "headers",
                r#"('[["a", "' || repeat('v', 1048576) || '"]]')::json"#,
            )],
            "headers are [name, value] pairs of texts in at most 1 MiB",
        ),
    ];
    let headers = [
        "'{}'",
        "'null'",
        r#"'["a"]'"#,
        r#"'[["a"]]'"#,
        r#"'[["a", "b", "c"]]'"#,
        r#"'[["a", null]]'"#,
        r#"'[["", "b"]]'"#,
        r#"'[["a\u0001", "b"]]'"#,
    ]
    .map(|headers| [("headers", headers)]);
    for columns in &headers {
        broken.push((
            columns,
            "headers are [name, value] pairs of texts in at most 1 MiB",
        ));
    }
    for table in ["message", "scheduled"] {
        for (columns, rule) in &broken {
            let insert = insert(table, columns);
            let error = refusal(&scratch, &insert).await;
            assert_eq!(error.code(), "23514", "{insert}: {error}");
            assert_eq!(error.constraint(), Some(*rule), "{insert}: {error}");
            assert!(error.message().ends_with(&format!("\"{rule}\"")), "{error}");
        }
        for (column, _) in FINE {
            if !["key", "content_type", "headers"].contains(&column) {
                let insert = insert(table, &[(column, "NULL")]);
                let error = refusal(&scratch, &insert).await;
                assert_eq!(error.code(), "23502", "{insert}: {error}");
                assert_eq!(error.column(), Some(column), "{insert}");
            }
        }
    }
    let endless = insert("scheduled", &[("due_at", "'infinity'")]);
    let error = refusal(&scratch, &endless).await;
    assert_eq!(error.constraint(), Some("scheduled_due_at_check"));
}

#[tokio::test]
async fn c4_a_row_that_is_changed_is_checked_too() {
    let scratch = Scratch::new().await;
    scratch.schema.run(&insert("message", &[])).await;
    let error = refusal(&scratch, "UPDATE outbox.message SET attempts = -1").await;
    assert_eq!(
        error.constraint(),
        Some("attempts are from 0 to 4294967295")
    );
}

#[tokio::test]
async fn c4_what_is_just_within_the_limits_is_let_in_and_read() {
    let scratch = Scratch::new().await;
    let (topic, key) = ("repeat('t', 255)", "repeat('k', 1024)");
    let lane = format!("outbox.lane_of({topic}, {key})");
    let large = [
        ("attempts", "4294967295"),
        ("tries", "4294967295"),
        ("lane", lane.as_str()),
        ("id", "repeat('i', 255)"),
        ("topic", topic),
        ("key", key),
        ("content_type", "repeat('c', 255)"),
        ("headers", "NULL"),
    ];
    scratch.schema.run(&insert("message", &large)).await;
    let small = [("key", "NULL"), ("content_type", "NULL")];
    for lane in ["0", "63"] {
        let row = [small[0], small[1], ("lane", lane)];
        scratch.schema.run(&insert("message", &row)).await;
    }
    scratch.schema.run(&insert("message", &[])).await;
    let claim = scratch.store.claim(&request(10)).await.unwrap();
    assert_eq!(claim.entries.len(), 4);
}

/// No column can tell by itself; a relay looks.
#[tokio::test]
async fn f7_a_row_in_the_lane_of_another_key_is_let_in_and_is_unreadable() {
    let scratch = Scratch::new().await;
    let astray = [("lane", "outbox.lane_of('t', 'k') # 1::smallint")];
    scratch.schema.run(&insert("message", &astray)).await;
    let claim = scratch.store.claim(&request(10)).await.unwrap();
    assert!(
        matches!(&claim.entries[..], [Entry::Unreadable(_)]),
        "{claim:?}"
    );
}

/// No sequence draws such a position, and nothing keeps a hand from writing it.
#[tokio::test]
async fn a_row_at_a_position_below_all_others_is_found_by_upkeep() {
    let scratch = Scratch::new().await;
    scratch
        .schema
        .run(&insert("message", &[("position", "-7")]))
        .await;
    let claimed = async || {
        scratch
            .store
            .claim(&request(10))
            .await
            .unwrap()
            .entries
            .len()
    };
    assert_eq!(claimed().await, 0);
    scratch.store.maintain().await.unwrap();
    assert_eq!(claimed().await, 1);
}
