//! From a shell into the store and out again.

use serde_json::json;

use crate::program::{Place, lines};

#[test]
fn a_message_goes_from_a_shell_into_the_store_and_out_to_a_file() {
    let place = Place::new();
    assert_eq!(
        place.run(&["migrate", "--json"], "").expect(0).json(),
        json!({"migrated": true})
    );
    assert_eq!(
        place.run(&["migrate", "--json"], "").expect(0).json(),
        json!({"migrated": false})
    );
    let again = place.run(&["migrate"], "").expect(0).stdout;
    assert!(again.contains("nothing was done"), "{again}");

    let input = concat!(
        r#"{"topic":"orders","id":"m-1","key":"o-1","headers":{"b":"1","a":"2"},"content_type":"application/json","payload":{"total": 9900.0, "x":[1e2]}}"#,
        "\n",
        r#"{"topic":"orders","id":"m-2","payload_base64":"/wAK"}"#,
        "\n",
    );
    let saved = place.run(&["save", "--json"], input).expect(0).json();
    assert_eq!(saved, json!({"stored": 2, "lines": 2}));
    assert_eq!(place.status()["pending"]["ready"], 2);

    let args = ["relay", "--to", &place.to_file(), "--until-empty", "--json"];
    let report = place.run(&args, "").expect(0).json();
    assert_eq!(
        report,
        json!({
            "ended_by": "empty", "published": 2, "retried": 0, "dead": 0, "released": 0, "lost": 0,
            "left_to_lease": 0, "store_errors": 0, "pending": {"total": 0, "ready": 0, "retry": 0, "paused": 0, "held": 0, "later": 0}
        })
    );
    let mut published = place.published();
    published.sort_by_key(|line| line["position"].as_i64());
    assert_eq!(
        published[0],
        json!({
            "position": published[0]["position"], "id": "m-1", "topic": "orders", "key": "o-1",
            "headers": [["b", "1"], ["a", "2"]], "content_type": "application/json",
            "payload_text": r#"{"total": 9900.0, "x":[1e2]}"#
        })
    );
    assert_eq!(published[1]["payload_base64"], "/wAK");
}

#[test]
fn what_was_published_can_be_saved_again() {
    let place = Place::migrated();
    place.run(&["save"], &lines(20, 3)).expect(0);
    let to_stdout = ["relay", "--to", "stdout:", "--until-empty"];
    let published = place.run(&to_stdout, "").expect(0).stdout;
    assert_eq!(published.lines().count(), 20);
    place.run(&["save"], &published).expect(0);
    let again = place.run(&to_stdout, "").expect(0).stdout;
    let payloads = |text: &str| -> Vec<String> {
        let mut payloads: Vec<String> = text
            .lines()
            .map(|line| line[line.find("\"id\"").unwrap()..].to_owned())
            .collect();
        payloads.sort();
        payloads
    };
    assert_eq!(payloads(&again), payloads(&published));
}

#[test]
fn with_messages_on_stdout_the_report_goes_to_standard_error() {
    let place = Place::migrated();
    place.run(&["save"], &lines(1, 1)).expect(0);
    let args = ["relay", "--to", "stdout:", "--until-empty", "--json"];
    let ran = place.run(&args, "").expect(0);
    assert_eq!(ran.json()["id"], "m-0");
    assert_eq!(
        ran.stderr
            .lines()
            .filter(|line| line.contains("\"published\":1"))
            .count(),
        1
    );
}

#[test]
fn until_empty_ends_with_3_when_only_scheduled_messages_are_left() {
    let place = Place::migrated();
    let input = concat!(
        r#"{"topic":"t","payload":1}"#,
        "\n",
        r#"{"topic":"t","payload":2,"due_in_ms":3600000}"#,
        "\n",
        r#"{"topic":"t","payload":3,"key":"k","due_in_ms":0}"#,
    );
    place.run(&["save"], input).expect(0);
    let args = ["relay", "--to", &place.to_file(), "--until-empty"];
    let ran = place.run(&args, "").expect(3);
    assert!(ran.stdout.contains("published 2 messages"), "{ran:?}");
    assert!(
        ran.stdout.contains("1 message left: 1 scheduled"),
        "{ran:?}"
    );
    assert_eq!(place.published().len(), 2);
    let status = place.status();
    assert_eq!(status["pending"]["later"], 1);
    assert!(status["next_due_ms"].as_u64().unwrap() > 3_000_000);
}

#[test]
fn o8_a_message_that_falls_due_is_published_and_not_before() {
    let place = Place::migrated();
    place
        .run(&["save"], r#"{"topic":"t","payload":1,"due_in_ms":1500}"#)
        .expect(0);
    let args = ["relay", "--to", &place.to_file(), "--until-empty"];
    place.run(&args, "").expect(3);
    assert!(place.published().is_empty());
    place.wait_for(|status| status["pending"]["later"] == 0);
    place.run(&args, "").expect(0);
    assert_eq!(place.published().len(), 1);
}

#[test]
fn a_relay_ends_when_its_time_is_over() {
    let place = Place::migrated();
    let args = ["relay", "--to", &place.to_file(), "--for", "50ms", "--json"];
    let report = place.run(&args, "").expect(0).json();
    assert_eq!(report["ended_by"], "time");
}

#[test]
fn the_environment_names_store_destination_and_log_format() {
    let place = Place::migrated();
    let mut program = place.program(&["relay", "--until-empty"]);
    program
        .env("OUTBOX_TO", "stdout:")
        .env("OUTBOX_LOG_FORMAT", "json")
        .env("RUST_LOG", "info");
    let ran = crate::program::Ran::of(program.spawn().unwrap()).expect(0);
    let logs: Vec<&str> = ran
        .stderr
        .lines()
        .filter(|line| line.starts_with('{'))
        .collect();
    assert!(!logs.is_empty(), "{ran:?}");
    for log in logs {
        let log: serde_json::Value = serde_json::from_str(log).unwrap();
        assert!(log["level"].is_string());
    }
}
