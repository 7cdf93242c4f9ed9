//! Which topics a relay with several destinations has stopped, and what of that the store still has to be told.
//!
//! A circuit is this relay's own knowledge; a stop is what it tells all relays: leave the messages of these topics with
//! the store. The store lets one message through for each probe. A relay that cannot reach a destination that others reach
//! is told by what these vouch for, and stops nothing for a while. Nothing here waits or calls.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use outbox_message::{Delivery, Topic};
use outbox_store::DestinationStop;
use tokio::time::Instant;

use crate::RelayConfig;

/// How long a relay stops no topic that another relay serves meanwhile.
const SERVED_ELSEWHERE: Duration = Duration::from_mins(5);
/// A message that was tried so often shows that none does: it would have met one that serves its topic before.
const SERVED_NOWHERE: u32 = 20;

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
    /// The topics of which something was confirmed since they were vouched for.
    confirmed: HashSet<Topic>,
    vouch_at: Instant,
    vouch_every: Duration,
    /// Other relays serve these topics until then, although they are down here.
    elsewhere: HashMap<Topic, Instant>,
    /// A stop is told anew after this long.
    tell_every: Duration,
}

/// A destination that is down.
#[derive(Debug)]
struct Down {
    topics: BTreeSet<Topic>,
    error: String,
    /// Of these the store does not know the newest.
    to_tell: BTreeSet<Topic>,
    tell_all_at: Instant,
    /// Let through, and not seen here since.
    let_through: BTreeSet<Topic>,
    /// The topic that was probed last.
    probed: Option<Topic>,
    /// A message was asked for; if none comes until then, another is.
    asked_until: Option<Instant>,
}

impl Stops {
    /// Nothing is stopped; what other relays left behind is to be freed.
    pub(crate) fn new(now: Instant, config: &RelayConfig) -> Self {
        Self {
            down: BTreeMap::new(),
            start: BTreeSet::new(),
            free: true,
            freeing: false,
            not_before: now,
            confirmed: HashSet::new(),
            vouch_at: now + config.renewal,
            vouch_every: config.renewal,
            elsewhere: HashMap::new(),
            tell_every: config.renewal,
        }
    }

    /// Takes in that publishing to a destination failed; its topics met so far are stopped, or stay so.
    pub(crate) fn failed(
        &mut self,
        destination: &str,
        failed: &Delivery,
        error: &str,
        now: Instant,
    ) {
        let topic = &failed.message.topic;
        self.confirmed.remove(topic);
        if self.is_served_elsewhere(failed, now) {
            return;
        }
        let tell_all_at = now + self.tell_every;
        let down = self.down.entry(destination.to_owned()).or_insert(Down {
            topics: BTreeSet::new(),
            error: String::new(),
            to_tell: BTreeSet::new(),
            tell_all_at,
            let_through: BTreeSet::new(),
            probed: None,
            asked_until: None,
        });
        down.topics.insert(topic.clone());
        error.clone_into(&mut down.error);
        down.to_tell.insert(topic.clone());
        down.asked_until = None;
    }

    /// Takes in that a message of a topic was met whose destination is known to be down.
    pub(crate) fn met(&mut self, destination: &str, met: &Delivery, now: Instant) {
        if self.is_served_elsewhere(met, now) {
            return;
        }
        let topic = &met.message.topic;
        if let Some(down) = self.down.get_mut(destination) {
            down.let_through.remove(topic);
            if down.topics.insert(topic.clone()) {
                down.to_tell.insert(topic.clone());
            }
        }
    }

    fn is_served_elsewhere(&mut self, met: &Delivery, now: Instant) -> bool {
        let topic = &met.message.topic;
        let until = self.elsewhere.get(topic);
        if until.is_some_and(|until| *until > now) && met.tries < SERVED_NOWHERE {
            return true;
        }
        self.elsewhere.remove(topic);
        false
    }

    fn is_down(&self, topic: &Topic) -> bool {
        self.down.values().any(|down| down.topics.contains(topic))
    }

    /// Takes in that messages of a topic were confirmed: a stop of it by a relay that cannot reach its destination is not right.
    pub(crate) fn confirmed_of(&mut self, topic: &Topic) {
        if !self.confirmed.contains(topic) {
            self.confirmed.insert(topic.clone());
        }
    }

    /// Takes in that a destination confirms again.
    pub(crate) fn confirmed(&mut self, destination: &str) {
        if let Some(down) = self.down.remove(destination) {
            self.start.extend(down.topics);
            self.free = true;
        }
    }

    /// Takes in that the store let a message of a topic through.
    pub(crate) fn let_through(&mut self, destination: &str, topic: &Topic) {
        if let Some(down) = self.down.get_mut(destination) {
            down.let_through.insert(topic.clone());
        }
    }

