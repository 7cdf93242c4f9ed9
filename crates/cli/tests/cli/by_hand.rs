//! Dead letters on the wire, `outbox replay`, and the audit of what was done by hand.

use std::{
    io::{Read, Write},
    net::TcpListener,
    thread,
};

use serde_json::{Value, json};

use crate::program::{Place, lines};

/// An endpoint that takes no message: none that it gets can ever be delivered.
fn endpoint_that_refuses() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let _ = connection.read(&mut [0; 8 * 1024]);
            let _ = connection.write_all(
                b"HTTP/1.1 413 Payload Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            );
        }
    });
    port
}

#[test]
fn s16_a_death_is_published_as_a_dead_letter_to_its_own_topic() {
    let place = Place::migrated();
    let saved = r#"{"topic":"orders","id":"m-1","key":"k","payload_text":"no envelope"}"#;
    place.run(&["save"], saved).expect(0);
    let refusing = format!(
        "orders=http://127.0.0.1:{}/#allow_private=true",
        endpoint_that_refuses()
    );
    let letters = format!("*={}", place.to_file());
    let relay = [
        "relay",
        "--until-empty",
        "--route",
        &refusing,
        "--route",
        &letters,
        "--dead-letter-topic",
        "{topic}.dlq",
        "--max-attempts",
        "1",
        "--json",
    ];
    let report = place.run(&relay, "").expect(0).json();
    assert_eq!(
        (&report["dead"], &report["published"]),
        (&json!(1), &json!(1))
    );
    let published = place.published();
    let letter = &published[0];
    assert_eq!(
        (&letter["topic"], &letter["key"]),
        (&json!("orders.dlq"), &json!("k"))
    );
    assert_eq!(letter["headers"], json!([["outbox-dead-letter-of", "m-1"]]));
    let payload: Value = serde_json::from_str(letter["payload_text"].as_str().unwrap()).unwrap();
    assert_eq!(payload["raw"], "no envelope");
    assert_eq!(payload["dead_letter"]["original_queue"], "orders");
    assert_eq!(payload["dead_letter"]["attempts"], 1);
    let reason = place.run(&["dead", "list", "--json"], "").expect(0).json();
    assert_eq!(
        payload["dead_letter"]["exception"],
        reason["dead"][0]["reason"]
    );
    let refused = place.run(
        &["relay", "--to", "stdout:", "--dead-letter-topic", "{topic}"],
        "",
    );
    refused
        .expect(2)
        .says(&["--dead-letter-topic", "{topic}.dlq"]);
}

#[test]
fn a7_what_was_kept_is_replayed_once_and_marked() {
    let place = Place::migrated();
    place.run(&["save"], &lines(3, 1)).expect(0);
    let to = place.to_file();
    let publish = ["relay", "--until-empty", "--retain", "1h", "--to", &to];
    place.run(&publish, "").expect(0);
    let none = place.run(&["replay"], "").expect(2);
    none.says(&["--all"]);
    let replay = |more: &[&str]| {
        let args = [&["replay", "--json"], more].concat();
        place.run(&args, "").expect(0).json()
    };
    let counted = replay(&["--all", "--dry-run"]);
    assert_eq!(
        (&counted["replayed"], &counted["dry_run"]),
        (&json!(3), &json!(true))
    );
    assert_eq!(replay(&["--topic", "bills"])["replayed"], 0);
    assert_eq!(replay(&["--id", "m-1", "--since", "1h"])["replayed"], 1);
    assert_eq!(replay(&["--before", "1h"])["replayed"], 0);
    place.run(&publish, "").expect(0);
    let published = place.published();
    assert_eq!(published.len(), 4);
    assert_eq!(published[3]["id"], "m-1");
    assert_eq!(published[3]["payload_text"], published[1]["payload_text"]);
    assert_eq!(published[3]["headers"], json!([["bq-replay-bypass", "1"]]));
}

#[test]
fn a8_what_is_done_by_hand_leaves_a_line_that_says_who() {
    let place = Place::migrated();
    let text = place.run(&["audit"], "").expect(0).stdout;
    assert!(text.contains("nothing was done by hand"), "{text}");
    place.run(&["pause", "mail", "--as", "ann"], "").expect(0);
    place.run(&["resume", "mail", "--as", "ben"], "").expect(0);
    place.run(&["purge", "--dry-run"], "").expect(0);
    place
        .run(&["dead", "redrive", "--topic", "orders", "--dry-run"], "")
        .expect(0);
    place.run(&["purge"], "").expect(0);
    let audit = place.run(&["audit", "--json"], "").expect(0).json();
    let lines = audit["audit"].as_array().unwrap();
    let told: Vec<_> = lines
        .iter()
        .map(|line| {
            (
                line["action"].as_str().unwrap(),
                line["count"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(told, [("purge", 0), ("resume", 1), ("pause", 1)]);
    assert_eq!(
        (&lines[1]["who"], &lines[2]["who"]),
        (&json!("ben"), &json!("ann"))
    );
    assert!(lines[0]["who"].as_str().unwrap().contains('@'));
    assert_eq!(lines[2]["filter"], r#"{"topics":"mail"}"#);
    let before = lines[1]["number"].to_string();
    let text = place.run(&["audit", "--before", &before, "--limit", "1"], "");
    let text = text.expect(0).stdout;
    assert!(text.contains("ann") && !text.contains("ben"), "{text}");
}
