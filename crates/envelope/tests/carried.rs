//! What a message carries on each broker where the reference says nothing: which messages are envelopes, headers of their
//! own beside the contract's, values that a broker cannot take, and messages that are no envelopes.

use outbox_envelope::{
    Envelope,
    projection::{
        self, Value, View, artemis, azure_service_bus, kafka, nats, pulsar, rabbitmq, redis, sqs,
    },
};
use outbox_message::{Headers, Message};
use serde::Serialize;
use uuid::Uuid;

const ENVELOPE: &str = concat!(
    r#"{"job":"urn:x","trace_id":"t","data":{},"meta":{"id":"m","queue":"q","lang":"cobol","schema_version":1,"#,
    r#""created_at":5},"attempts":2}"#
);

fn message(payload: impl Into<Vec<u8>>) -> Message {
    let message = Message::new("q", payload.into()).expect("q is a topic");
    message.with_id("id").expect("id is an id")
}

fn with(message: Message, headers: &[(&str, &str)]) -> Message {
    let headers =
        Headers::from_pairs(headers.iter().copied()).expect("the headers keep their limits");
    Message { headers, ..message }
}

fn json(payload: &str) -> Message {
    let message = message(payload);
    message
        .with_content_type("application/json")
        .expect("it is a content type")
}

fn view(message: &Message) -> View<'_> {
    projection::of(message).expect("the message is an envelope")
}

fn pairs<'a, V: ToString>(headers: &[(&'a str, V)]) -> Vec<(&'a str, String)> {
    let pairs = headers.iter();
    pairs
        .map(|(name, value)| (*name, value.to_string()))
        .collect()
}

fn expected<'a>(headers: &[(&'a str, &str)]) -> Vec<(&'a str, String)> {
    pairs(headers)
}

#[test]
fn what_an_application_makes_of_an_envelope_is_one() {
    let envelope = Envelope::make_at(7, || Uuid::from_u128(1), "urn:x", &Empty {}, None).unwrap();
    let message = envelope.to_message().unwrap();
    let id = Uuid::from_u128(1).to_string();
    let view = view(&message);
    assert_eq!(
        (&*view.job, view.trace_id.as_deref()),
        ("urn:x", Some(&*id))
    );
    assert_eq!(
        (&*view.message_id, view.source_lang.as_deref()),
        (&*id, Some("rust"))
    );
    assert_eq!(
        (view.schema_version, view.attempts, view.created_at),
        (1, Some(0), Some(7))
    );
    let raw = Envelope::message_from_raw(ENVELOPE.as_bytes())
        .unwrap()
        .unwrap();
    assert!(projection::of(&raw).is_some());
}

#[derive(Serialize)]
struct Empty {}

#[test]
fn another_content_type_or_another_payload_makes_no_envelope() {
    let is_one = |content_type: Option<&str>, payload: &str| {
        let message = message(payload);
        let message = match content_type {
            Some(kind) => message.with_content_type(kind).unwrap(),
            None => message,
        };
        projection::of(&message).is_some()
    };
    for kind in ["application/json", "Application/JSON ; charset=utf-8"] {
        assert!(is_one(Some(kind), ENVELOPE), "{kind}");
    }
    assert!(is_one(None, ENVELOPE));
    for kind in [
        "text/plain",
        "application/cloudevents+json",
        "application/jsonl",
        ";",
    ] {
        assert!(!is_one(Some(kind), ENVELOPE), "{kind}");
    }
    for payload in [
        r#"{"job":"urn:x","meta":{"schema_version":2}}"#,
        r#" {"urn":"urn:x","job":7,"meta":{"schema_version":1},"attempts":"many"} "#,
        r#"{"meta":{"schema_version":1,"id":5},"job":"\u2003"}"#,
    ] {
        assert!(is_one(None, payload), "{payload}");
    }
    for payload in [
        "",
        "{}",
        "null",
        r#"{"job":"plumber","name":"Kim"}"#,
        r#"{"job":"urn:x","meta":{}}"#,
        r#"{"job":"urn:x","meta":[1]}"#,
        r#"{"job":"urn:x","meta":{"schema_version":"1"}}"#,
        r#"{"job":"urn:x","meta":{"schema_version":1.0}}"#,
        r#"{"job":" \t","urn":"","meta":{"schema_version":1}}"#,
        r#"{"JOB":"urn:x","meta":{"schema_version":1}}"#,
        r#"[{"job":"urn:x","meta":{"schema_version":1}}]"#,
        r#"{"job":"urn:x","meta":{"schema_version":1}} {}"#,
    ] {
        assert!(!is_one(Some("application/json"), payload), "{payload}");
    }
    let mut broken = ENVELOPE.as_bytes().to_vec();
    broken[8] = 0xff;
    assert!(projection::of(&message(broken)).is_none());
}

