//! Envelopes of each kind that is hard to carry or to read.

use std::collections::BTreeMap;

use outbox::{Envelope, Message};

/// What the envelopes are: a consumer has a handler for each.
pub(crate) const JOBS: [&str; 2] = ["urn:babel:orders:created", "urn:babel:orders:zrušeno 🐎"];

const KEYS: [&str; 4] = ["order-1", "order 2", "objednávka 3 🐎", "4"];

/// So many rounds of an envelope of each kind for each of some keys, for this topic.
pub(crate) fn envelopes(topic: &str, rounds: usize) -> Vec<Message> {
    let kinds: [fn(&str) -> Message; 7] = [plain, text, numbers, odd, tried, traced, replayed];
    let all = rounds * kinds.len();
    let numbered = (0..all).flat_map(|n| KEYS.iter().enumerate().map(move |(k, key)| (n + k, key)));
    numbered
        .map(|(n, key)| kinds[n % kinds.len()](topic).with_key(*key).unwrap())
        .collect()
}

fn make(topic: &str, job: &str, data: &BTreeMap<&str, &str>) -> Message {
    let envelope = Envelope::make(job, data).unwrap().queue(topic);
    envelope.to_message().unwrap()
}

/// As an application makes it.
pub(crate) fn plain(topic: &str) -> Message {
    make(topic, JOBS[0], &BTreeMap::from([("order", "1042")]))
}

/// Text of several writings, and what JSON escapes or need not escape.
fn text(topic: &str) -> Message {
    let data = [
        ("žluťoučký kůň", "příliš žluťoučký kůň úpěl ďábelské ódy"),
        ("𝄞🐎👩‍👩‍👧", "e\u{301} \u{e9} \u{202e}عربى\u{202c} 漢字"),
        (
            "escapes",
            "\" \\ / \u{8}\u{c}\n\r\t\0\u{1f}\u{7f}\u{85}\u{a0}\u{2028}\u{2029}\u{feff}\u{fffd}",
        ),
        (
            "looks like code",
            "</script>&amp;<!-- ${x} {{y}} %s %(z)s __bq_frame",
        ),
        ("", ""),
    ];
    make(topic, JOBS[1], &BTreeMap::from(data))
}

/// Numbers that not every language can hold, as Python writes them.
fn numbers(topic: &str) -> Message {
    let data = r#"{"integers":[9007199254740993,-9223372036854775808,18446744073709551616,1000000000000000000000000000000],"floats":[0.1,1e+16,1e-07,-0.0,5e-324,1.7976931348623157e+308],"10":1,"9":2}"#;
    written(topic, data, 0)
}

/// What no encoder writes and every decoder reads: white space, escapes that need not be, numbers in other forms, a member that
/// comes twice, an order of one's own, members that nobody knows.
fn odd(topic: &str) -> Message {
    let (id, trace) = ids();
    let (job, topic) = (JOBS[0], quoted(topic));
    let raw = format!(
        " {{\r\n\t\"x-first\" : {{ }} ,\n  \"attempts\":0,\"trace_id\" : \"{trace}\", \"data\" : {{ \"n\" : [ 1E+2 , 1.50, 100000000000000000000000.0 ], \"t\":1, \"t\":2, \"s\":\"\\u017Elu\\u0165\\/\\ud83d\\ude00\" }},
          \"meta\":{{\"queue\":{topic}, \"created_at\":1760000000000 , \"schema_version\":1,\"lang\":\"cobol\",\"id\":\"{id}\",\"ext\":{{\"acme\":[[],{{}}]}}}}, \"job\":\"{job}\" , \"x-last\":null }}\n"
    );
    message(&raw)
}

/// One that has been tried before.
pub(crate) fn tried(topic: &str) -> Message {
    written(topic, r#"{"nested":[{},[],{"a":{}}],"none":null}"#, 2)
}

/// One with a trace beside it.
fn traced(topic: &str) -> Message {
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let message = plain(topic).with_header("traceparent", trace).unwrap();
    let message = message.with_header("tracestate", "acme=1,b=\"2\"").unwrap();
    message
        .with_header("x-tenant", "Žofie 🐎\u{2028} \\")
        .unwrap()
}

/// One that is told to be a replay.
fn replayed(topic: &str) -> Message {
    plain(topic).with_header("bq-replay-bypass", "1").unwrap()
}

/// Messages that are none.
pub(crate) fn no_envelopes(topic: &str) -> [Message; 3] {
    let payloads: [&[u8]; 3] = [br#"{"id":7}"#, b"7;plain", b"\xff\0"];
    payloads.map(|payload| Message::new(topic, payload.to_vec()).unwrap())
}

/// An envelope of another program, with the members in their usual places.
fn written(topic: &str, data: &str, attempts: u32) -> Message {
    let (id, trace) = ids();
    let (job, topic) = (JOBS[0], quoted(topic));
    message(&format!(
        r#"{{"job":"{job}","trace_id":"{trace}","data":{data},"meta":{{"id":"{id}","queue":{topic},"lang":"go","schema_version":1,"created_at":1760000000000}},"attempts":{attempts}}}"#
    ))
}

fn message(raw: &str) -> Message {
    let message = Envelope::message_from_raw(raw.as_bytes()).unwrap();
    message.unwrap_or_else(|| panic!("no envelope: {raw}"))
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// A new id, and a new trace id.
fn ids() -> (String, String) {
    let envelope = Envelope::make(JOBS[0], &BTreeMap::<&str, &str>::new()).unwrap();
    (
        envelope.id().unwrap().to_owned(),
        envelope.trace().unwrap().to_owned(),
    )
}
