//! `outbox dead`, and what `status` and `relay --until-empty` say of a key that a dead letter holds.

use serde_json::json;

use crate::program::{Place, Ran, lines};

/// A store with one message of key `k` that died because its row cannot be read, and `behind` messages after it.
fn with_dead_letter(policy: &str, behind: usize) -> (Place, Ran) {
    let place = Place::migrated();
    let first = r#"{"topic":"orders","id":"bad","key":"k-0","content_type":"text/plain","payload_text":"hello"}"#;
    place.run(&["save"], first).expect(0);
    place.sql("update outbox_message set headers = 'no json'");
    place.run(&["save"], &lines(behind, 1)).expect(0);
    let args = [
        "relay",
        "--to",
        &place.to_file(),
        "--until-empty",
        "--after-death",
        policy,
        "--json",
    ];
    let ran = place.run(&args, "");
    (place, ran)
}

#[test]
fn f7_a_row_that_cannot_be_read_dies_alone_and_is_shown() {
    let (place, relay) = with_dead_letter("skip", 3);
    let report = relay.expect(0).json();
    assert_eq!(
        (&report["published"], &report["dead"]),
        (&json!(3), &json!(1))
    );

    let list = place.run(&["dead", "list", "--json"], "").expect(0).json();
    assert_eq!(list["matching"], 1);
    let letter = &list["dead"][0];
    assert_eq!(letter["id"], "bad");
    assert_eq!(letter["key"], "k-0");
    assert_eq!(letter["reason"], "unreadable");
    assert_eq!(letter["payload_bytes"], 5);
    assert_eq!(letter["after_death"], "skip");

    let shown = place
        .run(&["dead", "show", "bad", "--json"], "")
        .expect(0)
        .json();
    let position = letter["position"].to_string();
    let by_position = ["dead", "show", "--position", &position, "--json"];
    assert_eq!(place.run(&by_position, "").expect(0).json(), shown);
    assert_eq!(shown["payload_text"], "hello");
    assert_eq!(shown["headers"], "no json");
    assert_eq!(shown["content_type"], "text/plain");

    let text = place.run(&["dead", "list"], "").expect(0).stdout;
    assert!(
        text.contains("bad") && text.contains("unreadable") && text.contains("1 dead letter"),
        "{text}"
    );
    assert!(text.contains(&position), "{text}");
    let text = place.run(&["dead", "show", "bad"], "").expect(0).stdout;
    assert!(text.contains("hello") && text.contains("went on"), "{text}");
    for (name, note) in [
        ("attempts", "counted failures"),
        ("tries", "recorded publish calls"),
    ] {
        let row = text.lines().find(|line| line.starts_with(name)).unwrap();
        assert!(row.contains(note), "{row}");
    }
    let text = place.run(&["status"], "").expect(0).stdout;
    assert!(text.contains("dead"), "{text}");
}

#[test]
fn o9_a_held_key_shows_as_blocked_and_until_empty_ends_with_3() {
    let (place, relay) = with_dead_letter("hold", 3);
    let report = relay.expect(3).json();
    assert_eq!(report["published"], 0);
    assert_eq!(report["ended_by"], "nothing_ready");
    assert_eq!(
        report["pending"],
        json!({"total": 3, "ready": 0, "retry": 0, "paused": 0, "held": 3, "later": 0})
    );

    let status = place.status();
    assert_eq!(status["blocked_keys"]["count"], 1);
    let blocked = &status["blocked_keys"]["oldest"][0];
    assert_eq!(blocked["key"], "k-0");
    assert_eq!(blocked["reason"], "dead");
    assert_eq!(blocked["next_try_ms"], json!(null));
    let text = place.run(&["status"], "").expect(0).stdout;
    assert!(text.contains("never by itself"), "{text}");

    let discarded = place
        .run(&["dead", "discard", "--key", "k-0", "--json"], "")
        .expect(0)
        .json();
    assert_eq!(
        discarded,
        json!({"dry_run": false, "matching": 1, "discarded": 1})
    );
    place
        .run(&["relay", "--to", &place.to_file(), "--until-empty"], "")
        .expect(0);
    assert_eq!(place.published().len(), 3);
}

#[test]
fn o9_a_dead_letter_that_holds_its_key_is_redriven_first() {
    let (place, _) = with_dead_letter("hold", 2);
    place.sql("update outbox_dead set headers = null");
    let dry = place
        .run(
            &["dead", "redrive", "--id", "bad", "--dry-run", "--json"],
            "",
        )
        .expect(0)
        .json();
    assert_eq!(
        dry,
        json!({"dry_run": true, "matching": 1, "redriven": 0, "out_of_order": 0})
    );
    assert_eq!(place.status()["dead"], 1);
    let redriven = place
        .run(&["dead", "redrive", "--topic", "orders", "--json"], "")
        .expect(0)
        .json();
    assert_eq!(
        redriven,
        json!({"dry_run": false, "matching": 1, "redriven": 1, "out_of_order": 0})
    );
    place
        .run(&["relay", "--to", &place.to_file(), "--until-empty"], "")
        .expect(0);
    let ids: Vec<_> = place
        .published()
        .iter()
        .map(|line| line["id"].clone())
        .collect();
    assert_eq!(ids, ["bad", "m-0", "m-1"]);
}

#[test]
fn case_7_a_redrive_after_skip_warns_about_the_order() {
    let (place, _) = with_dead_letter("skip", 1);
    place.sql("update outbox_dead set headers = null");
    let ran = place.run(&["dead", "redrive", "--all"], "").expect(0);
    assert!(ran.stdout.contains("redriven 1 dead letter"), "{ran:?}");
    assert!(
        ran.stdout.contains("later messages of their key"),
        "{ran:?}"
    );
    let again = place.run(&["dead", "redrive", "--all"], "").expect(0);
    assert!(
        again.stdout.contains("redriven 0 dead letters"),
        "{again:?}"
    );
}

#[test]
fn a_dead_letter_that_is_not_there_ends_with_8() {
    let place = Place::migrated();
    place.run(&["dead", "show", "nobody"], "").expect(8).says(&[
        "no dead letter",
        "nobody",
        "dead list",
    ]);
    place
        .run(&["dead", "show", "--position", "7"], "")
        .expect(8)
        .says(&["no dead letter at position 7"]);
    place.run(&["dead", "show"], "").expect(2);
    place
        .run(&["dead", "show", "nobody", "--position", "7"], "")
        .expect(2);
    let list = place.run(&["dead", "list"], "").expect(0).stdout;
    assert_eq!(list, "no dead letters\n");
}
