//! What an application meets: making an envelope, reading its data, and the message that is saved.

use std::{collections::BTreeMap, error::Error};

use outbox_envelope::{DecodeError, Envelope, EnvelopeError, Warning};
use serde::{Deserialize, Serialize};
use serde_json::{json, value::RawValue};
use uuid::Uuid;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Order {
    id: u128,
    ratio: f32,
    note: Option<String>,
}

fn order() -> Order {
    Order {
        id: u128::MAX,
        ratio: 0.1,
        note: None,
    }
}

#[test]
fn made_now_it_has_fresh_ids_of_version_4_and_the_tag_rust() {
    let (a, b) = (
        Envelope::make("urn:x", &order()).unwrap(),
        Envelope::make("urn:x", &order()).unwrap(),
    );
    for id in [a.id(), a.trace()] {
        assert_eq!(Uuid::parse_str(id.unwrap()).unwrap().get_version_num(), 4);
    }
    assert_ne!(a.id(), b.id());
    assert_ne!(a.id(), a.trace());
    assert!(
        a.encode()
            .unwrap()
            .contains(r#""lang":"rust","schema_version":1,"created_at":1"#)
    );
    assert!(a.accepts());
}

#[test]
fn data_is_written_exactly_and_read_back_as_it_was() {
    let envelope = Envelope::make("urn:x", &order()).unwrap();
    let expected =
        r#""data":{"id":340282366920938463463374607431768211455,"ratio":0.1,"note":null}"#;
    assert!(envelope.encode().unwrap().contains(expected));
    assert_eq!(
        serde_json::from_str::<Order>(&envelope.data()).unwrap(),
        order()
    );
    assert_eq!(
        Envelope::decode(r#"{"job":"urn:x"}"#).unwrap().data(),
        "null"
    );
}

#[test]
fn data_that_is_no_object_is_refused() {
    for refused in [json!([]), json!(null), json!("x"), json!(1)] {
        assert!(
            matches!(
                Envelope::make("urn:x", &refused),
                Err(EnvelopeError::NotAnObject { part: "data" })
            ),
            "{refused}"
        );
    }
    assert!(Envelope::make("urn:x", &json!({})).is_ok());
    let keyed_by_list = BTreeMap::from([(vec![1], 1)]);
    let refused = Envelope::make("urn:x", &keyed_by_list).unwrap_err();
    assert_eq!(refused.to_string(), "data cannot be serialized");
    assert!(refused.source().is_some());
}

#[test]
fn a_float_that_json_cannot_write_is_refused_wherever_it_stands() {
    #[derive(Serialize)]
    enum Reading {
        One(f64),
        Two(f64, f32),
        Named { value: Option<f64> },
    }
    #[derive(Serialize)]
    struct Wrapped(f64);
    #[derive(Serialize)]
    struct Pair(u8, f64);
    for (double, fits) in [
        (1.5, true),
        (f64::NAN, false),
        (f64::INFINITY, false),
        (f64::NEG_INFINITY, false),
    ] {
        let made = [
            Envelope::make("urn:x", &BTreeMap::from([("a", double)])),
            Envelope::make("urn:x", &BTreeMap::from([("a", Some(double))])),
            Envelope::make("urn:x", &BTreeMap::from([("a", [1.0, double])])),
            Envelope::make("urn:x", &BTreeMap::from([("a", vec![(0, double)])])),
            Envelope::make("urn:x", &BTreeMap::from([("a", Wrapped(double))])),
            Envelope::make("urn:x", &BTreeMap::from([("a", Pair(1, double))])),
            Envelope::make("urn:x", &BTreeMap::from([("a", Reading::One(double))])),
            Envelope::make(
                "urn:x",
                &BTreeMap::from([("a", Reading::Two(0.0, if fits { 1.0 } else { f32::NAN }))]),
            ),
            Envelope::make(
                "urn:x",
                &Reading::Named {
                    value: Some(double),
                },
            ),
        ];
        for (place, made) in made.into_iter().enumerate() {
            assert_eq!(made.is_ok(), fits, "{double} in place {place}");
        }
    }
}

#[test]
fn an_integer_that_the_reference_cannot_read_is_refused() {
    let digits = RawValue::from_string(format!("{{\"a\":{}}}", "9".repeat(4301))).unwrap();
    assert!(matches!(
        Envelope::make("urn:x", &digits),
        Err(EnvelopeError::Serialize { part: "data", .. })
    ));
}

#[test]
fn a_given_trace_is_trimmed_and_a_blank_one_changes_nothing() {
    let envelope = Envelope::make("urn:x", &order()).unwrap();
    assert_eq!(
        envelope.clone().trace_id(" \u{b}t\u{a0}\n").trace(),
        Some("t\u{a0}")
    );
    assert_eq!(envelope.clone().trace_id(" \u{b}\n"), envelope);
}

#[test]
fn a_member_of_meta_is_set_once_and_a_forbidden_one_is_refused() {
    let envelope = Envelope::make("urn:x", &order()).unwrap();
    let set = envelope.clone().meta("a", &1).unwrap().meta("b", &2.0);
    let set = set.unwrap();
    assert!(
        set.encode()
            .unwrap()
            .ends_with(r#","a":1,"b":2.0},"attempts":0}"#)
    );
    let error = set.meta("a", &1).unwrap_err();
    assert!(matches!(error, EnvelopeError::KeySet { .. }));
    assert_eq!(error.to_string(), "/meta/a is set already");
    for refused in ["id", "ts"] {
        let error = envelope.clone().meta(refused, &1).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("/meta/{refused} is reserved or forbidden in an envelope")
        );
    }
}

#[test]
fn the_message_has_the_encoded_bytes_and_the_id_and_queue_of_the_envelope() {
    let envelope = Envelope::make("urn:x", &order()).unwrap().queue("orders");
    let message = envelope.to_message().unwrap();
    assert_eq!(message.payload, envelope.encode().unwrap().as_bytes());
    assert_eq!(Some(message.id.as_str()), envelope.id());
    assert_eq!(message.topic.as_str(), "orders");
    assert_eq!(message.content_type.unwrap().as_str(), "application/json");
    assert_eq!((message.key, message.headers.is_empty()), (None, true));
}

#[test]
fn without_a_usable_queue_or_id_the_message_has_the_default_topic_and_a_fresh_id() {
    for meta in [
        json!({}),
        json!(null),
        json!({"id": "", "queue": ""}),
        json!({"id": 5, "queue": 5}),
        json!({"id": "a\0"}),
    ] {
        let envelope = Envelope::from_frame(&json!({"job": "urn:x", "meta": meta})).unwrap();
        let message = envelope.to_message().unwrap();
        assert_eq!(message.topic.as_str(), "default");
        assert_eq!(
            Uuid::parse_str(message.id.as_str())
                .unwrap()
                .get_version_num(),
            7
        );
    }
    let long =
        Envelope::from_frame(&json!({"job": "urn:x", "meta": {"id": "i".repeat(256)}})).unwrap();
    assert_eq!(long.to_message().unwrap().id.as_str().len(), 36);
}

#[test]
fn a_queue_that_is_no_topic_is_an_error() {
    let envelope = Envelope::make("urn:x", &order()).unwrap().queue("a\nb");
    let error = envelope.to_message().unwrap_err();
    assert_eq!(
        error.source().unwrap().to_string(),
        "topic contains a control character (U+000A)"
    );
    assert!(Envelope::message_from_raw(envelope.encode().unwrap().as_bytes()).is_err());
}

#[test]
fn raw_bytes_that_accept_are_kept_byte_for_byte() {
    let raw = br#" {"urn":"urn:x", "timestamp":1, "trace_id":"t", "data":{"a":1e2,"a":1e400},
        "meta":{"schema_version":1,"queue":"q","id":"i"}, "attempts":-0} "#;
    let message = Envelope::message_from_raw(raw).unwrap().unwrap();
    assert_eq!(message.payload, raw.as_slice());
    assert_eq!((message.id.as_str(), message.topic.as_str()), ("i", "q"));
    for refused in [
        r#"{"topic":"t","payload":{}}"#,
        r#"{"job":"urn:x"}"#,
        "not json",
        "",
    ] {
        assert_eq!(
            Envelope::message_from_raw(refused.as_bytes()),
            Ok(None),
            "{refused}"
        );
    }
}

#[test]
fn an_escape_is_four_hex_digits_and_a_surrogate_one_is_paired() {
    let decode = |text| Envelope::decode(format!("{{\"job\":\"urn:x\",\"data\":\"{text}\"}}"));
    for refused in [
        r"\u+041",
        r"\u004",
        r"\u004g",
        r"\u00é",
        r"\U0041",
        r"\ud800\u0041",
        r"\ud83d",
        r"\ude00\ud83d",
        r"\ud83dA",
    ] {
        assert!(
            matches!(decode(refused), Err(DecodeError::Malformed(_))),
            "{refused}"
        );
    }
    assert_eq!(
        decode(r"\u0041\uD83D\ude00\u00E9").unwrap().data(),
        "\"A😀é\""
    );
}

#[test]
fn decoding_says_where_it_stopped_and_what_it_dropped() {
    let error = Envelope::decode(r#"{"job":"urn:x","data":{"secret":01}}"#).unwrap_err();
    assert!(matches!(error, DecodeError::Malformed(_)));
    assert_eq!(
        error.source().unwrap().to_string(),
        "expected a comma or the end of the object at byte 33"
    );
    assert_eq!(Envelope::decode("{}"), Err(DecodeError::NoIdentity));

    let decoded =
        Envelope::decode_lenient(r#"{"job":5,"urn":"urn:x","timestamp":1,"meta":{"ts":1}}"#)
            .unwrap();
    let dropped = |pointer| Warning::Dropped { pointer };
    assert_eq!(
        decoded.warnings,
        [
            dropped("/timestamp"),
            dropped("/meta/ts"),
            Warning::JobIgnored
        ]
    );
    assert_eq!(
        decoded.envelope.encode().unwrap(),
        r#"{"job":"urn:x","meta":{}}"#
    );
}
