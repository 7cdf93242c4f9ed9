//! What clients read of a message: its bytes, its id, its headers. What they ought to read is told here from the message's payload
//! alone, and not by the code that the publishers go by.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
};

use outbox::Message;
use serde::Deserialize;
use serde_json::Value;

use crate::programs::Bytes;

/// A message as a client read it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Read {
    /// The subject or the topic.
    pub(crate) place: String,
    pub(crate) id: String,
    /// Where the broker has a place for it.
    #[serde(default)]
    pub(crate) key: Option<String>,
    /// Without the id.
    pub(crate) headers: Vec<(String, String)>,
    /// In milliseconds, where the broker has a place for it.
    #[serde(default)]
    pub(crate) timestamp: Option<i64>,
    pub(crate) body: Bytes,
}

impl Read {
    /// What is to be read of a message that was saved: `bq-message-id` is among the headers of NATS, too.
    pub(crate) fn of(message: &Message) -> Self {
        let (mut headers, created_at) = contract(message);
        let own = message.headers.iter();
        headers.extend(own.map(|(name, value)| (name.into(), value.into())));
        Self {
            place: message.topic.to_string(),
            id: message.id.to_string(),
            key: message.key.as_ref().map(ToString::to_string),
            headers,
            timestamp: created_at,
            body: Bytes(message.payload.to_vec()),
        }
    }
}

/// The headers that BabelQueue's contract adds, without the id, and when an envelope was made.
fn contract(message: &Message) -> (Vec<(String, String)>, Option<i64>) {
    let header = |name: &str, value: String| (name.to_owned(), value);
    let envelope = serde_json::from_slice::<Value>(&message.payload).ok();
    let Some(envelope) = envelope.filter(|envelope| envelope["meta"].is_object()) else {
        let content_type = message.content_type.iter();
        let headers = content_type.map(|kind| header("content-type", kind.to_string()));
        return (headers.collect(), None);
    };
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let meta = &envelope["meta"];
    let headers = vec![
        header("bq-job", text(&envelope["job"])),
        header("bq-trace-id", text(&envelope["trace_id"])),
        header("bq-schema-version", meta["schema_version"].to_string()),
        header("bq-source-lang", text(&meta["lang"])),
        header("bq-attempts", envelope["attempts"].to_string()),
    ];
    (headers, meta["created_at"].as_i64())
}

/// What is compared of a message.
pub(crate) trait Arrival: Clone + Debug + PartialEq {
    /// Of the message.
    fn id(&self) -> &str;
}

impl Arrival for Read {
    fn id(&self) -> &str {
        &self.id
    }
}

/// D1, O1: everything that was saved arrived once and as it is expected, of each ordering key in the order of saving, and
/// nothing else.
pub(crate) fn judge<A: Arrival>(saved: &[Message], expect: impl Fn(&Message) -> A, arrived: &[A]) {
    let keys: BTreeMap<_, _> = saved
        .iter()
        .map(|message| {
            let key = message.key.as_ref();
            (message.id.as_str(), (&message.topic, key))
        })
        .collect();
    let of = |key, all: &[A]| -> Vec<A> {
        let is_of = |one: &&A| keys.get(one.id()) == Some(key);
        let mut all: Vec<_> = all.iter().filter(is_of).cloned().collect();
        if key.1.is_none() {
            // Without a key there is no order.
            all.sort_by(|a, b| a.id().cmp(b.id()));
        }
        all
    };
    let expected: Vec<_> = saved.iter().map(expect).collect();
    for key in keys.values().collect::<BTreeSet<_>>() {
        let (arrived, expected) = (of(key, arrived), of(key, &expected));
        // One by one, as a list of all says too much.
        for (arrived, expected) in arrived.iter().zip(&expected) {
            assert_eq!(arrived, expected, "of {key:?}");
        }
        assert_eq!(arrived.len(), expected.len(), "how many of {key:?}");
    }
    assert_eq!(arrived.len(), saved.len(), "nothing else arrived");
}

mod tests {
    use super::*;
    use crate::{envelopes::envelopes, others::others};

    #[test]
    fn what_is_lost_late_foreign_twice_or_changed_is_found() {
        let mut saved = envelopes("orders", 1);
        saved.extend(others("orders", 1));
        let all: Vec<_> = saved.iter().map(Read::of).collect();
        let judged = |read: &[Read]| judge(&saved, Read::of, read);
        judged(&all);
        let found = |change: &dyn Fn(&mut Vec<Read>)| {
            let mut read = all.clone();
            change(&mut read);
            std::panic::catch_unwind(|| judged(&read)).is_err()
        };
        let last = all.len() - 1;
        assert!(found(&|read| drop(read.pop())), "lost");
        assert!(found(&|read| read.swap(0, 4)), "late in its key");
        assert!(!found(&|read| read.swap(0, 1)), "late, but of another key");
        assert!(saved[last].key.is_none() && saved[last - 3].key.is_none());
        assert!(!found(&|read| read.swap(last, last - 3)), "without a key");
        assert!(found(&|read| read[0].id = "foreign".into()), "foreign");
        assert!(found(&|read| read.push(all[3].clone())), "twice");
        assert!(found(&|read| read[3].body.0.push(b' ')), "a byte more");
        assert!(found(&|read| read[last].body.0.push(b' ')), "a byte more");
        assert!(found(&|read| read[3].place.push('s')), "elsewhere");
        assert!(found(&|read| drop(read[3].headers.pop())), "a header");
        assert!(found(&|read| read[3].key = None), "the key");
    }
}
