//! Which function a message reaches, and what becomes of one that reaches none.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]
#![allow(
    clippy::unused_async,
    reason = "a handler is async, whether it waits for anything or not"
)]

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use outbox_inbox::{Delivered, Dispatcher, Handler, HandlerError, UnknownUrn, is_replay};
use outbox_message::{Delivery, Headers, Lane, Message, Position};
use outbox_store::REPLAY_HEADER;
use outbox_store_memory::{MemoryStore, MemoryTx};
use serde::Deserialize;

const URN: &str = "urn:babel:orders:created";

#[derive(Debug, Deserialize)]
struct Created {
    id: i64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Anything {
    id: i64,
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn write(&self, text: String) {
        self.0.lock().unwrap().push(text);
    }

    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    async fn created(&self, _: &mut MemoryTx, it: Delivered<Created>) -> Result<(), HandlerError> {
        self.write(format!("created {}", it.data.id));
        Ok(())
    }

    async fn second(
        &self,
        _: &mut MemoryTx,
        it: Delivered<Anything>,
    ) -> Result<(), std::io::Error> {
        self.write(format!("version 2: {} {:?}", it.data.id, it.schema_version));
        Ok(())
    }
}

fn delivery(payload: impl Into<Vec<u8>>) -> Delivery {
    Delivery {
        lane: Lane(0),
        position: Position(1),
        attempts: 0,
        tries: 0,
        starts: 0,
        message: Message::new("orders", payload.into()).unwrap(),
    }
}

/// Hands a message over as a processor does. `None` if the dispatcher does not take it.
async fn hand<S: Send + Sync + 'static>(
    dispatcher: &Dispatcher<S, MemoryTx>,
    delivery: &Delivery,
) -> Option<Result<(), HandlerError>> {
    match dispatcher.takes(delivery) {
        Ok(false) => None,
        Err(error) => Some(Err(error)),
        Ok(true) => {
            let mut tx = MemoryStore::new().begin();
            Some(dispatcher.handle(&mut tx, delivery).await)
        }
    }
}

fn text(handled: Option<Result<(), HandlerError>>) -> String {
    format!("{:?}", handled.unwrap().unwrap_err())
}

#[tokio::test]
async fn a_function_is_found_by_urn_and_first_by_schema_version() {
    let log = Log::default();
    let dispatcher = Dispatcher::new(log.clone())
        .on(URN, Log::created)
        .on_version(URN, 2, Log::second)
        .on(
            "urn:closure",
            async |log: &Log, _: &mut MemoryTx, it: Delivered<Anything>| {
                log.write(format!("closure {} of {}", it.data.id, it.urn));
                Ok::<_, HandlerError>(())
            },
        );
    for body in [
        r#"{"job":"urn:babel:orders:created","data":{"id":1},"meta":{"schema_version":1}}"#,
        r#"{"job":"urn:babel:orders:created","data":{"id":2},"meta":{"schema_version":2}}"#,
        r#"{"job":"urn:babel:orders:created","data":{"id":3}}"#,
        r#"{"urn":"urn:closure","data":null}"#,
    ] {
        hand(&dispatcher, &delivery(body)).await.unwrap().unwrap();
    }
    let lines = [
        "created 1",
        "version 2: 2 Some(2)",
        "created 3",
        "closure 0 of urn:closure",
    ];
    assert_eq!(log.lines(), lines);
}

/// Whatever was read, as a handler of that type got it. `None` if it could not be read.
async fn read_as<T>(body: &str) -> Option<String>
where
    T: std::fmt::Debug + serde::de::DeserializeOwned + Send + 'static,
{
    let log = Log::default();
    let dispatcher = Dispatcher::new(log.clone()).on(
        "urn:x",
        async |log: &Log, _: &mut MemoryTx, it: Delivered<T>| {
            log.write(format!("{:?}", it.data));
            Ok::<_, HandlerError>(())
        },
    );
    hand(&dispatcher, &delivery(body)).await.unwrap().ok()?;
    log.lines().pop()
}

/// Decides by what it sees.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Either {
    Nothing,
    Something {
        #[serde(rename = "id")]
        _id: i64,
    },
}

