//! The SQL function `save`: what any language, or a person, writes with.

use std::time::Duration;

use outbox_message::{Lanes, OrderingKey, PartitionKey, Topic};
use outbox_store::{Entry, OutboxStore};
use sqlx::{Executor, PgConnection, Row, postgres::PgListener};

use crate::scratch::{Scratch, payloads, request};

const LANES: Lanes = Lanes::new(64).expect("64 is not zero");

/// Runs a statement in a transaction of its own.
async fn run(scratch: &Scratch, statement: &str) {
    scratch.schema.run(statement).await;
}

/// What the server says of a statement: SQLSTATE, message and hint.
async fn refusal(tx: &mut PgConnection, scratch: &Scratch, statement: &str) -> [String; 3] {
    let error = tx
        .execute(sqlx::raw_sql(scratch.schema.sql(statement)))
        .await
        .expect_err(statement);
    let error = error
        .into_database_error()
        .unwrap()
        .downcast::<sqlx::postgres::PgDatabaseError>();
    let hint = error.hint().unwrap_or_default().to_owned();
    [error.code().to_owned(), error.message().to_owned(), hint]
}

#[tokio::test]
async fn two_literals_are_a_message_whose_text_stays_as_it_was_written() {
    let scratch = Scratch::new().await;
    run(
        &scratch,
        r#"SELECT outbox.save('orders', '{"a":"\n\\x41"}');
           SELECT outbox.save('orders', '\x41');
           SELECT outbox.save('orders', '\x41'::bytea);
           SELECT outbox.save('orders', '')"#,
    )
    .await;
    let mut found = scratch.drain().await;
    found.sort();
    let written: [&[u8]; 4] = [b"", b"A", br"\x41", br#"{"a":"\n\\x41"}"#];
    assert_eq!(found, written);
}

#[tokio::test]
async fn every_part_reaches_the_relay() {
    let scratch = Scratch::new().await;
    run(
        &scratch,
        r#"SELECT outbox.save('orders', 'array', key => 'one', id => 'my-id', content_type => 'text/plain', headers => '[["b", "1"], ["a", ""], ["b", "ž\n"]]');
           SELECT outbox.save('orders', 'object', key => 'one', headers => '{"b": "1", "a": "", "b": "ž\n"}');
           SELECT outbox.save('orders', 'none', key => 'one', headers => '{}');
           SELECT outbox.save('orders', 'null', key => 'one', headers => 'null')"#,
    )
    .await;
    let claim = scratch.store.claim(&request(10)).await.unwrap();
    assert_eq!(
        payloads(&claim),
        ["array", "object", "none", "null"].map(Vec::from)
    );
    let messages: Vec<_> = claim
        .entries
        .iter()
        .map(|entry| match entry {
            Entry::Message(delivery) => &delivery.message,
            Entry::Unreadable(row) => panic!("{}", row.error),
        })
        .collect();
    let pairs = [("b", "1"), ("a", ""), ("b", "ž\n")];
    for message in &messages[..2] {
        assert_eq!(message.headers.iter().collect::<Vec<_>>(), pairs);
    }
    assert!(messages[2].headers.is_empty() && messages[3].headers.is_empty());
    assert_eq!(messages[0].id.as_str(), "my-id");
    assert_eq!(
        messages[0].content_type.as_ref().unwrap().as_str(),
        "text/plain"
    );
}

#[tokio::test]
async fn c3_new_ids_are_version_7_uuids_that_grow() {
    let scratch = Scratch::new().await;
    let ids = sqlx::query_scalar::<_, String>(
        scratch
            .schema
            .sql("SELECT outbox.new_id() FROM generate_series(1, 5000)"),
    );
    let ids = ids.fetch_all(&scratch.schema.pool).await.unwrap();
    assert!(ids.is_sorted_by(|a, b| a[..18] <= b[..18]));
    for id in &ids {
        assert_eq!(id.len(), 36);
        assert_eq!(id.as_bytes()[14], b'7', "version of {id}");
        assert!(b"89ab".contains(&id.as_bytes()[19]), "variant of {id}");
    }
    let mut distinct = ids.clone();
    distinct.dedup();
    assert_eq!(distinct.len(), ids.len());
    let now = scratch.schema.now_ms().await;
    let made = i64::from_str_radix(&ids[0].replace('-', "")[..12], 16).unwrap();
    assert!((now - made).abs() < 60_000, "{made} at {now}");
}

#[tokio::test]
async fn the_lane_in_sql_is_that_of_the_ordering_key() {
    let scratch = Scratch::new().await;
    let texts = (0..2_000).map(|n| format!("{}-{n}", "ž🐎k".repeat(n % 30)));
    let (topics, keys): (Vec<String>, Vec<String>) = texts
        .map(|text| (text.chars().rev().take(60).collect(), text))
        .unzip();
    let lanes = sqlx::query_scalar::<_, i16>(scratch.schema.sql(
        "SELECT outbox.lane_of(topic, key) FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS u (topic, key, n) ORDER BY n",
    ));
    let lanes = lanes.bind(&topics).bind(&keys);
    let lanes = lanes.fetch_all(&scratch.schema.pool).await.unwrap();
    for ((topic, key), lane) in topics.iter().zip(&keys).zip(lanes) {
        let ordering_key = OrderingKey {
            topic: Topic::new(topic).unwrap(),
            key: PartitionKey::new(key).unwrap(),
        };
        assert_eq!(
            i32::from(ordering_key.lane(LANES).0),
            i32::from(lane),
            "{topic} {key}"
        );
    }
}

#[tokio::test]
async fn c4_what_breaks_a_limit_is_refused_with_a_hint() {
    let scratch = Scratch::new().await;
    for (call, message) in [
        ("NULL, 'x'", "the topic is NULL"),
        ("'', 'x'", "topic has 0 bytes"),
        ("repeat('t', 256), 'x'", "topic has 256 bytes"),
        (r"E'a\nb', 'x'", "topic contains a control character"),
        (r"U&'a\0085', 'x'", "topic contains a control character"),
        ("'t', NULL::text", "the payload is NULL"),
        (
            "'t', convert_to(repeat('x', 67108865), 'UTF8')",
            "payload has 67108865 bytes",
        ),
        ("'t', 'x', key => ''", "key has 0 bytes"),
        ("'t', 'x', key => repeat('ž', 513)", "key has 1026 bytes"),
        (
            "'t', 'x', id => repeat('i', 256)",
            "message id has 256 bytes",
        ),
        ("'t', 'x', content_type => ''", "content type has 0 bytes"),
        (
            "'t', 'x', headers => '[1]'",
            "headers are not pairs of a name and a value",
        ),
        (
            "'t', 'x', headers => '{\"a\": 1}'",
            "headers are not pairs of a name and a value",
        ),
        (
            "'t', 'x', headers => '[[\"\", \"\"]]'",
            "headers are not pairs of a name and a value",
        ),
        (
            "'t', 'x', headers => '[[\"a\\n\", \"\"]]'",
            "headers are not pairs of a name and a value",
        ),
        (
            "'t', 'x', headers => '[[\"a\", \"b\", \"c\"]]'",
            "headers are not pairs of a name and a value",
        ),
        (
            "'t', 'x', headers => json_build_object(repeat('n', 256), '')",
            "a header name is too long",
        ),
        (
            "'t', 'x', headers => json_build_object('n', repeat('v', 65536))",
            "headers have 65537 bytes",
        ),
        ("'t', 'x', due => 'infinity'", "due is infinity"),
        ("'t', 'x', once => '1 day'", "once is given without an id"),
        ("'t', 'x', id => 'i', once => '0'", "once is 00:00:00"),
    ] {
        let mut tx = scratch.pool().begin().await.unwrap();
        let [code, said, hint] =
            refusal(&mut tx, &scratch, &format!("SELECT outbox.save({call})")).await;
        assert_eq!((code.as_str(), said.as_str()), ("22023", message), "{call}");
        assert!(hint.ends_with('.'), "{call}: {hint}");
    }
    assert!(scratch.drain().await.is_empty());
    run(
        &scratch,
        "SELECT outbox.save(repeat('t', 255), 'x', key => repeat('k', 1024), id => repeat('i', 255), content_type => repeat('c', 255),
                            headers => json_build_object(repeat('n', 255), repeat('v', 65536 - 255)))",
    )
    .await;
    assert_eq!(scratch.drain().await, [b"x"]);
}

