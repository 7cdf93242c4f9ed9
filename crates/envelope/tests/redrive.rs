//! The way from a dead-letter queue back to the source. The vectors were generated as those of `reference.rs`.

use std::collections::BTreeMap;

use outbox_envelope::{DeadLetter, DeadLetterReason, DecodeError, Envelope, redrive};
use proptest::prelude::*;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    name: String,
    dlq: String,
    bodies: Vec<String>,
    options: Options,
    redriven: usize,
    skipped: usize,
    items: Vec<Item>,
    queues_after: Queues,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    to_queue: Option<String>,
    #[serde(default)]
    dry_run: bool,
    #[serde(default)]
    bypass: bool,
    max: Option<usize>,
}

#[derive(Deserialize, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
struct Item {
    message_id: String,
    trace_id: String,
    urn: String,
    reason: String,
    from_queue: String,
    to: String,
    redriven: bool,
    bypassed: bool,
}

/// The bodies and headers of each queue.
type Queues = BTreeMap<String, Vec<(String, BTreeMap<String, String>)>>;

/// A redrive as an operator's tool does it, with the decisions of this crate: what is done with each letter, and what then
/// stands in which queue.
fn run(run: &Run) -> (Vec<Item>, Queues) {
    let mut items = Vec::new();
    let mut queues = Queues::new();
    let selects = run.name != "select-none";
    for (place, body) in run.bodies.iter().enumerate() {
        let mut put = |queue: &str, body: String, headers: BTreeMap<_, _>| {
            queues
                .entry(queue.to_owned())
                .or_default()
                .push((body, headers));
        };
        if run.options.max.is_some_and(|max| place >= max) {
            put(&run.dlq, body.clone(), BTreeMap::new());
            continue;
        }
        let mut item = Item {
            message_id: String::new(),
            trace_id: String::new(),
            urn: String::new(),
            reason: String::new(),
            from_queue: run.dlq.clone(),
            to: String::new(),
            redriven: false,
            bypassed: false,
        };
        if let Ok(letter) = redrive(body.as_bytes()) {
            let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
            item.message_id = text(letter.id.as_deref());
            item.trace_id = text(letter.trace.as_deref());
            item.urn = text(letter.urn.as_deref());
            item.reason = text(letter.reason.as_deref());
            if selects {
                let said = letter.original_queue.as_deref().or(letter.queue.as_deref());
                item.to = text(run.options.to_queue.as_deref().or(said));
                item.redriven = !run.options.dry_run;
                item.bypassed = item.redriven && run.options.bypass;
            }
            if item.redriven {
                let bypass = item
                    .bypassed
                    .then(|| ("bq-replay-bypass".to_owned(), "1".to_owned()));
                let payload = String::from_utf8(letter.payload).expect("it is an envelope");
                put(&item.to, payload, bypass.into_iter().collect());
            }
        }
        if !item.redriven {
            put(&run.dlq, body.clone(), BTreeMap::new());
        }
        items.push(item);
    }
    (items, queues)
}

#[test]
fn every_redrive_of_the_reference_has_its_items_its_queues_and_its_bytes() {
    let runs: Vec<Run> = serde_json::from_str(include_str!("vectors/redrive.json"))
        .expect("the vectors have the shape of the struct");
    assert_eq!(runs.len(), 9, "no entry may get lost");
    for expected in &runs {
        let name = &expected.name;
        let (items, mut queues) = run(expected);
        let redriven = items.iter().filter(|item| item.redriven).count();
        assert_eq!(redriven, expected.redriven, "{name}");
        assert_eq!(items.len() - redriven, expected.skipped, "{name}");
        assert_eq!(items, expected.items, "{name}");
        if name == "urn-alias-body" {
            // The reference encodes anew, which moves the alias; here every byte stays, and the value is the same.
            let (body, _) = &mut queues.get_mut("oq").unwrap()[0];
            assert_eq!(
                body,
                r#"{"urn":"urn:x","data":{},"attempts":0,"meta":{"queue":"q"}}"#
            );
            *body = Envelope::decode(&*body).unwrap().encode().unwrap();
        }
        assert_eq!(queues, expected.queues_after, "{name}");
    }
}

fn dead_letter() -> DeadLetter<'static> {
    DeadLetter::new(DeadLetterReason::Failed, "orders", 3, 1_749_132_730_000)
}

const BLOCK: &str = r#"{"reason":"failed","error":null,"exception":null,"failed_at":1749132730000,"original_queue":"orders","attempts":3,"lang":"rust"}"#;