#[tokio::test]
async fn data_that_is_missing_or_null_is_read_as_what_the_type_has_for_it() {
    for body in [r#"{"job":"urn:x"}"#, r#"{"job":"urn:x","data":null}"#] {
        assert_eq!(read_as::<()>(body).await.as_deref(), Some("()"));
        let option = read_as::<Option<Created>>(body).await;
        assert_eq!(option.as_deref(), Some("None"));
        // Not `Some`, although an empty object could be read as one.
        let option = read_as::<Option<Anything>>(body).await;
        assert_eq!(option.as_deref(), Some("None"));
        let defaults = read_as::<Anything>(body).await;
        assert_eq!(defaults.as_deref(), Some("Anything { id: 0 }"));
        let value = read_as::<serde_json::Value>(body).await;
        assert_eq!(value.as_deref(), Some("Object {}"));
        let map = read_as::<BTreeMap<String, i64>>(body).await;
        assert_eq!(map.as_deref(), Some("{}"));
        let either = read_as::<Either>(body).await;
        assert_eq!(either.as_deref(), Some("Nothing"));
        assert_eq!(read_as::<Created>(body).await, None);
        assert_eq!(read_as::<i64>(body).await, None);
    }
    let option = read_as::<Option<Anything>>(r#"{"job":"urn:x","data":{}}"#).await;
    assert_eq!(option.as_deref(), Some("Some(Anything { id: 0 })"));
}

#[tokio::test]
async fn a_message_without_a_function_fails_or_is_deleted_or_released_or_dead_as_chosen() {
    let unknown = delivery(r#"{"job":"urn:none"}"#);
    let answer = async |policy| {
        let dispatcher = Dispatcher::new(Log::default()).on(URN, Log::created);
        hand(&dispatcher.unknown_urn(policy), &unknown).await
    };
    assert!(answer(UnknownUrn::Delete).await.is_none());
    let said = text(answer(UnknownUrn::Fail).await);
    assert!(
        said.contains("Counted") && said.contains("no handler for urn:none"),
        "{said}"
    );
    let said = text(answer(UnknownUrn::Release(Duration::from_secs(7))).await);
    assert!(said.contains("Later") && said.contains("7s"), "{said}");
    let said = text(answer(UnknownUrn::DeadLetter).await);
    assert!(said.contains("Permanent"), "{said}");
}

#[tokio::test]
async fn a_schema_version_without_a_function_is_named() {
    let dispatcher = Dispatcher::new(Log::default()).on_version(URN, 1, Log::created);
    let version = |version: &str| delivery(format!(r#"{{"job":"{URN}","meta":{{{version}}}}}"#));
    let said = text(hand(&dispatcher, &version(r#""schema_version":3"#)).await);
    assert!(
        said.contains("no handler for schema version 3 of urn:babel:orders:created"),
        "{said}"
    );
    let said = text(hand(&dispatcher, &version("")).await);
    assert!(
        said.contains("no handler for urn:babel:orders:created without a schema version"),
        "{said}"
    );
}

#[tokio::test]
async fn f5_poison_and_unreadable_data_never_reach_a_function() {
    let log = Log::default();
    let dispatcher = Dispatcher::new(log.clone()).on(URN, Log::created);
    let mut deep = format!(r#"{{"job":"{URN}","data":{{"a":"#).into_bytes();
    deep.extend(vec![b'['; 100_000]);
    for (body, said) in [
        (b"not json".to_vec(), "Malformed"),
        (b"\xff\xfe".to_vec(), "not UTF-8"),
        (Vec::new(), "Malformed"),
        (deep, "Malformed"),
        (br#"{"data":{}}"#.to_vec(), "NoIdentity"),
        (
            br#"{"job":"urn:babel:orders:created","attempts":"x"}"#.to_vec(),
            "/attempts",
        ),
        (
            br#"{"job":"urn:babel:orders:created","data":{}}"#.to_vec(),
            "missing field `id`",
        ),
        (
            br#"{"job":"urn:babel:orders:created","data":{"id":"secret"}}"#.to_vec(),
            "line 1 column 14",
        ),
        (
            br#"{"job":"urn:babel:orders:created"}"#.to_vec(),
            "missing field `id`",
        ),
    ] {
        let error = text(hand(&dispatcher, &delivery(body)).await);
        assert!(error.contains("Permanent"), "{error}");
        assert!(error.contains(said), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }
    assert!(log.lines().is_empty());
}

#[test]
#[should_panic(expected = "has a function already")]
fn a_second_function_for_a_urn_is_a_mistake_that_shows_at_the_start() {
    let _ = Dispatcher::new(Log::default())
        .on(URN, Log::created)
        .on(URN, Log::second);
}

#[test]
fn a_replay_is_known_by_any_value_that_is_not_empty() {
    let headers = |pairs: &[(&str, &str)]| Headers::from_pairs(pairs.iter().copied()).unwrap();
    assert!(!is_replay(&headers(&[])));
    assert!(!is_replay(&headers(&[(REPLAY_HEADER, "")])));
    for value in ["1", "0", " ", "false"] {
        assert!(is_replay(&headers(&[(REPLAY_HEADER, value)])));
    }
    assert!(is_replay(&headers(&[
        (REPLAY_HEADER, ""),
        (REPLAY_HEADER, "1")
    ])));
}
