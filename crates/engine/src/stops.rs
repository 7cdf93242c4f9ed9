//! Which topics a relay with several destinations has stopped, and what of that the store still has to be told.
//!
//! A circuit is this relay's own knowledge; a stop is what it tells all relays: leave the messages of these topics with
//! the store. The store lets one message through for each probe. Nothing here waits or calls.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use outbox_message::Topic;
use outbox_store::DestinationStop;
use tokio::time::Instant;

/// What the store is to be told or asked next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// These topics may go again.
    Start(Vec<Topic>),
    /// A destination is down, or still is.
    Stop(DestinationStop),
    /// Let a message of this topic through, to probe this destination.
    Probe(String, Topic),
    /// Free what stops that are over have set aside.
    Free,
}

/// The stops of one relay.
#[derive(Debug)]
pub(crate) struct Stops {
    down: BTreeMap<String, Down>,
    start: BTreeSet<Topic>,
    free: bool,
    /// A step of freeing is under way.
    freeing: bool,
    /// The last step failed: the next is not before this.
    not_before: Instant,
}

/// A destination that is down.
#[derive(Debug, Default)]
struct Down {
    topics: BTreeSet<Topic>,
    error: String,
    /// The store does not know the newest of it.
    to_tell: bool,
    /// The topic that was probed last.
    probed: Option<Topic>,
    /// A message was asked for; if none comes until then, another is.
    asked_until: Option<Instant>,
}

impl Stops {
    /// Nothing is stopped; what other relays left behind is to be freed.
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            down: BTreeMap::new(),
            start: BTreeSet::new(),
            free: true,
            freeing: false,
            not_before: now,
        }
    }

    /// Takes in that publishing to a destination failed; its topics met so far are stopped, or stay so.
    pub(crate) fn failed(&mut self, destination: &str, topic: &Topic, error: &str) {
        let down = self.down.entry(destination.to_owned()).or_default();
        down.topics.insert(topic.clone());
        error.clone_into(&mut down.error);
        down.to_tell = true;
        down.asked_until = None;
    }

    /// Takes in that a message of a topic was met whose destination is known to be down.
    pub(crate) fn met(&mut self, destination: &str, topic: &Topic) {
        if let Some(down) = self.down.get_mut(destination) {
            down.to_tell |= down.topics.insert(topic.clone());
        }
    }

    /// Takes in that a destination confirms again.
    pub(crate) fn confirmed(&mut self, destination: &str) {
        if let Some(down) = self.down.remove(destination) {
            self.start.extend(down.topics);
            self.free = true;
        }
    }

    /// Takes in that the store had no message of a topic to let through: whatever comes next is the probe.
    pub(crate) fn nothing_to_probe(&mut self, destination: &str, topic: &Topic) {
        if let Some(down) = self.down.get_mut(destination)
            && down.topics.remove(topic)
        {
            down.asked_until = None;
            self.start.insert(topic.clone());
            self.free = true;
        }
    }

    /// Says goodbye: whoever serves these topics next finds out for itself. Freeing is left to it.
    pub(crate) fn withdraw(&mut self) {
        for (_, down) in std::mem::take(&mut self.down) {
            self.start.extend(down.topics);
        }
        self.free = false;
    }

    /// It is time to free what other relays left behind, or there is more to free.
    pub(crate) fn free_more(&mut self) {
        self.free = true;
    }

    /// Whether freeing is to be done or under way.
    pub(crate) fn is_freeing(&self) -> bool {
        self.free || self.freeing
    }

    /// Takes in that a step of freeing ended.
    pub(crate) fn freed(&mut self) {
        self.freeing = false;
    }

    /// Takes in that the store did not answer a step, which is to be done again later.
    pub(crate) fn again(&mut self, step: Step, not_before: Instant) {
        self.not_before = not_before;
        match step {
            // Never over what was learned since: the destination may be down again.
            Step::Start(topics) => {
                let stopped: BTreeSet<&Topic> =
                    self.down.values().flat_map(|down| &down.topics).collect();
                let still = topics.into_iter().filter(|topic| !stopped.contains(topic));
                self.start.extend(still.collect::<Vec<_>>());
            }
            Step::Stop(told) => {
                if let Some(down) = self.down.get_mut(&told.destination) {
                    down.to_tell = true;
                }
            }
            Step::Probe(..) => {}
            Step::Free => {
                self.freeing = false;
                self.free = true;
            }
        }
    }

    /// When there is something to tell or to ask; `next_probe` says when a destination may be probed.
    pub(crate) fn at(&self, next_probe: impl Fn(&str) -> Option<Instant>) -> Option<Instant> {
        let now = !self.start.is_empty() || self.free || self.down.values().any(|it| it.to_tell);
        let at = if now {
            Some(self.not_before)
        } else {
            let probes = self.down.iter().filter(|(_, down)| !down.topics.is_empty());
            let probes = probes
                .filter_map(|(name, down)| Some((next_probe(name)?, down.asked_until)))
                .map(|(at, asked)| asked.map_or(at, |asked| at.max(asked)));
            probes.min()
        };
        at.map(|at| at.max(self.not_before))
    }

    /// The next step, if it is time for one. `about` is what a stop says beside its topics.
    pub(crate) fn next(
        &mut self,
        now: Instant,
        delay: Duration,
        next_probe: impl Fn(&str) -> Option<Instant>,
        about: impl Fn(&str) -> (Arc<str>, Duration),
    ) -> Option<Step> {
        if self.at(&next_probe).is_none_or(|at| at > now) {
            return None;
        }
        if !self.start.is_empty() {
            let topics = std::mem::take(&mut self.start);
            return Some(Step::Start(topics.into_iter().collect()));
        }
        if let Some((destination, down)) = self.down.iter_mut().find(|(_, down)| down.to_tell) {
            down.to_tell = false;
            let (relay, lease) = about(destination);
            return Some(Step::Stop(DestinationStop {
                topics: down.topics.iter().cloned().collect(),
                destination: destination.clone(),
                relay,
                lease,
                error: down.error.clone(),
            }));
        }
        if std::mem::take(&mut self.free) {
            self.freeing = true;
            return Some(Step::Free);
        }
        let due = |name: &str, down: &Down| {
            let free = down.asked_until.is_none_or(|asked| asked <= now);
            free && next_probe(name).is_some_and(|at| at <= now)
        };
        let (destination, down) = self.down.iter_mut().find(|(name, down)| due(name, down))?;
        let topic = down.in_turn()?;
        down.asked_until = Some(now + delay);
        Some(Step::Probe(destination.clone(), topic))
    }
}

impl Down {
    /// The topic after the one that was probed last.
    fn in_turn(&mut self) -> Option<Topic> {
        let later = |topic: &&Topic| self.probed.as_ref().is_none_or(|last| *topic > last);
        let next = self.topics.iter().find(later).or(self.topics.first())?;
        self.probed = Some(next.clone());
        self.probed.clone()
    }
}
