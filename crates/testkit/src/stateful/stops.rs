//! What operators and relays do to topics as a whole: pauses, outages, the one message that is let through, and freeing.

use std::time::Duration;

use outbox_message::Topic;
use outbox_ordering::model::Cause;
use outbox_store::{OutboxOperator, OutboxStore, StopCause};

use super::world::{STEP_MS, World, count, judged};
use crate::{
    Harness,
    scene::{
        TOPIC,
        stops::{OTHER, down, topic},
    },
};

/// The topics of a history, as their model counts them.
pub(super) const TOPICS: [&str; 2] = [TOPIC, OTHER];

/// What happens to a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// An operator pauses it, for so many steps and a half or until it is resumed.
    Pause { steps: Option<u64> },
    /// A relay says that its destination is down, for so many steps and a half.
    Down { steps: u64 },
    /// A relay asks for one message of it.
    Probe,
    /// A relay says that its destination is up again.
    Start,
    /// An operator resumes it.
    Resume,
    /// What stops that are over set aside is freed, of all topics.
    Free,
}

pub(super) fn number(message_topic: &Topic) -> u32 {
    u32::from(message_topic.as_str() != TOPIC)
}

fn half(steps: u64) -> u64 {
    steps * STEP_MS + STEP_MS / 2
}

impl<H: Harness> World<H> {
    pub(super) async fn stop(&mut self, nth: usize, stop: Stop) {
        let topic = topic(TOPICS[nth]);
        let number = number(&topic);
        let store = self.scene.store();
        match stop {
            Stop::Pause { steps } => {
                let time = steps.map(half);
                let paused = store.pause(&topic, time.map(Duration::from_millis)).await;
                paused.expect("the store pauses");
                self.model.pause(number, time);
            }
            Stop::Down { steps } => {
                let said = outbox_store::DestinationStop {
                    topics: vec![topic],
                    ..down("relay", Duration::from_millis(half(steps)), "refused")
                };
                self.scene.stop_as(&said).await;
                self.model.stop(number, half(steps));
            }
            Stop::Probe => {
                let found = store.probe_topic(&topic).await;
                judged(self.model.probe(number, found.expect("the store looks")));
            }
            Stop::Start => {
                let started = store.start_topics(&[topic]).await;
                started.expect("the store starts topics");
                self.model.start(number);
            }
            Stop::Resume => {
                let resumed = store.resume(&topic).await;
                let expected = self.model.resume(number);
                assert_eq!(resumed.expect("the store resumes"), expected);
            }
            Stop::Free => self.free().await,
        }
        self.compare_stops().await;
    }

    /// Ends all stops, and frees what they set aside.
    pub(super) async fn end_stops(&mut self) {
        for nth in 0..TOPICS.len() {
            self.stop(nth, Stop::Resume).await;
        }
        self.free().await;
    }

    async fn free(&mut self) {
        self.scene.free().await;
        self.model.freed();
    }

    /// Compares which topics are stopped, and how many messages are paused.
    async fn compare_stops(&self) {
        let status = self.scene.status().await;
        let stopped = status.stopped.iter();
        let running = stopped.filter(|stopped| stopped.until != Some(Duration::ZERO));
        let running: Vec<_> = running.map(|s| (s.topic.as_str(), s.cause)).collect();
        let mut expected = Vec::new();
        let mut paused = 0;
        for name in TOPICS {
            let number = number(&topic(name));
            let Some((cause, _)) = self.model.stopped(number) else {
                continue;
            };
            if cause == Cause::Paused {
                paused += count(
                    self.model
                        .messages()
                        .filter(|m| m.topic == number && m.state.is_pending()),
                );
            }
            expected.push((
                name,
                match cause {
                    Cause::Paused => StopCause::Paused,
                    Cause::Destination => StopCause::Destination,
                },
            ));
        }
        expected.sort_unstable_by_key(|(name, _)| *name);
        assert_eq!(running, expected, "stopped topics");
        assert_eq!(status.paused, paused, "paused messages");
        let free = self.model.messages();
        let free = free.filter(|m| m.state.is_pending() && self.model.stopped(m.topic).is_none());
        assert!(status.ready <= count(free), "what is stopped is not ready");
    }
}
