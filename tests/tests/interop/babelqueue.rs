//! What handlers of BabelQueue's package in Python are given, and what its transports publish.

use std::{collections::BTreeMap, io::Write};

use outbox::{Message, envelope::projection};
use serde::Deserialize;
use serde_json::json;

use crate::{
    envelopes::JOBS,
    programs::{Bytes, python},
    read::Arrival,
};

/// What a handler was given, and the bytes of it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Seen {
    pub(crate) queue: String,
    pub(crate) body: Bytes,
    pub(crate) id: String,
    pub(crate) job: String,
    pub(crate) trace_id: String,
    pub(crate) attempts: i64,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) replay: bool,
}

impl Arrival for Seen {
    fn id(&self) -> &str {
        &self.id
    }
}

impl Seen {
    /// What a handler is to be given of a message that was saved.
    pub(crate) fn of(message: &Message) -> Self {
        let view = projection::of(message).unwrap();
        let headers = message.headers.iter();
        Self {
            queue: message.topic.to_string(),
            body: Bytes(message.payload.to_vec()),
            id: view.message_id.into(),
            job: view.job.into(),
            trace_id: view.trace_id.unwrap().into(),
            attempts: view.attempts.unwrap(),
            headers: headers
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            replay: message.headers.get("bq-replay-bypass").is_some(),
        }
    }

    /// The same without headers.
    pub(crate) fn bare(self) -> Self {
        Self {
            headers: BTreeMap::new(),
            replay: false,
            ..self
        }
    }

    /// What it is to be given when the message comes back once more after a failure.
    pub(crate) fn again(self) -> Self {
        let body = projection::redis::released(&self.body.0).unwrap();
        Self {
            body: Bytes(body.into_bytes()),
            attempts: self.attempts + 1,
            ..self
        }
    }

    /// After its last delivery it is the only dead letter: the envelope that would have come back, which says why it does not.
    pub(crate) fn assert_dead(self, dead: &[Self]) {
        let last = self.again();
        let [dead] = dead else {
            panic!("not one dead letter: {dead:?}")
        };
        let whole = last.body.0.strip_suffix(b"}").unwrap();
        let reason = dead.body.0.strip_prefix(whole).unwrap();
        assert!(
            reason.starts_with(br#","dead_letter":{"reason":"failed","#),
            "{dead:?}"
        );
        assert_eq!((&dead.id, dead.attempts), (&last.id, last.attempts));
    }
}

/// How queues are consumed.
#[derive(Debug, Default)]
pub(crate) struct Consumer {
    /// In the layout of Laravel, on Redis.
    pub(crate) laravel: bool,
    /// Ids whose handler fails as long as fewer attempts are counted.
    pub(crate) fail_below: BTreeMap<String, i64>,
}

impl Consumer {
    /// Consumes queues until there is nothing left in them.
    pub(crate) fn consume(&self, url: &str, queues: &[&str]) -> Vec<Seen> {
        let wanted = json!({
            "queues": queues,
            "jobs": JOBS,
            "laravel": self.laravel,
            "fail_below": self.fail_below,
        });
        python("babelqueue_consumer.py", &[url, &wanted.to_string()])
    }
}

/// Publishes messages to a queue as BabelQueue does by itself.
pub(crate) fn publish(url: &str, queue: &str, messages: &[Message]) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    for message in messages {
        let seen = Seen::of(message);
        let line = json!({ "body": seen.body, "headers": seen.headers });
        writeln!(file, "{line}").unwrap();
    }
    let path = file.path().to_str().unwrap();
    python::<()>("babelqueue_publisher.py", &[url, queue, path]);
}

/// A name that no other test uses, not even in another run.
pub(crate) fn fresh(name: &str) -> String {
    format!("{name}-{:016x}", rand::random::<u64>())
}
