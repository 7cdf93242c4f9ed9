//! What cases of stopped topics say: topics beside each other, pauses and stops, and what they set aside.

use std::time::Duration;

use outbox_message::{Key, Message, OrderingKey, PartitionKey, Topic};
use outbox_store::{DestinationStop, OutboxOperator, OutboxStore, StoppedTopic};

use super::{Scene, TOPIC, rounds, secs};
use crate::Harness;

/// A topic beside [`TOPIC`], which a case stops.
pub(crate) const OTHER: &str = "mail";

/// How long a stop of a destination holds unless a case says otherwise.
pub(crate) const STOP: Duration = secs(60);

/// A topic.
pub(crate) fn topic(name: &str) -> Topic {
    Topic::new(name).expect("a case's topic keeps the limits")
}

/// A message of [`OTHER`].
pub(crate) fn other<'k>(key: impl Into<Key<'k>>, payload: &str) -> Message {
    Message::new(OTHER, payload.to_owned())
        .and_then(|message| message.with_key(key))
        .expect("a case's topic and key keep the limits")
}

/// What a relay says when the destination of [`TOPIC`] is down.
pub(crate) fn down(relay: &str, lease: Duration, error: &str) -> DestinationStop {
    DestinationStop {
        topics: vec![topic(TOPIC)],
        destination: "broker".to_owned(),
        relay: relay.into(),
        lease,
        error: error.to_owned(),
    }
}

impl<H: Harness> Scene<H> {
    /// A key of [`OTHER`] whose messages share the lane of a key of [`TOPIC`].
    pub(crate) fn other_key_beside(&self, key: &str) -> String {
        let key = self.other_keys_beside(key).next();
        key.expect("every lane has keys").key.to_string()
    }

    /// All of them, without end.
    pub(crate) fn other_keys_beside(&self, key: &str) -> impl Iterator<Item = OrderingKey> {
        let (lane, lanes) = (self.lane(key), self.store().lanes());
        (0_u64..)
            .map(|n| OrderingKey {
                topic: topic(OTHER),
                key: PartitionKey::new(format!("o{n}")).expect("it is short"),
            })
            .filter(move |key| key.lane(lanes) == lane)
    }

    /// Pauses [`TOPIC`], for a time or until it is resumed.
    pub(crate) async fn pause(&self, time: Option<Duration>) {
        let paused = self.store().pause(&topic(TOPIC), time).await;
        paused.expect("the store pauses");
    }

    /// Resumes [`TOPIC`].
    pub(crate) async fn resume(&self) -> bool {
        let resumed = self.store().resume(&topic(TOPIC)).await;
        resumed.expect("the store resumes")
    }

    /// Says that the destination of [`TOPIC`] is down.
    pub(crate) async fn stop(&self) {
        self.stop_as(&down("one", STOP, "refused")).await;
    }

    pub(crate) async fn stop_as(&self, stop: &DestinationStop) {
        let stopped = self.store().stop_topics(stop).await;
        stopped.expect("the store stops topics");
    }

    /// Lets one message of [`TOPIC`] through.
    pub(crate) async fn probe(&self) -> bool {
        let let_through = self.store().probe_topic(&topic(TOPIC)).await;
        let_through.expect("the store looks for a message")
    }

    /// Says that the destination of [`TOPIC`] is up again.
    pub(crate) async fn start_topic(&self) {
        let started = self.store().start_topics(&[topic(TOPIC)]).await;
        started.expect("the store starts topics");
    }

    /// Frees what was set aside until nothing is left, and says how much it was.
    pub(crate) async fn free(&self) -> usize {
        let mut freed = 0;
        for () in rounds() {
            let step = self.store().free_topics().await;
            let step = step.expect("the store frees what it set aside");
            if step == 0 {
                break;
            }
            freed += step;
        }
        freed
    }

    /// Ends a pause, and hands out all there is.
    pub(crate) async fn resume_and_drain(&self) -> Vec<String> {
        assert!(self.resume().await, "the topic is stopped");
        self.free().await;
        self.drain().await
    }

    /// Ends the stop of a destination, and hands out all there is.
    pub(crate) async fn start_and_drain(&self) -> Vec<String> {
        self.start_topic().await;
        self.free().await;
        self.drain().await
    }

    /// Claims until nothing is left to set aside, and says how much was moved. Nothing is handed out meanwhile, and nothing is met again.
    pub(crate) async fn set_aside(&self) -> usize {
        let mut moved = 0;
        for () in rounds() {
            let taken = self.claim().await;
            assert!(
                taken.is_empty(),
                "S14: {:?} is handed out",
                taken.payloads()
            );
            if taken.moved() == 0 {
                break;
            }
            moved += taken.moved();
        }
        moved
    }

    /// The only topic that is stopped.
    pub(crate) async fn stopped(&self) -> StoppedTopic {
        let mut stopped = self.status().await.stopped;
        assert_eq!(stopped.len(), 1, "one topic is stopped");
        stopped.remove(0)
    }
}

/// The payloads that begin with this word, in order.
pub(crate) fn of(out: &[String], word: &str) -> Vec<String> {
    let of = out.iter().filter(|payload| payload.starts_with(word));
    of.cloned().collect()
}
