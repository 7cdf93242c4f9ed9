//! The reference's vectors of a redrive, on a Redis: what is in which queue afterwards, and what stays.

use std::collections::BTreeMap;

use outbox::{
    Bypass, Redriving,
    message::Topic,
    publisher::{Choice, Redrive, Step},
    redis::RedisPublisher,
};
use outbox_test_servers::{Redis, RedisOptions};
use serde::Deserialize;
use serde_json::Value;

/// A body with its headers.
type Element = (String, BTreeMap<String, String>);

#[derive(Deserialize)]
struct Vector {
    name: String,
    dlq: String,
    bodies: Vec<String>,
    options: Options,
    redriven: usize,
    queues_after: BTreeMap<String, Vec<Element>>,
}

#[derive(Deserialize)]
struct Options {
    to_queue: Option<String>,
    #[serde(default)]
    dry_run: bool,
    #[serde(default)]
    bypass: bool,
    max: Option<usize>,
}

/// The elements of a list.
fn elements(server: &Redis, list: &str) -> Vec<Element> {
    let all = server.redis_cli(&["LRANGE", list, "0", "-1"]).unwrap();
    let element = |line: &str| {
        let frame: Option<Value> = serde_json::from_str(line).ok();
        match frame.filter(|frame| frame.get("__bq_frame").is_some()) {
            None => (line.to_owned(), BTreeMap::new()),
            Some(frame) => (
                frame["body"].as_str().unwrap().to_owned(),
                serde_json::from_value(frame["headers"].clone()).unwrap(),
            ),
        }
    };
    all.lines().map(element).collect()
}

/// The value of a body as consumers take it, for whom an alias is the same.
fn value(body: &str) -> Value {
    let Ok(mut value) = serde_json::from_str::<Value>(body) else {
        return Value::from(body);
    };
    if let Some(object) = value.as_object_mut()
        && let Some(urn) = object.remove("urn")
    {
        object.entry("job").or_insert(urn);
    }
    value
}

#[tokio::test]
async fn a_redrive_leaves_queues_as_the_reference_does() {
    let vectors = include_str!("../../../crates/envelope/tests/vectors/redrive.json");
    let vectors: Vec<Vector> = serde_json::from_str(vectors).unwrap();
    assert!(vectors.len() >= 9);
    let server = Redis::start(RedisOptions::default()).unwrap();
    for vector in vectors {
        server.redis_cli(&["FLUSHALL"]).unwrap();
        for body in &vector.bodies {
            server.redis_cli(&["RPUSH", &vector.dlq, body]).unwrap();
        }
        let options = &vector.options;
        let redriving = Redriving {
            to: options
                .to_queue
                .as_deref()
                .map(|to| Topic::new(to).unwrap()),
            bypass: if options.bypass {
                Bypass::Marked
            } else {
                Bypass::No
            },
            urn: (vector.name == "select-none").then(|| "urn:none".to_owned()),
            ..Redriving::default()
        };
        let broker = RedisPublisher::new(&server.url()).unwrap();
        let dead = Topic::new(&vector.dlq).unwrap();
        let mut redrive = Redrive::open(&broker, &dead).await.unwrap();
        let mut redriven = 0;
        while options.max.is_none_or(|max| redriven < max) {
            let step = redrive.step(|letter| match redriving.message(letter) {
                Ok(message) if !options.dry_run => Choice::Publish(message.into()),
                _ => Choice::Leave,
            });
            match step.await.unwrap() {
                Step::End => break,
                Step::Redriven => redriven += 1,
                step => assert!(matches!(step, Step::Left), "{step:?}"),
            }
        }
        assert_eq!(redriven, vector.redriven, "{}", vector.name);
        for (queue, expected) in &vector.queues_after {
            let there = elements(&server, queue);
            let values = |pairs: &[Element]| {
                let pairs = pairs.iter();
                pairs
                    .map(|(body, headers)| (value(body), headers.clone()))
                    .collect::<Vec<_>>()
            };
            assert_eq!(values(&there), values(expected), "{} {queue}", vector.name);
        }
        if !vector.queues_after.contains_key(&vector.dlq) {
            assert!(elements(&server, &vector.dlq).is_empty(), "{}", vector.name);
        }
    }
}
