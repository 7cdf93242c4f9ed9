//! `outbox save`: what is stored, and how an interrupted import goes on.

use serde_json::json;

use crate::program::{Place, lines};

const ENVELOPE: &str = concat!(
    r#" {"job":"urn:babel:orders:created","trace_id":"t-1","data":{"order":{"id":12345678901234567890123},"none":null}, "extra":1.50,"#,
    r#""meta":{"id":"m-1","queue":"orders","lang":"php","schema_version":1,"created_at":1},"attempts":0}"#
);

#[test]
fn an_import_resumes_at_the_line_that_the_error_names() {
    let place = Place::migrated();
    let good = lines(25, 4);
    let mut mended: Vec<&str> = good.lines().collect();
    let bad = {
        let mut lines = mended.clone();
        lines[17] = r#"{"topic":"orders"}"#;
        lines.join("\n")
    };
    let ran = place
        .run(&["save", "--batch", "5", "--json"], &bad)
        .expect(2);
    ran.says(&[
        "line 18",
        "no payload",
        "stored 15 messages from 15 lines",
        "tail -n +16",
    ]);
    let failed = ran.json();
    assert_eq!(failed["stored"], 15);
    assert_eq!(failed["lines"], 15);
    assert_eq!(failed["failed_line"], 18);
    assert_eq!(failed["resume_line"], 16);
    assert_eq!(failed["exit_code"], 2);
    assert!(failed["error"].as_str().unwrap().contains("no payload"));
    assert_eq!(place.status()["pending"]["total"], 15);

    let rest = mended.split_off(15).join("\n");
    let saved = place.run(&["save", "--json"], &rest).expect(0).json();
    assert_eq!(saved, json!({"stored": 10, "lines": 10}));
    assert_eq!(place.status()["pending"]["total"], 25);
}

#[test]
fn c2_an_envelope_is_stored_byte_for_byte_without_the_line_end() {
    let place = Place::migrated();
    std::fs::write(place.path("in.ndjson"), format!("{ENVELOPE}\r\n\n")).unwrap();
    place
        .run(
            &[
                "save",
                "in.ndjson",
                "--topic",
                "elsewhere",
                "--key-field",
                "/data/order/id",
            ],
            "",
        )
        .expect(0);
    place
        .run(&["relay", "--to", &place.to_file(), "--until-empty"], "")
        .expect(0);
    let line = &place.published()[0];
    assert_eq!(line["payload_text"], ENVELOPE);
    assert_eq!(line["id"], "m-1");
    assert_eq!(line["topic"], "elsewhere");
    assert_eq!(line["key"], "12345678901234567890123");
}

#[test]
fn an_envelope_without_the_key_asked_for_is_not_stored() {
    let place = Place::migrated();
    let ran = place
        .run(&["save", "--key-field", "/data/customer"], ENVELOPE)
        .expect(2);
    ran.says(&["line 1", "/data/customer is missing"]);
    assert_eq!(place.status()["pending"]["total"], 0);
}

#[test]
fn c4_a_message_over_a_limit_is_a_bad_line() {
    let place = Place::migrated();
    let line = format!(
        r#"{{"topic":"t","key":"{}","payload":1}}"#,
        "k".repeat(1025)
    );
    place
        .run(&["save"], &line)
        .expect(2)
        .says(&["line 1", "key has 1025 bytes; at most 1024"]);
}

#[test]
fn a_copy_of_the_file_alone_has_every_message_once_the_program_has_ended() {
    let place = Place::migrated();
    place.run(&["save"], &lines(30, 3)).expect(0);
    std::fs::copy(place.path("orders.db"), place.path("copy.db")).unwrap();
    let status = place.run(&["status", "--store", "sqlite:copy.db", "--json"], "");
    assert_eq!(status.expect(0).json()["pending"]["total"], 30);
}

#[test]
fn a_bad_first_line_leaves_nothing_to_resume() {
    let place = Place::migrated();
    let ran = place.run(&["save"], r#"{"topic":"t","kee":"k"}"#).expect(2);
    ran.says(&[
        "line 1",
        "unknown field `kee`",
        "(column 18)",
        "nothing was stored",
    ]);
}

#[test]
fn nothing_to_save_is_no_error() {
    let place = Place::migrated();
    let saved = place.run(&["save", "-", "--json"], "").expect(0).json();
    assert_eq!(saved, json!({"stored": 0, "lines": 0}));
}

#[test]
fn an_input_that_cannot_be_read_is_named() {
    let place = Place::migrated();
    place
        .run(&["save", "nowhere.ndjson"], "")
        .expect(2)
        .says(&["cannot read nowhere.ndjson"]);
    std::fs::create_dir(place.path("folder")).unwrap();
    place
        .run(&["save", "folder"], "")
        .expect(2)
        .says(&["cannot read folder"]);
}