#[tokio::test]
async fn c3_a_second_message_of_an_id_is_a_duplicate_within_its_time() {
    let scratch = Scratch::new().await;
    let save = "SELECT coalesce(outbox.save('t', 'x', id => 'one', once => '1 hour'), 0)";
    assert!(scratch.schema.count(save).await > 0);
    assert_eq!(scratch.schema.count(save).await, 0);
    scratch.schema.advance(Duration::from_mins(61)).await;
    assert!(scratch.schema.count(save).await > 0);
    assert_eq!(scratch.drain().await.len(), 2);
}

/// Case 31: a time without a zone is one of the session, and a time in the past is at once.
#[tokio::test]
async fn case_31_a_message_joins_the_line_when_it_is_due() {
    let scratch = Scratch::new().await;
    run(
        &scratch,
        "SET TIME ZONE 'Asia/Kathmandu';
         SELECT outbox.save('t', 'later', due => (now() + interval '1 minute')::timestamp);
         SELECT outbox.save('t', 'past', due => '2001-01-01');
         RESET TIME ZONE",
    )
    .await;
    assert_eq!(scratch.drain().await, [b"past"]);
    scratch.schema.advance(Duration::from_mins(1)).await;
    assert_eq!(scratch.drain().await, [b"later"]);
}

#[tokio::test]
async fn nothing_depends_on_the_search_path() {
    let scratch = Scratch::new().await;
    let mut tx = scratch.schema.pool.begin().await.unwrap();
    for statement in [
        "CREATE TEMP TABLE message (position bigint); CREATE TEMP TABLE saved_id (id text); SET LOCAL search_path = pg_temp, pg_catalog",
        "SELECT outbox.save('t', 'x', key => 'k', id => 'i', once => '1 day', in_commit_order => true, wake_up => true, headers => '{\"a\": \"b\"}')",
        "SET LOCAL search_path = ''",
        "SELECT outbox.save('t', 'y', key => 'k', due => '2001-01-01')",
    ] {
        tx.execute(sqlx::raw_sql(scratch.schema.sql(statement)))
            .await
            .unwrap();
    }
    tx.commit().await.unwrap();
    assert_eq!(scratch.drain().await, [b"x", b"y"]);
}

