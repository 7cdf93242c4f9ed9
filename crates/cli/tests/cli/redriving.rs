//! Dead letters of real brokers, back to their sources from a shell: what is counted, what stays, and what a failure leaves.

use outbox_test_servers::{RabbitMq, Redis};
use serde_json::{Value, json};

use crate::{
    brokers::{declare, in_list, in_queue, unique},
    program::Place,
};

/// A dead letter as BabelQueue's packages write it.
fn letter(number: u32, source: &str) -> String {
    let body = json!({
        "job": "urn:babel:orders:created",
        "trace_id": "t",
        "data": {"n": number},
        "meta": {"id": format!("m-{number}"), "queue": "elsewhere", "lang": "python", "schema_version": 1, "created_at": 1},
        "attempts": 3,
        "dead_letter": {"reason": "failed", "original_queue": source},
    });
    body.to_string()
}

/// Brings these payloads to a queue.
fn put(place: &Place, url: &str, queue: &str, payloads: &[String]) {
    let line = |payload: &String| json!({"topic": queue, "key": "k", "payload_text": payload});
    let lines: Vec<String> = payloads.iter().map(|it| line(it).to_string()).collect();
    place.run(&["save"], &lines.join("\n")).expect(0);
    place
        .run(&["relay", "--to", url, "--until-empty"], "")
        .expect(0);
}

fn numbers(payloads: &[String]) -> Vec<u64> {
    let number = |payload: &String| -> Value { serde_json::from_str(payload).unwrap() };
    let numbers = payloads
        .iter()
        .map(|payload| number(payload)["data"]["n"].as_u64());
    numbers.flatten().collect()
}

#[test]
fn a_dry_run_says_what_would_go_and_a_redrive_moves_that_and_no_more() {
    let (server, place) = (Redis::shared().unwrap(), Place::migrated());
    let (source, dead) = (unique("orders"), unique("dead"));
    let letters = [
        letter(1, &source),
        "not json".to_owned(),
        letter(2, &source),
        letter(3, &source),
    ];
    put(&place, server.url(), &dead, &letters);
    let redrive = |more: &[&str]| {
        let mut args = vec![
            "redrive",
            "--from",
            server.url(),
            "--queue",
            &dead,
            "--json",
        ];
        args.extend(more);
        place.run(&args, "").expect(0).json()
    };
    let shown = redrive(&["--dry-run"]);
    assert_eq!(
        (&shown["redriven"], &shown["left"]),
        (&json!(3), &json!(1)),
        "{shown}"
    );
    assert_eq!(shown["to"], json!({ (&*source): 3 }));
    assert_eq!(in_list(server.url(), &dead), letters);

    let shown = redrive(&["--id", "m-2", "--bypass"]);
    assert_eq!(
        (&shown["redriven"], &shown["left"]),
        (&json!(1), &json!(3)),
        "{shown}"
    );
    let framed: Value = serde_json::from_str(&in_list(server.url(), &source)[0]).unwrap();
    assert_eq!(framed["headers"], json!({"bq-replay-bypass": "1"}));

    let shown = redrive(&["--max", "1", "--to-topic", &format!("{source}.sandbox")]);
    assert_eq!(shown["redriven"], 1, "{shown}");
    let shown = redrive(&[]);
    assert_eq!(
        shown["left_because"],
        json!({"it is no envelope": 1}),
        "{shown}"
    );
    let sandbox = in_list(server.url(), &format!("{source}.sandbox"));
    assert_eq!(numbers(&sandbox), [1]);
    let whole = &in_list(server.url(), &source)[1];
    assert!(
        whole.ends_with(r#""attempts":0}"#) || !whole.contains("dead_letter"),
        "{whole}"
    );
    assert_eq!(numbers(std::slice::from_ref(whole)), [3]);
    assert_eq!(in_list(server.url(), &dead), ["not json"]);
}

#[test]
fn no_dead_letter_returns_to_the_queue_it_is_read_from() {
    let (server, place) = (Redis::shared().unwrap(), Place::migrated());
    let (source, dead) = (unique("orders"), unique("dead"));
    put(&place, server.url(), &dead, &[letter(1, &source)]);
    let redrive = |url: &str, queue: &str, more: &[&str], code: i32| {
        let mut args = vec!["redrive", "--from", url, "--queue", queue, "--json"];
        args.extend(more);
        place.run(&args, "").expect(code)
    };
    for more in [
        &["--to-topic", &*dead][..],
        &["--to-topic", &*dead, "--dry-run"],
    ] {
        let shown = redrive(server.url(), &dead, more, 0).json();
        assert_eq!(
            (&shown["redriven"], &shown["left"]),
            (&json!(0), &json!(1)),
            "{shown}"
        );
        let why = "it would return to the queue that it is in; say another topic";
        assert_eq!(shown["left_because"], json!({ why: 1 }), "{shown}");
    }
    // A URL that names one list for all topics reads nothing: it would be that of what lives.
    let sign = if server.url().contains('?') { '&' } else { '?' };
    let url = format!("{}{sign}queue={dead}", server.url());
    redrive(&url, &source, &[], 6).says(&["queue={topic}"]);
    assert_eq!(in_list(server.url(), &dead), [letter(1, &source)]);
}

#[test]
fn a_source_that_is_missing_stops_it_and_nothing_is_lost() {
    let (server, place) = (RabbitMq::shared().unwrap(), Place::migrated());
    let (there, missing, dead) = (unique("there"), unique("missing"), unique("dead"));
    declare(server.url(), &there);
    declare(server.url(), &dead);
    let letters = [letter(1, &there), letter(2, &missing), letter(3, &there)];
    put(&place, server.url(), &dead, &letters);
    let args = ["redrive", "--from", server.url(), "--queue", &dead];
    let ran = place.run(&args, "").expect(6);
    ran.says(&[
        &missing,
        "does not exist",
        "stays where it is",
        "1 dead letter of",
    ]);
    declare(server.url(), &missing);
    let ran = place.run(&args, "").expect(0);
    assert!(ran.stdout.contains("2 dead letters of"), "{ran:?}");
    assert_eq!(numbers(&in_queue(server.url(), &there)), [1, 3]);
    assert_eq!(numbers(&in_queue(server.url(), &missing)), [2]);
    assert!(in_queue(server.url(), &dead).is_empty());
}

#[test]
fn what_cannot_be_read_or_marked_is_refused_before_anything_is_done() {
    let place = Place::new();
    for (url, more, said) in [
        (
            "kafka://h",
            None,
            "no dead letter can be taken out of a topic",
        ),
        ("stdout:", None, "this destination cannot be read"),
        (
            "redis://h?layout=laravel",
            Some("--bypass"),
            "--bypass needs a header",
        ),
    ] {
        let mut args = vec!["redrive", "--from", url, "--queue", "orders.dlq"];
        args.extend(more);
        place.run(&args, "").expect(2).says(&[said]);
    }
    let args = [
        "redrive",
        "--from",
        "redis://127.0.0.1:1",
        "--queue",
        "orders.dlq",
    ];
    place.run(&args, "").expect(6).says(&["nothing listens at"]);
}
