//! CloudEvents as the examples of their specification have them: the HTTP binding and the JSON format, version 1.0.2. What the
//! examples leave open ("further attributes") and the extensions they invent are left out.

use outbox_message::Message;
use serde_json::{Value, json};

use super::*;

fn events(source: &str) -> CloudEvents {
    CloudEvents {
        source: source.parse().unwrap(),
        kind: None,
        subject: None,
    }
}

fn message(topic: &str, id: &str, payload: &[u8]) -> Message {
    let message = Message::new(topic, payload.to_vec()).unwrap();
    message.with_id(id).unwrap()
}

fn headers(events: &CloudEvents, message: &Message) -> Vec<(String, String)> {
    let attributes = attributes(events, message).unwrap();
    let header = |(name, value): &(&str, Cow<'_, str>)| (format!("ce-{name}"), encode(value));
    attributes.iter().map(header).collect()
}

fn body(events: &CloudEvents, message: &Message) -> Value {
    let attributes = attributes(events, message).unwrap();
    serde_json::from_slice(&structured(&attributes, message)).unwrap()
}

fn text(events: &CloudEvents, message: &Message) -> String {
    let attributes = attributes(events, message).unwrap();
    String::from_utf8(structured(&attributes, message)).unwrap()
}

/// An envelope made at the moment of the examples; its job is their type.
fn envelope(id: &str, millis: i64) -> Message {
    let payload = json!({
        "job": "com.example.someevent",
        "trace_id": "t",
        "data": {},
        "meta": {"id": id, "queue": "q", "lang": "rust", "schema_version": 1, "created_at": millis},
        "attempts": 0,
    });
    message("q", id, payload.to_string().as_bytes())
}

#[test]
fn the_example_of_the_binary_mode() {
    // 2018-04-05T03:56:24Z
    let message = envelope("1234-1234-1234", 1_522_900_584_000);
    let expected = [
        ("ce-specversion", "1.0"),
        ("ce-type", "com.example.someevent"),
        ("ce-source", "/mycontext/subcontext"),
        ("ce-id", "1234-1234-1234"),
        ("ce-time", "2018-04-05T03:56:24Z"),
    ];
    let headers = headers(&events("/mycontext/subcontext"), &message);
    let headers: Vec<_> = headers.iter().map(|(n, v)| (&**n, &**v)).collect();
    assert_eq!(headers, expected);
}

#[test]
fn the_example_of_a_header_that_is_percent_encoded() {
    assert_eq!(encode("Euro € 😀"), "Euro%20%E2%82%AC%20%F0%9F%98%80");
    assert_eq!(encode("\"50%\""), "%2250%25%22");
    let printable: String = ('!'..='~').filter(|c| !"\"%".contains(*c)).collect();
    assert_eq!(encode(&printable), printable);
}

#[test]
fn the_example_with_an_object_as_data() {
    let payload = b"{\n  \"appinfoA\" : \"abc\",\n  \"appinfoB\" : 123,\n  \"appinfoC\" : true\n}";
    let message = message("com.example.someevent", "C234-1234-1234", payload);
    let message = message.with_content_type("application/json").unwrap();
    let expected = json!({
        "specversion": "1.0",
        "type": "com.example.someevent",
        "source": "/mycontext",
        "id": "C234-1234-1234",
        "datacontenttype": "application/json",
        "data": {"appinfoA": "abc", "appinfoB": 123, "appinfoC": true},
    });
    let events = events("/mycontext");
    assert_eq!(body(&events, &message), expected);
    let verbatim = str::from_utf8(payload).unwrap();
    assert!(text(&events, &message).contains(verbatim));
}

#[test]
fn the_example_with_a_string_as_data_and_no_content_type() {
    let message = message(
        "com.example.someevent",
        "D234-1234-1234",
        b"\"I'm just a string\"",
    );
    let expected = json!({
        "specversion": "1.0",
        "type": "com.example.someevent",
        "source": "/mycontext",
        "id": "D234-1234-1234",
        "data": "I'm just a string",
    });
    assert_eq!(body(&events("/mycontext"), &message), expected);
}

#[test]
fn the_example_with_xml_as_data() {
    let message = message(
        "com.example.someevent",
        "B234-1234-1234",
        b"<much wow=\"xml\"/>",
    );
    let message = message.with_content_type("application/xml").unwrap();
    let expected = json!({
        "specversion": "1.0",
        "type": "com.example.someevent",
        "source": "/mycontext",
        "id": "B234-1234-1234",
        "datacontenttype": "application/xml",
        "data": "<much wow=\"xml\"/>",
    });
    assert_eq!(body(&events("/mycontext"), &message), expected);
}

#[test]
fn the_example_with_bytes_as_data() {
    let thrift = "application/vnd.apache.thrift.binary";
    let message = message(
        "com.example.someevent",
        "A234-1234-1234",
        b"\x80\x01\x00\x01",
    );
    let message = message.with_content_type(thrift).unwrap();
    let expected = json!({
        "specversion": "1.0",
        "type": "com.example.someevent",
        "source": "/mycontext",
        "id": "A234-1234-1234",
        "datacontenttype": thrift,
        "data_base64": "gAEAAQ==",
    });
    assert_eq!(body(&events("/mycontext"), &message), expected);
}

#[test]
fn c2_json_is_not_rewritten_and_what_only_claims_to_be_json_is_bytes() {
    let verbatim = [
        r#"{"b":1.50,"a":1e400,"a":-0,"n":123456789012345678901234567890}"#,
        "[ 1 ,\n 2 ]",
        r#""\ud800\u00e9""#,
        "null",
    ];
    for json in verbatim {
        let written = text(&events("/s"), &message("t", "1", json.as_bytes()));
        assert!(
            written.ends_with(&format!(",\"data\":{json}}}")),
            "{written}"
        );
    }
    for bytes in [
        &b""[..],
        b"{",
        b"{} {}",
        b"NaN",
        b"\xEF\xBB\xBF{}",
        b"\"\xFF\"",
        b"'a'",
    ] {
        let written = body(&events("/s"), &message("t", "1", bytes));
        assert_eq!(written.get("data"), None, "{written}");
        let encoded = written["data_base64"].as_str().unwrap();
        assert_eq!(BASE64_STANDARD.decode(encoded).unwrap(), bytes);
    }
}

#[test]
fn c2_text_is_a_string_if_it_is_utf8_and_bytes_otherwise() {
    let data = |content_type: &str, payload: &[u8]| {
        let message = message("t", "1", payload);
        body(
            &events("/s"),
            &message.with_content_type(content_type).unwrap(),
        )
    };
    assert_eq!(data("text/plain", "é\0\n".as_bytes())["data"], "é\0\n");
    assert_eq!(data("Text/CSV; charset=\"UTF-8\"", b"a,b")["data"], "a,b");
    assert_eq!(data("application/soap+xml", b"<a/>")["data"], "<a/>");
    for (content_type, payload) in [
        ("text/plain; charset=latin1", &b"abc"[..]),
        ("text/plain", b"\xE9"),
        ("application/octet-stream", b"abc"),
    ] {
        let written = data(content_type, payload);
        assert!(written.get("data").is_none(), "{written}");
        let encoded = written["data_base64"].as_str().unwrap();
        assert_eq!(BASE64_STANDARD.decode(encoded).unwrap(), payload);
    }
    assert_eq!(
        data("application/problem+JSON;a=b", b"{}")["data"],
        json!({})
    );
}

#[test]
fn type_source_and_subject_are_as_they_are_configured() {
    let events = CloudEvents {
        source: "/shop/{topic}".parse().unwrap(),
        kind: Some("com.example.{topic}".parse().unwrap()),
        subject: Some("{key}".parse().unwrap()),
    };
    let keyed = message("orders new", "1", b"1").with_key("a b").unwrap();
    let written = body(&events, &keyed);
    assert_eq!(written["source"], "/shop/orders%20new");
    assert_eq!(written["type"], "com.example.orders new");
    assert_eq!(
        (&written["subject"], &written["partitionkey"]),
        (&json!("a b"), &json!("a b"))
    );
    let keyless = body(&events, &message("orders", "1", b"1"));
    assert_eq!(
        (keyless.get("subject"), keyless.get("partitionkey")),
        (None, None)
    );
}

#[test]
fn c3_the_time_is_the_same_at_every_try() {
    let time = |message: &Message| body(&events("/s"), message).get("time").cloned();
    // The example of a UUIDv7 in RFC 9562, made at 2022-02-22T19:22:22Z.
    let timed = message("t", "017F22E2-79B0-7CC3-98C4-DC0C0C07398F", b"1");
    assert_eq!(time(&timed), Some(json!("2022-02-22T19:22:22Z")));
    let millis = envelope("a", 1_522_900_584_007);
    assert_eq!(time(&millis), Some(json!("2018-04-05T03:56:24.007Z")));
    assert_eq!(
        time(&envelope("a", 253_402_300_799_999)),
        Some(json!("9999-12-31T23:59:59.999Z"))
    );
    for without in [
        message("t", "order-1", b"1"),
        message("t", "5c0f5c1e-7e0b-4b43-8d6b-1f8a4c0f8c11", b"1"),
        envelope("a", -1),
        envelope("a", i64::MAX),
    ] {
        assert_eq!(time(&without), None);
    }
}

#[test]
fn an_attribute_with_a_control_character_is_malformed() {
    for key in [
        "a\nb",
        "\u{7f}",
        "\u{85}",
        "\u{fffe}",
        "\u{10ffff}",
        "\u{fdd0}",
    ] {
        let message = message("t", "1", b"1").with_key(key).unwrap();
        let refused = attributes(&events("/s"), &message).unwrap_err();
        assert_eq!(refused.kind, PublishErrorKind::Malformed);
        assert!(refused.text.contains("partitionkey"), "{refused}");
    }
    let message = message("t", "1", b"1").with_content_type("a/\nb").unwrap();
    let refused = attributes(&events("/s"), &message).unwrap_err();
    assert!(refused.text.contains("datacontenttype"), "{refused}");
}
