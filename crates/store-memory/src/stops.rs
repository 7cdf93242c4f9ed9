//! The topics that are stopped, by an operator or because their destination is down. How a claim minds them is in `claim/lane.rs`; here they
//! begin and end, one message is let through, and what was set aside is freed.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use outbox_message::{Lane, OrderingKey, Position, Topic};
use outbox_store::{DestinationStop, StopCause, StoppedTopic};

use crate::{
    blocks::{Block, NEVER, Reason},
    clock::{millis, until},
    state::{Row, State},
};

/// The due time of a message without a key that a stop set aside. No schedule reaches it.
pub(crate) const SET_ASIDE: i64 = i64::MAX;

/// The end of a stop that somebody ended, before any clock.
const ENDED: i64 = i64::MIN;

/// How many rows one step frees at most.
const FREED_PER_STEP: usize = 1_000;

/// Why and until when a topic is stopped. One that is over is kept until all that it set aside is freed.
#[derive(Debug)]
struct Stop {
    cause: StopCause,
    stopped_at: i64,
    /// [`NEVER`] when only an operator ends it.
    until: i64,
    destination: Option<String>,
    relay: Option<Arc<str>>,
    error: Option<String>,
    /// The message that is let through.
    probe: Option<Position>,
    /// The lane of the last message that was.
    probe_lane: Option<Lane>,
}

impl Stop {
    fn is_running(&self, now: i64) -> bool {
        self.until > now
    }
}

#[derive(Debug, Default)]
pub(crate) struct Stops {
    by_topic: BTreeMap<Topic, Stop>,
}

impl Stops {
    fn running(&self, topic: &Topic, now: i64) -> Option<&Stop> {
        let stop = self.by_topic.get(topic)?;
        stop.is_running(now).then_some(stop)
    }

    /// Why a topic is stopped, if it is.
    pub(crate) fn cause(&self, topic: &Topic, now: i64) -> Option<StopCause> {
        self.running(topic, now).map(|stop| stop.cause)
    }

    /// Whether the message at this position of this topic must stay.
    pub(crate) fn keeps(&self, topic: &Topic, position: Position, now: i64) -> bool {
        let stop = self.running(topic, now);
        stop.is_some_and(|stop| stop.probe != Some(position))
    }

    /// Pauses a topic, whatever it was before. What relays say of its destination has no meaning then.
    pub(crate) fn pause(&mut self, topic: &Topic, time: Option<Duration>, now: i64) {
        let running = self.running(topic, now);
        let stop = Stop {
            cause: StopCause::Paused,
            stopped_at: running.map_or(now, |stop| stop.stopped_at),
            until: time.map_or(NEVER, |time| now.saturating_add(millis(time))),
            destination: None,
            relay: None,
            error: None,
            probe: None,
            probe_lane: None,
        };
        self.by_topic.insert(topic.clone(), stop);
    }

    /// Stops topics because of their destination, but for those that an operator paused.
    pub(crate) fn stop(&mut self, stop: &DestinationStop, now: i64) {
        for topic in &stop.topics {
            let running = self.running(topic, now);
            if running.is_some_and(|old| old.cause == StopCause::Paused) {
                continue;
            }
            let until = now.saturating_add(millis(stop.lease));
            let new = Stop {
                cause: StopCause::Destination,
                stopped_at: running.map_or(now, |old| old.stopped_at),
                until: running.map_or(until, |old| old.until.max(until)),
                destination: Some(stop.destination.clone()),
                relay: Some(Arc::clone(&stop.relay)),
                error: Some(stop.error.clone()),
                probe: None,
                probe_lane: running.and_then(|old| old.probe_lane),
            };
            self.by_topic.insert(topic.clone(), new);
        }
    }

    /// Ends the stop of a topic for its destination.
    pub(crate) fn start(&mut self, topic: &Topic, now: i64) {
        if self.cause(topic, now) == Some(StopCause::Destination) {
            self.end(topic, now);
        }
    }

    /// Ends the stop of a topic. `false` if it is not stopped.
    pub(crate) fn end(&mut self, topic: &Topic, now: i64) -> bool {
        let stop = self.by_topic.get_mut(topic);
        let Some(stop) = stop.filter(|stop| stop.is_running(now)) else {
            return false;
        };
        stop.until = ENDED;
        true
    }