#[test]
fn an_annotated_envelope_keeps_its_bytes_and_has_one_block() {
    for (raw, expected) in [
        (
            " {\"job\": \"urn:x\", \"n\": 1e400}\n",
            format!(" {{\"job\": \"urn:x\", \"n\": 1e400,\"dead_letter\":{BLOCK}}}\n"),
        ),
        (
            r#"{"dead_letter":{"a":[1]},"urn":"urn:x","dead_letter":7,"z":"\u0041"}"#,
            format!(r#"{{"dead_letter":{BLOCK},"urn":"urn:x","z":"\u0041"}}"#),
        ),
        (
            r#"{"job":5,"urn":"urn:x","attempts":"many"}"#,
            format!(r#"{{"job":5,"urn":"urn:x","attempts":"many","dead_letter":{BLOCK}}}"#),
        ),
    ] {
        assert_eq!(dead_letter().annotate(raw), expected, "{raw}");
    }
}

#[test]
fn whatever_is_no_envelope_is_wrapped_and_comes_back_byte_for_byte() {
    let deep = "[".repeat(100_000);
    for raw in [
        &b""[..],
        b"7,acme\r\n",
        b"\xff\x00\xfe",
        b" {\"raw\":\"x\"} ",
        br#"{"order":1,"dead_letter":{"reason":"failed"}}"#,
        br#"{"job":" "}"#,
        b"{\"job\":\"urn:x\",\"data\":NaN}",
        deep.as_bytes(),
    ] {
        let shown = String::from_utf8_lossy(&raw[..raw.len().min(60)]);
        let dead = dead_letter().annotate(raw);
        let again = redrive(dead.as_bytes()).unwrap();
        assert!(again.payload == raw, "{shown}");
        assert_eq!(again.original_queue.as_deref(), Some("orders"), "{shown}");
        assert_eq!(again.queue, None, "{shown}");
        assert_eq!(again.urn, None, "{shown}");
    }
}

#[test]
fn the_record_of_what_is_poison_stays_where_it_is() {
    let poison = DeadLetter::new(DeadLetterReason::Poison, "orders", 0, 7);
    for raw in [&b"not json"[..], b"{\"data\":{}}", b"\xff"] {
        let record = poison.record(raw);
        assert_eq!(
            redrive(record.as_bytes()),
            Err(DecodeError::NoIdentity),
            "{record}"
        );
    }
    for raw in [
        r#"{"raw":"AA==","raw_encoding":"rot13","dead_letter":{"reason":"failed"}}"#,
        r#"{"raw":"A","raw_encoding":"base64","dead_letter":{"reason":"failed"}}"#,
        r#"{"raw":"A","dead_letter":{}}"#,
        r#"{"raw":"A"}"#,
    ] {
        assert_eq!(
            redrive(raw.as_bytes()),
            Err(DecodeError::NoIdentity),
            "{raw}"
        );
    }
    assert!(matches!(
        redrive(b"not json"),
        Err(DecodeError::Malformed(_))
    ));
    assert!(matches!(
        redrive(b"{\"job\":\"\xff\"}"),
        Err(DecodeError::Malformed(_))
    ));
}

#[test]
fn attempts_begin_anew_wherever_they_stand() {
    for (raw, expected) in [
        (r#"{"job":"u"}"#, r#"{"job":"u","attempts":0}"#),
        (
            r#"{"attempts":null,"job":"u"}"#,
            r#"{"attempts":0,"job":"u"}"#,
        ),
        (
            r#"{"dead_letter":{},"job":"u" }"#,
            r#"{"job":"u" ,"attempts":0}"#,
        ),
        (
            r#"{"attempts":"x","job":"u","attempts":[7]}"#,
            r#"{"attempts":0,"job":"u","attempts":0}"#,
        ),
    ] {
        let again = redrive(raw.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(again.payload).unwrap(), expected);
        assert_eq!((again.original_queue, again.queue), (None, None));
    }
}

#[test]
fn where_it_died_and_where_it_was_published_to_are_told_apart() {
    let raw = r#"{"job":"u","meta":{"queue":"orders"},"dead_letter":{"original_queue":"billing"}}"#;
    let again = redrive(raw.as_bytes()).unwrap();
    assert_eq!(again.original_queue.as_deref(), Some("billing"));
    assert_eq!(again.queue.as_deref(), Some("orders"));
}

fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("1e400".to_owned()),
        any::<i64>().prop_map(|integer| integer.to_string()),
        r#""[a-z"]{0,3}\\\\n""#.prop_map(|text| text.replace("\"\"", "\"")),
    ];
    let leaf = leaf.prop_filter("a string must end where it ends", |text| {
        serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok()
    });
    let name = prop_oneof![
        Just("job"),
        Just("urn"),
        Just("attempts"),
        Just("meta"),
        Just("dead_letter"),
        Just("reason"),
        Just("original_queue"),
        Just("raw"),
        Just("x"),
    ];
    leaf.prop_recursive(3, 24, 5, move |inner| {
        let members = prop::collection::vec((name.clone(), inner, "[ \n]{0,2}"), 0..6);
        members.prop_map(|members| {
            let members = members.into_iter();
            let members =
                members.map(|(name, value, space)| format!("{space}\"{name}\":{value}{space}"));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        })
    })
}

proptest! {
    #[test]
    fn what_can_be_decoded_is_redriven_to_the_same_value_without_block_and_attempts(raw in json()) {
        match (redrive(raw.as_bytes()), Envelope::decode(&raw)) {
            (Ok(again), Ok(envelope)) => {
                let payload = Envelope::decode(&again.payload).unwrap();
                prop_assert_eq!(payload.attempts(), 0);
                prop_assert_eq!(payload.urn(), envelope.urn());
                prop_assert_eq!(payload.data(), envelope.data());
                prop_assert_eq!(redrive(&again.payload).unwrap().payload, again.payload.clone());
                // Dead once more, and back once more.
                let dead = dead_letter().annotate(&again.payload);
                prop_assert_eq!(redrive(dead.as_bytes()).unwrap().payload, again.payload);
            }
            (Ok(again), Err(_)) => prop_assert_eq!(again.urn, None),
            (Err(error), Err(other)) => prop_assert_eq!(error, other),
            (Err(error), Ok(_)) => prop_assert!(false, "{}", error),
        }
    }

    #[test]
    fn any_bytes_have_an_annotation_that_is_json(raw in prop::collection::vec(any::<u8>(), 0..40)) {
        let dead = dead_letter().annotate(&raw);
        prop_assert!(serde_json::from_str::<BTreeMap<String, &serde_json::value::RawValue>>(&dead).is_ok());
        prop_assert_eq!(redrive(dead.as_bytes()).unwrap().payload, raw);
    }
}
