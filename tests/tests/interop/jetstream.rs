//! A client in Python reads a stream of NATS JetStream.

use std::collections::BTreeMap;

use outbox::{Message, nats::NatsPublisher};
use outbox_test_servers::Nats;

use crate::{
    babelqueue::fresh,
    envelopes::envelopes,
    others::others,
    python::python,
    read::{Read, judge},
    stand::Stand,
};

/// Reads what a stream has for these subjects.
pub(crate) fn consume(url: &str, stream: &str, subjects: &str) -> Vec<Read> {
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

/// What is to be read on NATS, which carries no key and no time, by a client that shows one value of each header. The stream
/// keeps the header by which a publisher names it.
fn read(message: &Message, stream: &str, subjects: &str) -> Read {
    let read = Read::of(message);
    let more = [
        ("bq-message-id", &*read.id),
        ("Nats-Expected-Stream", stream),
    ];
    let more = more.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let headers: BTreeMap<_, _> = read.headers.into_iter().chain(more).collect();
    Read {
        place: format!("{subjects}.{}.{}", read.place, token(read.key.as_deref())),
        key: None,
        headers: headers.into_iter().collect(),
        timestamp: None,
        ..read
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_in_python_reads_from_a_stream_what_was_saved_and_may_choose_a_key() {
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
    judge(
        &saved,
        expect,
        &consume(server.url(), &stream, &format!("{subjects}.>")),
    );

    let key = "objednávka 3 🐎";
    let has_key = |message: &Message| message.key.as_ref().is_some_and(|own| own.as_str() == key);
    saved.retain(has_key);
    let subject = format!("{subjects}.orders.created.{}", token(Some(key)));
    judge(&saved, expect, &consume(server.url(), &stream, &subject));
}
