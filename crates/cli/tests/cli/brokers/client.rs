//! What is in a queue, a stream or a list of a real broker, as a client of its own sees it. Names are the tests' own, since
//! the servers are shared.

use std::{
    process,
    sync::atomic::{AtomicU32, Ordering},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use lapin::{
    Connection, ConnectionProperties,
    options::{BasicGetOptions, QueueDeclareOptions},
    types::FieldTable,
};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

/// A name that nobody else has.
pub(crate) fn unique(prefix: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{prefix}-{}-{number}", process::id())
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Makes a durable queue.
pub(crate) fn declare(url: &str, queue: &str) {
    runtime().block_on(async {
        let connection = Connection::connect(url, ConnectionProperties::default());
        let channel = connection.await.unwrap().create_channel().await.unwrap();
        let options = QueueDeclareOptions {
            durable: true,
            ..QueueDeclareOptions::default()
        };
        let declared = channel.queue_declare(queue.into(), options, FieldTable::default());
        declared.await.unwrap();
    });
}

/// Takes the payloads out of a queue.
pub(crate) fn in_queue(url: &str, queue: &str) -> Vec<String> {
    runtime().block_on(async {
        let connection = Connection::connect(url, ConnectionProperties::default());
        let channel = connection.await.unwrap().create_channel().await.unwrap();
        let mut payloads = Vec::new();
        loop {
            let got = channel.basic_get(queue.into(), BasicGetOptions { no_ack: true });
            match got.await.unwrap() {
                Some(message) => payloads.push(String::from_utf8(message.delivery.data).unwrap()),
                None => return payloads,
            }
        }
    })
}

/// The payloads in a stream.
pub(crate) fn in_stream(url: &str, stream: &str) -> Vec<String> {
    runtime().block_on(async {
        let client = async_nats::connect(url).await.unwrap();
        let ask = async |request: String, body: Value| -> Value {
            let subject = format!("$JS.API.STREAM.{request}.{stream}");
            let asked = client.request(subject, body.to_string().into()).await;
            serde_json::from_slice(&asked.unwrap().payload).unwrap()
        };
        let info = ask("INFO".to_owned(), json!({})).await;
        let mut payloads = Vec::new();
        for number in 1..=info["state"]["last_seq"].as_u64().unwrap() {
            let got = ask("MSG.GET".to_owned(), json!({"seq": number})).await;
            let payload = got["message"]["data"].as_str().unwrap();
            let payload = BASE64_STANDARD.decode(payload).unwrap();
            payloads.push(String::from_utf8(payload).unwrap());
        }
        payloads
    })
}

/// The elements of a list.
pub(crate) fn in_list(url: &str, key: &str) -> Vec<String> {
    let mut connection = redis::Client::open(url).unwrap().get_connection().unwrap();
    let mut range = redis::cmd("LRANGE");
    range.arg(key).arg(0).arg(-1);
    range.query(&mut connection).unwrap()
}

/// Makes a key that holds a text.
pub(crate) fn set(url: &str, key: &str) {
    let mut connection = redis::Client::open(url).unwrap().get_connection().unwrap();
    let done = redis::cmd("SET").arg(key).arg("text").exec(&mut connection);
    done.unwrap();
}