#[test]
fn a_member_that_is_missing_empty_or_of_another_type_has_no_property() {
    let bare = message(
        r#"{"job":"","urn":"urn:\u0078","trace_id":"","meta":{"schema_version":1,"lang":7}}"#,
    );
    let six = [
        ("bq-job", "urn:x"),
        ("bq-message-id", "id"),
        ("bq-schema-version", "1"),
        ("bq-attempts", "0"),
    ];
    assert_eq!(pairs(&kafka::record(&bare).headers), expected(&six));
    assert_eq!(kafka::record(&bare).timestamp, None);
    for (time, timestamp) in [("0", None), ("-1", Some(-1)), ("5.5", None)] {
        let payload = ENVELOPE.replace(r#""created_at":5"#, &format!(r#""created_at":{time}"#));
        assert_eq!(
            kafka::record(&message(payload)).timestamp,
            timestamp,
            "{time}"
        );
    }
    let properties = rabbitmq::properties(&bare);
    assert_eq!(properties.correlation_id, None);
    assert_eq!(
        properties.headers,
        [("x-schema-version", 1.into()), ("x-attempts", 0.into())]
    );
    for (attempts, shown) in [
        ("null", Some(0)),
        ("-1", Some(-1)),
        ("1.0", None),
        ("true", None),
    ] {
        let payload = ENVELOPE.replace(r#""attempts":2"#, &format!(r#""attempts":{attempts}"#));
        assert_eq!(view(&message(payload)).attempts, shown, "{attempts}");
    }
}

#[test]
fn the_id_is_that_of_the_message_if_the_envelope_has_none_that_can_be_one() {
    for id in [String::new(), "\\u0000".to_owned(), "i".repeat(256)] {
        let message = message(ENVELOPE.replace(r#""id":"m""#, &format!(r#""id":"{id}""#)));
        assert_eq!(view(&message).message_id, "id", "{id}");
        assert_eq!(rabbitmq::properties(&message).message_id, "id", "{id}");
    }
    assert_eq!(view(&message(ENVELOPE)).message_id, "m");
}

#[test]
fn headers_of_the_contract_win_and_others_keep_their_order() {
    let own = [
        ("b", "1"),
        ("bq-job", "forged"),
        ("x-attempts", "forged"),
        ("bq_app_id", "forged"),
        ("a", ""),
        ("b", "2"),
    ];
    let message = with(json(ENVELOPE), &own);
    let six = [
        ("bq-job", "urn:x"),
        ("bq-trace-id", "t"),
        ("bq-message-id", "m"),
        ("bq-schema-version", "1"),
        ("bq-source-lang", "cobol"),
        ("bq-attempts", "2"),
    ];
    let rest = [
        ("b", "1"),
        ("x-attempts", "forged"),
        ("bq_app_id", "forged"),
        ("a", ""),
    ];
    let once = expected(&[&six[..], &rest].concat());
    let repeated = expected(&[&six[..], &rest, &[("b", "2")]].concat());
    assert_eq!(pairs(&kafka::record(&message).headers), repeated);
    assert_eq!(pairs(&nats::headers(&message)), repeated);
    assert_eq!(pairs(&pulsar::properties(&message)), once);

    let headers = rabbitmq::properties(&message).headers;
    let expected: [(&str, Value<'_>); 7] = [
        ("x-schema-version", 1.into()),
        ("x-source-lang", "cobol".into()),
        ("x-attempts", 2.into()),
        ("b", "1".into()),
        ("bq-job", "forged".into()),
        ("bq_app_id", "forged".into()),
        ("a", "".into()),
    ];
    assert_eq!(headers, expected);
    let names = |headers: Vec<(&str, Value<'_>)>| {
        headers
            .iter()
            .map(|(name, _)| (*name).to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        names(azure_service_bus::properties(&message).application),
        [
            "bq-schema-version",
            "bq-source-lang",
            "bq-created-at",
            "b",
            "bq-job",
            "x-attempts",
            "bq_app_id",
            "a"
        ]
    );
    let application = artemis::properties(&message).application;
    let app_id: Vec<_> = application
        .iter()
        .filter(|(name, _)| *name == "bq_app_id")
        .collect();
    assert_eq!(app_id, [&("bq_app_id", "babelqueue".into())]);
}

#[test]
fn any_other_message_carries_its_headers_its_content_type_and_its_id() {
    let own = [("b", "1"), ("a", "é"), ("b", "2")];
    let message = with(message("1,2").with_content_type("text/csv").unwrap(), &own);
    let two = [("bq-message-id", "id"), ("content-type", "text/csv")];
    let repeated = expected(&[&two[..], &own].concat());
    let once = expected(&[&two[..], &own[..2]].concat());
    let record = kafka::record(&message);
    assert_eq!(
        (pairs(&record.headers), record.timestamp),
        (repeated.clone(), None)
    );
    assert_eq!(pairs(&nats::headers(&message)), repeated);
    assert_eq!(pairs(&pulsar::properties(&message)), once);
    let attributes = sqs::attributes(&message);
    assert!(
        attributes
            .iter()
            .all(|(_, attribute)| attribute.data_type == "String")
    );
    let attributes: Vec<_> = attributes
        .into_iter()
        .map(|(name, attribute)| (name, attribute.string_value))
        .collect();
    assert_eq!(pairs(&attributes), once);

    let typed: [(&str, Value<'_>); 2] = [("b", "1".into()), ("a", "é".into())];
    let properties = rabbitmq::properties(&message);
    assert_eq!(
        (properties.content_type, &*properties.message_id),
        (Some("text/csv"), "id")
    );
    assert_eq!(
        (
            properties.kind,
            properties.correlation_id,
            properties.app_id
        ),
        (None, None, None)
    );
    assert_eq!(
        (properties.content_encoding, properties.headers),
        (None, typed.to_vec())
    );
    let properties = azure_service_bus::properties(&message);
    assert_eq!(
        (properties.content_type, &*properties.message_id),
        (Some("text/csv"), "id")
    );
    assert_eq!(
        (properties.subject, properties.application),
        (None, typed.to_vec())
    );
    let properties = artemis::properties(&message);
    assert_eq!(
        (properties.content_type, &*properties.message_id),
        (Some("text/csv"), "id")
    );
    assert_eq!(
        (properties.jms_type, pairs(&properties.application)),
        (None, expected(&own[..2]))
    );
}

#[test]
fn what_a_broker_cannot_take_of_the_contract_is_left_to_the_payload() {
    let long = "u".repeat(256);
    let message = json(
        &ENVELOPE
            .replace("urn:x", &long)
            .replace("\"t\"", "\"a\\nb\""),
    );
    let properties = rabbitmq::properties(&message);
    assert_eq!(
        (properties.kind, properties.correlation_id.as_deref()),
        (None, Some("a\nb"))
    );
    assert_eq!(
        nats::headers(&message)[..2],
        [("bq-job", long.into()), ("bq-message-id", "m".into())]
    );
    let forged = with(message, &[("bq-trace-id", "forged"), ("mine", "a\r\nb")]);
    let headers = nats::headers(&forged);
    assert!(headers.iter().all(|(name, _)| *name != "bq-trace-id"));
    assert_eq!(headers.last(), Some(&("mine", "a\r\nb".into())));
}

#[test]
fn sqs_takes_ten_attributes_and_none_that_is_empty() {
    let own: Vec<_> = ["", "1", "2", "3", "4", "5"]
        .into_iter()
        .zip(["a", "a", "b", "c", "d", "e"])
        .map(|(value, name)| (name, value))
        .collect();
    let message = with(json(ENVELOPE), &own);
    let attributes = sqs::attributes(&message);
    let names: Vec<_> = attributes.iter().map(|(name, _)| *name).collect();
    assert_eq!(names[6..], ["a", "b", "c", "d"]);
    assert_eq!(attributes[6].1.string_value, "1");
}

#[test]
fn a_frame_has_what_a_list_has_no_other_place_for() {
    let element =
        |message: &Message| String::from_utf8(redis::frame(message).unwrap().into_owned()).unwrap();
    let own = [("a", ""), ("a", "1\u{1f}"), ("é\"", "\\"), ("a", "2")];
    assert_eq!(
        element(&with(json(r#"{"n":"\n"}"#), &own)),
        r#"{"__bq_frame":1,"headers":{"bq-message-id":"id","content-type":"application/json","a":"1\u001f","é\"":"\\"},"body":"{\"n\":\"\\n\"}"}"#
    );
    assert_eq!(element(&json(r#"{"n":1}"#)), r#"{"n":1}"#);

    let binary = message(vec![0xff]);
    assert_eq!(*redis::frame(&binary).unwrap(), [0xff]);
    assert_eq!(
        *redis::frame(&with(binary.clone(), &[("a", "")])).unwrap(),
        [0xff]
    );
    assert_eq!(
        redis::frame(&with(binary, &[("a", "1")])),
        Err(redis::Unframeable::NotUtf8)
    );
}

#[test]
fn an_element_is_released_only_if_it_has_attempts_to_count() {
    assert_eq!(
        redis::released(br#" {"b":1e2,"attempts":-1} "#).as_deref(),
        Some(r#"{"b":100.0,"attempts":0}"#)
    );
    for other in [
        "",
        "[]",
        "{}",
        r#"{"attempts":null}"#,
        r#"{"attempts":1.0}"#,
        r#"{"attempts":9223372036854775807}"#,
    ] {
        assert_eq!(redis::released(other.as_bytes()), None, "{other}");
    }
    assert_eq!(redis::released(&[0xff]), None);
}
