//! Messages that are no envelopes.

use outbox::Message;

const KEYS: [Option<&str>; 3] = [Some("order 2"), Some("objednávka 3 🐎"), None];

/// So many rounds of a message of each kind for each of some keys and without a key, for this topic.
pub(crate) fn others(topic: &str, rounds: usize) -> Vec<Message> {
    let kinds: [fn(&str) -> Message; 6] = [text, bytes, nothing, headed, json, large];
    let all = (0..rounds).flat_map(|_| kinds);
    all.flat_map(|kind| {
        KEYS.map(|key| {
            let message = kind(topic);
            match key {
                Some(key) => message.with_key(key).unwrap(),
                None => message,
            }
        })
    })
    .collect()
}

/// Text with what the program that wrote it says it is.
fn text(topic: &str) -> Message {
    let message = Message::new(topic, "7;\"žluťoučký; kůň\"\r\n8;\0\n").unwrap();
    message
        .with_content_type("text/csv; charset=utf-8")
        .unwrap()
}

/// Every byte there is, which is no text.
fn bytes(topic: &str) -> Message {
    Message::new(topic, (0..=u8::MAX).collect::<Vec<_>>()).unwrap()
}

fn nothing(topic: &str) -> Message {
    Message::new(topic, "").unwrap()
}

/// One whose headers come more than once, in an order of their own.
fn headed(topic: &str) -> Message {
    let headers = [
        ("x-tag", "b"),
        (
            "traceparent",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ),
        ("x-empty", ""),
        ("x-tag", "Žofie\u{2028}🐎: \\ \""),
    ];
    let message = Message::new(topic, "with headers").unwrap();
    headers.into_iter().fold(message, |message, (name, value)| {
        message.with_header(name, value).unwrap()
    })
}

/// JSON that is no envelope.
fn json(topic: &str) -> Message {
    let message = Message::new(topic, r#"{"job":"","data":[1,2]}"#).unwrap();
    message.with_content_type("application/json").unwrap()
}

/// More than a packet and than most buffers, which does not repeat.
fn large(topic: &str) -> Message {
    let bytes = (0..300_000_u32).map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()[0]);
    Message::new(topic, bytes.collect::<Vec<_>>()).unwrap()
}
