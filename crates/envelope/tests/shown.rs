//! What holds for every message on every broker: nothing panics, limits and ids are kept, and a frame gives back what it holds.

use std::collections::{BTreeMap, BTreeSet};

use outbox_envelope::projection::{
    artemis, azure_service_bus, kafka, nats, pulsar, rabbitmq, redis, sqs,
};
use outbox_message::{Headers, Message};
use proptest::{collection::vec, option, prelude::*};
use serde::Deserialize;

const ENVELOPE: &str = concat!(
    r#"{"job":"urn:x","trace_id":"t","data":{},"meta":{"id":"m","queue":"q","lang":"cobol","schema_version":1,"#,
    r#""created_at":5},"attempts":2}"#
);

fn message(payload: impl Into<Vec<u8>>) -> Message {
    let message = Message::new("q", payload.into()).expect("q is a topic");
    message.with_id("id").expect("id is an id")
}

#[test]
fn no_count_of_redeliveries_overflows() {
    for payload in [i64::MIN, 0, i64::MAX] {
        assert_eq!(
            sqs::attempts(payload, Some("-9223372036854775808")),
            payload
        );
        assert_eq!(azure_service_bus::attempts(payload, i64::MIN), payload);
        assert_eq!(artemis::attempts(payload, i64::MIN), payload);
        assert_eq!(pulsar::attempts(payload, Some(""), i64::MIN), payload);
        assert_eq!(kafka::attempts(payload, Some(b"\xff")), payload);
    }
    assert_eq!(pulsar::attempts(0, Some("2147483647"), 0), 2_147_483_647);
    assert_eq!(pulsar::attempts(0, Some(&"9".repeat(99)), 0), 0);
}

/// What a consumer makes of an element, as the contract says: the payload and the headers.
fn unframe(element: &[u8]) -> (Vec<u8>, Vec<(String, String)>) {
    #[derive(Deserialize)]
    struct Frame {
        #[serde(rename = "__bq_frame")]
        version: i64,
        headers: BTreeMap<String, String>,
        body: String,
    }
    match serde_json::from_slice::<Frame>(element) {
        Ok(Frame {
            version: 1,
            headers,
            body,
        }) => (body.into_bytes(), headers.into_iter().collect()),
        _ => (element.to_vec(), Vec::new()),
    }
}

#[test]
fn a_payload_that_is_a_frame_reaches_the_consumer_as_it_is() {
    let frame = r#"{"__bq_frame":1,"headers":{},"body":"b"}"#;
    let framed = redis::frame(&message(frame)).unwrap().into_owned();
    assert_eq!(unframe(&framed), (frame.as_bytes().to_vec(), Vec::new()));
    for other in [
        r#"["__bq_frame","body"]"#,
        r#"{"data":{"__bq_frame":1,"body":"b"}}"#,
        r#"{"__bq_frame":1}"#,
    ] {
        assert_eq!(redis::frame(&message(other)).unwrap(), other.as_bytes());
    }
}

/// Payloads that are envelopes, are nearly so, or are nothing of the kind.
fn payload() -> impl Strategy<Value = Vec<u8>> {
    let damaged = (
        any::<prop::sample::Index>(),
        0..4_usize,
        "[\\[\\]{}\",:\\\\u0-9a-f.eE+-]{0,4}",
    );
    let damaged = damaged.prop_map(|(at, cut, splice)| {
        let mut payload = ENVELOPE.as_bytes().to_vec();
        let at = at.index(payload.len());
        payload.splice(at..ENVELOPE.len().min(at + cut), splice.bytes());
        payload
    });
    let named = (any::<String>(), any::<String>(), any::<i64>()).prop_map(|(job, text, integer)| {
        let text = serde_json::to_string(&text).expect("a string is JSON");
        let job = serde_json::to_string(&job).expect("a string is JSON");
        format!(r#"{{"job":{job},"trace_id":{text},"meta":{{"id":{text},"lang":{text},"schema_version":{integer},"created_at":{integer}}},"attempts":{integer}}}"#).into_bytes()
    });
    prop_oneof![
        vec(any::<u8>(), 0..100),
        any::<String>().prop_map(String::into_bytes),
        damaged,
        named
    ]
}

fn any_message() -> impl Strategy<Value = Message> {
    let name = prop_oneof![
        "bq-job|bq-message-id|x-attempts|content-type|a",
        "[^\\p{Cc}]{1,8}"
    ];
    let headers = vec((name, "[^\0]{0,8}"), 0..6);
    let content_type = option::of(prop_oneof![
        Just("application/json".to_owned()),
        "[^\0]{1,9}"
    ]);
    (payload(), headers, content_type).prop_map(|(payload, headers, content_type)| {
        let headers = Headers::from_pairs(headers).expect("the headers keep their limits");
        let content_type =
            content_type.map(|kind| kind.parse().expect("the content type keeps its limits"));
        Message {
            headers,
            content_type,
            ..message(payload)
        }
    })
}

fn distinct<'a, V>(headers: &'a [(&'a str, V)]) -> bool {
    let names: BTreeSet<_> = headers.iter().map(|(name, _)| *name).collect();
    names.len() == headers.len()
}

proptest! {
    #[test]
    fn every_message_is_shown_on_every_broker_with_its_id_and_within_the_limits(message in any_message()) {
        let properties = rabbitmq::properties(&message);
        prop_assert!(distinct(&properties.headers) && !properties.message_id.is_empty());
        let short = [Some(properties.message_id), properties.kind, properties.correlation_id];
        prop_assert!(short.iter().flatten().all(|text| text.len() <= rabbitmq::MAX_PROPERTY_BYTES));
        prop_assert!(distinct(&azure_service_bus::properties(&message).application));
        prop_assert!(distinct(&artemis::properties(&message).application));
        let attributes = sqs::attributes(&message);
        prop_assert!(distinct(&attributes) && attributes.len() <= sqs::MAX_ATTRIBUTES);
        prop_assert!(attributes.iter().all(|(_, attribute)| !attribute.string_value.is_empty()));
        prop_assert!(distinct(&pulsar::properties(&message)));
        for headers in [kafka::record(&message).headers, pulsar::properties(&message)] {
            let ids = headers.iter().filter(|(name, _)| *name == "bq-message-id").count();
            prop_assert_eq!(ids, 1);
        }
        prop_assert!(nats::headers(&message).len() <= kafka::record(&message).headers.len());
        redis::released(&message.payload);
    }

    #[test]
    fn c2_an_element_of_a_list_gives_back_the_payload_and_the_headers(message in any_message()) {
        match redis::frame(&message) {
            Ok(element) => {
                let (payload, headers) = unframe(&element);
                prop_assert_eq!(payload, message.payload.to_vec());
                for (name, value) in &headers {
                    let own = message.headers.iter().find(|(known, value)| known == name && !value.is_empty());
                    prop_assert!(own == Some((name, value)) || ["bq-message-id", "content-type"].contains(&name.as_str()));
                }
                for (name, value) in message.headers.iter().filter(|(_, value)| !value.is_empty()) {
                    let carried = headers.iter().any(|(known, _)| known == name);
                    prop_assert!(carried, "{name}: {value}");
                }
            }
            Err(_) => prop_assert!(str::from_utf8(&message.payload).is_err() && !message.headers.is_empty()),
        }
    }
}
