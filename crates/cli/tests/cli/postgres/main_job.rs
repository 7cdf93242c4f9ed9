//! From a shell into Postgres and out again.

use serde_json::json;

use crate::program::{Place, lines};

#[test]
fn a_message_goes_from_a_shell_into_postgres_and_out_to_a_file() {
    let place = Place::on_postgres();
    let migrate = || place.run(&["migrate", "--json"], "").expect(0).json();
    assert_eq!(migrate(), json!({"migrated": true}));
    assert_eq!(migrate(), json!({"migrated": false}));
    let saved = place.run(&["save", "--batch", "7", "--json"], &lines(20, 3));
    assert_eq!(saved.expect(0).json(), json!({"stored": 20, "lines": 20}));
    let status = place.status();
    assert_eq!(
        (&status["pending"]["total"], &status["pending"]["ready"]),
        (&json!(20), &json!(20))
    );
    let to = place.to_file();
    let args = ["relay", "--to", &to, "--until-empty", "--json"];
    let report = place.run(&args, "").expect(0).json();
    assert_eq!(report["published"], 20);
    assert_eq!(report["ended_by"], "empty");
    assert_in_order(&place, 20, 3);
    let status = place.status();
    assert_eq!(status["pending"]["total"], 0);
    assert_eq!(status["lanes"], json!([]));
}

#[test]
fn through_a_pooler_nothing_is_prepared_and_saves_can_wake_relays() {
    let place = Place::on_postgres();
    place.run(&["migrate", "--pooler"], "").expect(0);
    place.run(&["save", "--pooler"], &lines(5, 2)).expect(0);
    place.run(&["save", "--wake-up"], &lines(1, 1)).expect(0);
    let to = place.to_file();
    for option in ["--pooler", "--wake-up"] {
        let args = ["relay", option, "--to", &to, "--until-empty"];
        place.run(&args, "").expect(0);
    }
    assert_eq!(place.published().len(), 6);
    place.run(&["status", "--pooler"], "").expect(0);
}

#[test]
fn the_sql_is_printed_with_the_name_of_the_schema() {
    let place = Place::on_postgres();
    let print = [
        "migrate",
        "--print",
        "--store",
        "postgres://nowhere/x",
        "--schema",
        "Shop 1",
    ];
    let sql = place.run(&print, "").expect(0).stdout;
    assert!(sql.contains(r#"CREATE TABLE "Shop 1".message"#), "{sql}");
    assert!(!sql.contains("CREATE TABLE outbox."), "{sql}");
}

#[test]
fn o9_a_dead_letter_that_holds_its_key_is_redriven_first() {
    let place = Place::on_postgres();
    place.run(&["migrate"], "").expect(0);
    let first = r#"{"topic":"orders","id":"bad","key":"k-0","payload_text":"hello"}"#;
    place.run(&["save"], first).expect(0);
    place.sql(&spoil("bad"));
    place.run(&["save"], &lines(2, 1)).expect(0);
    let to = place.to_file();
    let hold = [
        "relay",
        "--to",
        &to,
        "--until-empty",
        "--after-death",
        "hold",
    ];
    place.run(&hold, "").expect(3);
    let list = place.run(&["dead", "list", "--json"], "").expect(0).json();
    assert_eq!(list["matching"], 1);
    assert_eq!(list["dead"][0]["reason"], "unreadable");
    let shown = ["dead", "show", "bad", "--json"];
    let shown = place.run(&shown, "").expect(0).json();
    assert_eq!(shown["payload_text"], "hello");
    let blocked = &place.status()["blocked_keys"]["oldest"][0];
    assert_eq!(
        (&blocked["key"], &blocked["reason"], &blocked["waiting"]),
        (&json!("k-0"), &json!("dead"), &json!(2))
    );

    place.sql("update dead set headers = null");
    let redriven = ["dead", "redrive", "--id", "bad", "--json"];
    assert_eq!(
        place.run(&redriven, "").expect(0).json(),
        json!({"dry_run": false, "matching": 1, "redriven": 1, "out_of_order": 0})
    );
    place.run(&hold, "").expect(0);
    let ids: Vec<_> = place
        .published()
        .iter()
        .map(|line| line["id"].clone())
        .collect();
    assert_eq!(ids, ["bad", "m-0", "m-1"]);
}

#[test]
fn a2_a_key_goes_on_when_the_dead_letter_that_holds_it_is_discarded() {
    let place = Place::on_postgres();
    place.run(&["migrate"], "").expect(0);
    place.run(&["save"], &lines(3, 1)).expect(0);
    place.sql(&spoil("m-0"));
    let to = place.to_file();
    let hold = [
        "relay",
        "--to",
        &to,
        "--until-empty",
        "--after-death",
        "hold",
    ];
    place.run(&hold, "").expect(3);
    let discarded = ["dead", "discard", "--topic", "orders", "--key", "k-0"];
    let told = place.run(&discarded, "").expect(0).stdout;
    assert_eq!(told, "discarded 1 dead letter\n");
    place.run(&hold, "").expect(0);
    assert_eq!(place.published().len(), 2);
}

/// Makes a row that no relay can read; the column's own type would not let it in.
fn spoil(id: &str) -> String {
    format!(
        "alter domain message_headers drop constraint \"headers are [name, value] pairs of texts in at most 1 MiB\";
         update message set headers = '[1]' where id = '{id}'"
    )
}

/// Every message came once, and those of each key in the order of saving.
pub(super) fn assert_in_order(place: &Place, messages: usize, keys: usize) {
    let published = place.published();
    assert_eq!(published.len(), messages);
    for key in 0..keys {
        let ids: Vec<_> = published
            .iter()
            .filter(|line| line["key"] == format!("k-{key}"))
            .map(|line| line["id"].clone())
            .collect();
        let saved: Vec<_> = (key..messages)
            .step_by(keys)
            .map(|n| format!("m-{n}"))
            .collect();
        assert_eq!(ids, saved);
    }
}