    pub(crate) fn shown(&self, now: i64) -> Vec<StoppedTopic> {
        let shown = self.by_topic.iter().map(|(topic, stop)| StoppedTopic {
            topic: topic.to_string(),
            cause: stop.cause,
            stopped_for: until(now, stop.stopped_at),
            until: (stop.until != NEVER).then(|| until(stop.until, now)),
            destination: stop.destination.clone(),
            relay: stop.relay.as_ref().map(ToString::to_string),
            error: stop.error.clone(),
        });
        shown.collect()
    }
}

/// A message that goes first when it is freed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Head {
    tries: u32,
    position: Position,
}

impl Head {
    fn of((position, row): (&Position, &Row)) -> Self {
        Self {
            tries: row.tries,
            position: *position,
        }
    }
}

/// What a stop set aside, to be let through or freed: a key, by its head, or a message without one.
enum Aside {
    Key(OrderingKey, Block, Option<Head>),
    Unkeyed(Lane, Head),
}

impl Aside {
    fn lane(&self) -> Lane {
        match self {
            Self::Key(_, block, _) => block.lane,
            Self::Unkeyed(lane, _) => *lane,
        }
    }

    /// A key may have lost all of its messages meanwhile.
    fn head(&self) -> Option<Head> {
        match self {
            Self::Key(_, _, head) => *head,
            Self::Unkeyed(_, head) => Some(*head),
        }
    }
}

impl State {
    /// Lets one message of a topic through whose destination is down: of the next lane that has one, that which was
    /// tried least, so that a message that fails alone is not tried for ever.
    pub(crate) fn probe_topic(&mut self, topic: &Topic, now: i64) -> bool {
        let Some(stop) = self.stops.running(topic, now) else {
            return false;
        };
        if stop.cause != StopCause::Destination {
            return false;
        }
        let after = stop.probe_lane;
        let turn = |aside: &Aside| (Some(aside.lane()) <= after, aside.lane(), aside.head());
        let aside = self.set_aside_of(topic);
        let first = aside
            .filter(|aside| aside.head().is_some())
            .min_by_key(turn);
        let Some(first) = first else {
            return false;
        };
        if let Some(stop) = self.stops.by_topic.get_mut(topic) {
            stop.probe = first.head().map(|head| head.position);
            stop.probe_lane = Some(first.lane());
        }
        self.make_due(&first, now);
        true
    }

    /// One step of freeing what stops that are over set aside. Returns how many keys and messages it freed, and how many stops it forgot.
    pub(crate) fn free_topics(&mut self, now: i64) -> usize {
        let stops = self.stops.by_topic.iter();
        let over: Vec<Topic> = stops
            .filter(|(_, stop)| !stop.is_running(now))
            .map(|(topic, _)| topic.clone())
            .collect();
        let mut done = 0;
        for topic in over {
            let left = FREED_PER_STEP - done;
            let aside: Vec<Aside> = self.set_aside_of(&topic).take(left).collect();
            for aside in &aside {
                self.make_due(aside, now);
            }
            done += aside.len();
            if done == FREED_PER_STEP {
                break;
            }
            self.stops.by_topic.remove(&topic);
            done += 1;
            if done == FREED_PER_STEP {
                break;
            }
        }
        done
    }

    fn set_aside_of(&self, topic: &Topic) -> impl Iterator<Item = Aside> {
        let keys = self.blocks.iter();
        let keys = keys.filter(|(key, block)| key.topic == *topic && block.reason == Reason::Topic);
        let keys = keys.map(|(key, block)| {
            let head = self.waiting.get(key).and_then(|rows| rows.iter().next());
            Aside::Key(key.clone(), *block, head.map(Head::of))
        });
        let unkeyed = self.scheduled.iter();
        let unkeyed =
            unkeyed.filter(|((_, due, _), row)| *due == SET_ASIDE && row.message.topic == *topic);
        keys.chain(unkeyed.map(|((lane, _, at), row)| Aside::Unkeyed(*lane, Head::of((at, row)))))
    }

    fn make_due(&mut self, aside: &Aside, now: i64) {
        match aside {
            Aside::Key(key, block, _) => {
                let block = Block {
                    reason: Reason::Retry,
                    until: now,
                    ..*block
                };
                self.blocks.set(key.clone(), block);
            }
            Aside::Unkeyed(lane, Head { position, .. }) => {
                if let Some(row) = self.scheduled.remove(&(*lane, SET_ASIDE, *position)) {
                    self.scheduled.insert((*lane, now, *position), row);
                }
            }
        }
    }
}
