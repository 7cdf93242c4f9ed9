//! The tables check the limits of contract C4 themselves, because any program may write into them.

use outbox_message::MAX_HEADERS_BYTES;

use crate::scratch::{Scratch, deliveries};

#[tokio::test]
async fn c4_the_tables_refuse_what_breaks_a_limit() {
    let scratch = Scratch::new().await;
    for table in ["outbox_message", "outbox_scheduled"] {
        for (column, value) in [
            ("lane", "8"),
            ("lane", "-1"),
            ("id", "''"),
            ("id", "'a' || char(0)"),
            ("id", "x'61'"),
            ("id", "NULL"),
            ("topic", "''"),
            ("topic", "printf('%.*c', 256, 't')"),
            ("topic", "printf('%.*c', 128, 'é')"),
            ("topic", "'a' || char(0)"),
            ("topic", "'a' || char(10)"),
            ("topic", "'a' || char(133)"),
            ("topic", "NULL"),
            ("key", "''"),
            ("key", "printf('%.*c', 1025, 'k')"),
            ("key", "'a' || char(0)"),
            ("headers", "x'5b5d'"),
            ("headers", "printf('%.*c', 1048577, '[')"),
            ("content_type", "''"),
            ("content_type", "printf('%.*c', 256, 'c')"),
            ("payload", "'text'"),
            ("payload", "NULL"),
            ("payload", "zeroblob(67108865)"),
            ("attempts", "-1"),
            ("tries", "4294967296"),
            ("position", "0"),
        ] {
            let insert = insert(table, column, value);
            let refused = sqlx::raw_sql(sqlx::AssertSqlSafe(insert)).execute(&scratch.pool);
            assert!(refused.await.is_err(), "{table}.{column} = {value}");
        }
    }
}

/// The longest JSON of legal headers that any program may write: each name one byte, escaped as six, no value, and a space after each comma.
#[tokio::test]
async fn c4_the_tables_take_every_json_of_legal_headers() {
    let scratch = Scratch::new().await;
    let pair = r#"["\u0022", ""]"#;
    let longest = format!("[{}]", vec![pair; MAX_HEADERS_BYTES].join(", "));
    assert_eq!(longest.len(), 1_048_576);
    for (position, table) in [(1, "outbox_message"), (2, "outbox_scheduled")] {
        let insert = insert(table, "headers", &format!("'{longest}'"))
            .replace("VALUES (1,", &format!("VALUES ({position},"));
        sqlx::raw_sql(sqlx::AssertSqlSafe(insert))
            .execute(&scratch.pool)
            .await
            .unwrap();
    }
    let longer = insert("outbox_message", "headers", &format!("'{longest} '"));
    let refused = sqlx::raw_sql(sqlx::AssertSqlSafe(longer)).execute(&scratch.pool);
    assert!(refused.await.is_err());
}

fn insert(table: &str, column: &str, value: &str) -> String {
    let mut row = vec![
        ("position", "1"),
        ("lane", "0"),
        ("id", "'id'"),
        ("topic", "'t'"),
        ("key", "'k'"),
        ("headers", "'[]'"),
        ("content_type", "'c'"),
        ("attempts", "0"),
        ("tries", "0"),
        ("payload", "x'00'"),
    ];
    if table == "outbox_scheduled" {
        row.push(("due_at", "0"));
    }
    let columns: Vec<&str> = row.iter().map(|(name, _)| *name).collect();
    let values = row
        .iter()
        .map(|(name, usual)| if *name == column { value } else { usual });
    let values: Vec<&str> = values.collect();
    format!(
        "INSERT INTO {table} ({}) VALUES ({})",
        columns.join(", "),
        values.join(", ")
    )
}

#[tokio::test]
async fn a_message_that_another_program_wrote_is_relayed() {
    let scratch = Scratch::new().await;
    scratch
        .sql(
            "BEGIN IMMEDIATE;
             UPDATE outbox_position SET last = last + 1;
             INSERT INTO outbox_message (position, lane, id, topic, payload)
             SELECT last, abs(random() % 8), 'id-1', 'orders', CAST('{}' AS BLOB) FROM outbox_position;
             COMMIT;",
        )
        .await;
    let claim = scratch.claim(10).await;
    let delivery = deliveries(&claim).next().unwrap();
    assert_eq!(delivery.message.id.as_str(), "id-1");
    assert_eq!(&delivery.message.payload[..], b"{}");
    let age = "SELECT abs(saved_at - unixepoch('subsec') * 1000) < 60000 FROM outbox_message";
    assert_eq!(scratch.count(age).await, 1);
}
