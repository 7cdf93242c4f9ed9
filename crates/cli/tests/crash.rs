//! The real program, killed again and again while it publishes: nothing is lost, first deliveries keep their order (O11),
//! and every byte is as it was. The long form runs with `OUTBOX_SOAK=1`; a run is repeated by its `OUTBOX_SEED`.

#![expect(
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong, and says with which seed"
)]

#[path = "support/program.rs"]
#[expect(dead_code, reason = "the other tests use more of it")]
mod program;
#[path = "support/schema.rs"]
#[expect(dead_code, reason = "the other tests use more of it")]
mod schema;

use std::{
    collections::HashMap,
    env, fs,
    process::{Child, Stdio},
    thread,
    time::Duration,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use program::{Place, Ran};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde_json::Value;

/// A message as it was saved: by its id, in the order of saving.
struct Saved {
    id: String,
    key: Option<String>,
    payload: Vec<u8>,
}

struct Size {
    messages: usize,
    keys: usize,
    /// A relay is killed at the latest after so many more lines.
    most_lines: usize,
    /// A run with fewer kills has shown nothing.
    least_kills: usize,
}

fn size() -> Size {
    if env::var_os("OUTBOX_SOAK").is_some() {
        Size {
            messages: 10_000,
            keys: 200,
            most_lines: 400,
            least_kills: 20,
        }
    } else {
        Size {
            messages: 400,
            keys: 20,
            most_lines: 60,
            least_kills: 3,
        }
    }
}

fn random() -> StdRng {
    let seed = match env::var("OUTBOX_SEED") {
        Ok(seed) => seed.parse().unwrap(),
        Err(_) => rand::random(),
    };
    eprintln!("OUTBOX_SEED={seed}");
    StdRng::seed_from_u64(seed)
}

#[test]
fn d1_o11_one_relay_killed_again_and_again_loses_nothing_and_keeps_the_order() {
    survives(1);
}

#[test]
fn d1_o3_o11_two_relays_on_one_file_killed_again_and_again_lose_nothing_and_keep_the_order() {
    survives(2);
}

fn survives(relays: usize) {
    let (size, mut random) = (size(), random());
    let place = Place::migrated();
    let saved = save(&place, &size, &mut random);

    let mut running: Vec<Child> = (0..relays).map(|_| relay(&place)).collect();
    let mut kills = 0;
    // Each relay ends by itself when nothing is pending.
    while let Some(victim) = pick(&mut running, &mut random) {
        let until = line_count(&place) + random.random_range(0..=size.most_lines);
        if reached(&place, until, &mut running[victim]) {
            running[victim].kill().unwrap();
            Ran::of(std::mem::replace(&mut running[victim], relay(&place)));
            kills += 1;
        }
    }
    eprintln!("{kills} relays were killed");
    assert!(kills >= size.least_kills, "only {kills} relays were killed");

    check(&place, &saved);
    let status = place.wait_for(|status| {
        let lanes = status["lanes"].as_array().unwrap();
        lanes.iter().all(|lane| lane["lease_ms"] == 0)
    });
    assert_eq!(status["pending"]["total"], 0, "{status}");
    assert_eq!(status["dead"], 0, "{status}");
}

/// Saves messages of every kind with the program: JSON, text, bytes; keyed and not.
fn save(place: &Place, size: &Size, random: &mut StdRng) -> Vec<Saved> {
    let mut saved = Vec::new();
    let mut input = String::new();
    for n in 0..size.messages {
        let key = (n % 10 != 9).then(|| format!("k-{}", random.random_range(0..size.keys)));
        let payload: Vec<u8> = (0..random.random_range(0..200))
            .map(|_| random.random())
            .collect();
        let message = Saved {
            id: format!("m-{n}"),
            key,
            payload,
        };
        let key = message
            .key
            .as_ref()
            .map_or("null".to_owned(), |key| format!("\"{key}\""));
        let base64 = BASE64_STANDARD.encode(&message.payload);
        input += r#"{"topic":"orders","id":""#;
        input += &message.id;
        input += r#"","key":"#;
        input += &key;
        input += r#","payload_base64":""#;
        input += &base64;
        input += "\"}\n";
        saved.push(message);
    }
    let ran = place.run(&["save", "--json"], &input).expect(0);
    assert_eq!(ran.json()["stored"], size.messages);
    saved
}

/// A relay that ends when nothing is pending. Its lease is short, so that whoever comes after a death waits little; kills come
/// so close together that the usual limit of deaths would blame a message for them.
fn relay(place: &Place) -> Child {
    place
        .program(&["relay", "--to", &place.to_file(), "--until-empty"])
        .args([
            "--lease",
            "400ms",
            "--batch",
            "40",
            "--careful-limit",
            "1000000",
        ])
        .env("RUST_LOG", "error")
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// A relay that is still at work; none when all have ended by themselves, which is only right with code 0.
fn pick(running: &mut Vec<Child>, random: &mut StdRng) -> Option<usize> {
    running.retain_mut(|relay| match relay.try_wait().unwrap() {
        Some(ended) => {
            assert!(ended.success(), "a relay ended with {ended}");
            false
        }
        None => true,
    });
    (!running.is_empty()).then(|| random.random_range(0..running.len()))
}

/// Waits until so many lines are out. `false` if the relay ended before.
fn reached(place: &Place, lines: usize, relay: &mut Child) -> bool {
    loop {
        if relay.try_wait().unwrap().is_some() {
            return false;
        }
        if line_count(place) >= lines {
            return true;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn line_count(place: &Place) -> usize {
    let bytes = fs::read(place.path("published.ndjson")).unwrap_or_default();
    bytes.split(|byte| *byte == b'\n').count() - 1
}

/// Every message is there as it was saved, and the first deliveries of each key are in the order of saving.
fn check(place: &Place, saved: &[Saved]) {
    let by_id: HashMap<&str, usize> = saved
        .iter()
        .enumerate()
        .map(|(index, message)| (message.id.as_str(), index))
        .collect();
    let mut first_deliveries = vec![false; saved.len()];
    let mut last_of_key: HashMap<&str, usize> = HashMap::new();
    let lines = place.published();
    for line in &lines {
        let index = by_id[line["id"].as_str().unwrap()];
        let message = &saved[index];
        assert_eq!(payload(line), message.payload, "{line}");
        assert_eq!(line["key"].as_str(), message.key.as_deref(), "{line}");
        if std::mem::replace(&mut first_deliveries[index], true) {
            continue;
        }
        if let Some(key) = &message.key
            && let Some(before) = last_of_key.insert(key, index)
        {
            assert!(
                before < index,
                "O11: {} came before {}",
                saved[before].id,
                message.id
            );
        }
    }
    let lost: Vec<&str> = saved
        .iter()
        .zip(&first_deliveries)
        .filter(|(_, came)| !**came)
        .map(|(message, _)| message.id.as_str())
        .collect();
    assert!(lost.is_empty(), "lost: {lost:?}");
    eprintln!("{} duplicates", lines.len() - saved.len());
}

fn payload(line: &Value) -> Vec<u8> {
    match (&line["payload_text"], &line["payload_base64"]) {
        (Value::String(text), Value::Null) => text.clone().into_bytes(),
        (Value::Null, Value::String(base64)) => BASE64_STANDARD.decode(base64).unwrap(),
        _ => panic!("not exactly one payload: {line}"),
    }
}