    /// Takes in that a message of a topic was handed over here: if it was let through, it came to this relay.
    pub(crate) fn seen(&mut self, destination: &str, topic: &Topic) {
        if let Some(down) = self.down.get_mut(destination) {
            down.let_through.remove(topic);
        }
    }

    /// Takes in that the store had no message of a topic to let through: whatever comes next is the probe. If the last one
    /// was not seen here again, another relay took it, and it went well: it would have been set aside anew.
    pub(crate) fn nothing_to_probe(&mut self, destination: &str, topic: &Topic, now: Instant) {
        if let Some(down) = self.down.get_mut(destination)
            && down.topics.remove(topic)
        {
            down.asked_until = None;
            down.to_tell.remove(topic);
            if down.let_through.remove(topic) {
                self.elsewhere.insert(topic.clone(), now + SERVED_ELSEWHERE);
            }
            self.start.insert(topic.clone());
            self.free = true;
        }
    }

    /// Says goodbye: whoever serves these topics next finds out for itself. Freeing is left to it.
    pub(crate) fn withdraw(&mut self) {
        for (_, down) in std::mem::take(&mut self.down) {
            self.start.extend(down.topics);
        }
        self.confirmed.clear();
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
                let still = topics.into_iter().filter(|it| !self.is_down(it));
                let still: Vec<_> = still.collect();
                self.start.extend(still);
            }
            Step::Stop(told) => {
                if let Some(down) = self.down.get_mut(&told.destination) {
                    let still = told.topics.into_iter();
                    let still = still.filter(|topic| down.topics.contains(topic));
                    down.to_tell.extend(still.collect::<Vec<_>>());
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
        let to_tell = |down: &Down| !down.to_tell.is_empty();
        let now = !self.start.is_empty() || self.free || self.down.values().any(to_tell);
        let at = if now {
            Some(self.not_before)
        } else {
            let down = self.down.iter().filter(|(_, down)| !down.topics.is_empty());
            let probes = down
                .clone()
                .filter_map(|(name, down)| Some((next_probe(name)?, down.asked_until)))
                .map(|(at, asked)| asked.map_or(at, |asked| at.max(asked)));
            let again = down.map(|(_, down)| down.tell_all_at);
            let vouch = (!self.confirmed.is_empty()).then_some(self.vouch_at);
            probes.chain(again).chain(vouch).min()
        };
        at.map(|at| at.max(self.not_before))
    }

    /// The next step, if it is time for one. A stop that `relay` tells holds for `lease`.
    pub(crate) fn next(
        &mut self,
        now: Instant,
        delay: Duration,
        next_probe: impl Fn(&str) -> Option<Instant>,
        lease: Duration,
        relay: &Arc<str>,
    ) -> Option<Step> {
        if self.at(&next_probe).is_none_or(|at| at > now) {
            return None;
        }
        if self.vouch_at <= now {
            self.vouch_at = now + self.vouch_every;
            let confirmed = std::mem::take(&mut self.confirmed);
            let reached = confirmed.into_iter().filter(|it| !self.is_down(it));
            let reached: Vec<_> = reached.collect();
            self.start.extend(reached);
        }
        if !self.start.is_empty() {
            let topics = std::mem::take(&mut self.start);
            return Some(Step::Start(topics.into_iter().collect()));
        }
        let to_tell = |down: &Down| !down.to_tell.is_empty() || down.is_to_tell_all(now);
        if let Some((destination, down)) = self.down.iter_mut().find(|(_, down)| to_tell(down)) {
            return Some(Step::Stop(DestinationStop {
                topics: down.tell(now, self.tell_every),
                destination: destination.clone(),
                relay: Arc::clone(relay),
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
    fn is_to_tell_all(&self, now: Instant) -> bool {
        self.tell_all_at <= now && !self.topics.is_empty()
    }

    /// The topics to tell of now: those of which there is news, and all from time to time.
    fn tell(&mut self, now: Instant, every: Duration) -> Vec<Topic> {
        let news = std::mem::take(&mut self.to_tell);
        if self.is_to_tell_all(now) {
            self.tell_all_at = now + every;
            return self.topics.iter().cloned().collect();
        }
        news.into_iter().collect()
    }

    /// The topic after the one that was probed last.
    fn in_turn(&mut self) -> Option<Topic> {
        let later = |topic: &&Topic| self.probed.as_ref().is_none_or(|last| *topic > last);
        let next = self.topics.iter().find(later).or(self.topics.first())?;
        self.probed = Some(next.clone());
        self.probed.clone()
    }
}

#[cfg(test)]
mod tests;