#[tokio::test]
async fn c1_what_was_rolled_back_was_never_saved() {
    let scratch = Scratch::new().await;
    run(
        &scratch,
        "BEGIN; SELECT outbox.save('t', 'x', id => 'i', once => '1 day'); ROLLBACK",
    )
    .await;
    assert!(scratch.drain().await.is_empty());
    assert_eq!(
        scratch
            .schema
            .count("SELECT count(*) FROM outbox.saved_id")
            .await,
        0
    );
}

#[tokio::test]
async fn case_25_relays_that_listen_are_told_once_for_all_saves_of_a_transaction() {
    let scratch = Scratch::new().await;
    let mut listener = PgListener::connect_with(&scratch.schema.pool)
        .await
        .unwrap();
    listener.listen("outbox").await.unwrap();
    let a_minute = "(extract(epoch FROM now() + interval '1 minute') * 1000)::bigint";
    run(
        &scratch,
        &format!(
            "SELECT outbox.save('t', 'nobody listens', wake_up => true);
         SELECT setval('outbox.quiet', {a_minute});
         SELECT outbox.save('t', 'quiet', wake_up => true);
         SELECT setval('outbox.quiet', {a_minute} - 60001);
         BEGIN; SELECT outbox.save('t', 'x', wake_up => true) FROM generate_series(1, 100); COMMIT;
         SELECT outbox.save('t', 'silent');
         SELECT pg_notify('outbox', 'end')"
        ),
    )
    .await;
    let mut heard = Vec::new();
    while heard.last().is_none_or(|payload| payload != "end") {
        let notification = listener.recv().await.unwrap();
        heard.push(notification.payload().to_owned());
    }
    // Other tests of this server may be heard as well.
    let mine = heard
        .iter()
        .filter(|payload| *payload == scratch.schema.name.as_str());
    assert_eq!(mine.count(), 1);
}

/// The function is there for whoever may write into the tables, and for nobody else.
#[tokio::test]
async fn it_runs_with_the_rights_of_its_caller() {
    let scratch = Scratch::new().await;
    let functions = sqlx::query(
        "SELECT p.proname::text AS name, p.prosecdef AS definer
         FROM pg_proc AS p
         JOIN pg_namespace AS n ON n.oid = p.pronamespace
         WHERE n.nspname = $1",
    );
    let functions = functions.bind(scratch.schema.name.as_str());
    let functions = functions.fetch_all(&scratch.schema.pool).await.unwrap();
    assert!(functions.len() > 10);
    for function in functions {
        assert!(
            !function.get::<bool, _>("definer"),
            "{}",
            function.get::<String, _>("name")
        );
    }
}
