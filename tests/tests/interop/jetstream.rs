//! A client in Python and one in JavaScript read a stream of NATS JetStream.

use std::collections::BTreeMap;

use outbox::{Message, nats::NatsPublisher};
use outbox_test_servers::Nats;

use crate::{
    babelqueue::fresh,
    envelopes::envelopes,
    others::others,
    programs::{node, python},
    read::{Read, judge},
    stand::Stand,
};

/// Reads what a stream has for these subjects, by the client in JavaScript.
pub(crate) fn consume(url: &str, stream: &str, subjects: &str) -> Vec<Read> {
    node("jetstream_consumer.js", &[url, stream, subjects])
}

/// Reads the same by the client in Python, which shows the last value of each header.
fn consume_in_python(url: &str, stream: &str, subjects: &str) -> Vec<Read> {
    python("jetstream_consumer.py", &[url, stream, subjects])
}

/// What the subjects of ordering keys end with.
fn token(key: Option<&str>) -> &str {
    match key {
        None => "_",
        Some("order 2") => "order%202",
        Some("objednávka 3 🐎") => "objednávka%203%20🐎",
        Some(key) => key,
    }
}

/// What is to be read on NATS, which carries no key and no time. The stream keeps the header by which a publisher names it.
fn read(message: &Message, stream: &str, subjects: &str) -> Read {
    let read = Read::of(message);
    let more = [
        ("bq-message-id", &*read.id),
        ("Nats-Expected-Stream", stream),
    ];
    let more = more.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let mut headers: Vec<_> = read.headers.into_iter().chain(more).collect();
    headers.sort_by(|(one, _), (other, _)| one.cmp(other));
    Read {
        place: format!("{subjects}.{}.{}", read.place, token(read.key.as_deref())),
        key: None,
        headers,
        timestamp: None,
        ..read
    }
}

/// The same with the last value of each header.
fn last_values(read: Read) -> Read {
    let headers: BTreeMap<_, _> = read.headers.into_iter().collect();
    Read {
        headers: headers.into_iter().collect(),
        ..read
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_in_python_and_javascript_read_from_a_stream_what_was_saved_and_may_choose_a_key() {
    let (server, stand) = (Nats::shared().unwrap(), Stand::new().await);
    let (stream, subjects) = (fresh("INTEROP"), fresh("interop"));
    let mut saved = envelopes("orders.created", 3);
    saved.extend(others("orders.created", 2));
    stand.save(&saved).await;
    let url = format!(
        "{}?stream={stream}&subject={subjects}.{{topic}}.{{key}}&create_stream=true",
        server.url()
    );
    stand.publish(NatsPublisher::new(&url).unwrap()).await;

    let expect = |message: &Message| read(message, &stream, &subjects);
    let expect_last = |message: &Message| last_values(expect(message));
    let all = format!("{subjects}.>");
    judge(&saved, expect, &consume(server.url(), &stream, &all));
    let in_python = consume_in_python(server.url(), &stream, &all);
    judge(&saved, expect_last, &in_python);

    let key = "objednávka 3 🐎";
    let has_key = |message: &Message| message.key.as_ref().is_some_and(|own| own.as_str() == key);
    saved.retain(has_key);
    let subject = format!("{subjects}.orders.created.{}", token(Some(key)));
    judge(&saved, expect, &consume(server.url(), &stream, &subject));
    let in_python = consume_in_python(server.url(), &stream, &subject);
    judge(&saved, expect_last, &in_python);
}
