//! A small right world for property tests: a store, two relays with real lanes, a broker that may
//! receive without confirming, operators, crashes, topics that are stopped, and time. The model judges its claims, and it
//! records its history.

mod action;
mod relay;

use std::collections::BTreeMap;

use crate::history::{self, Line, What};
use crate::lane::{Entry, Lane, Verdict};
use crate::model::{Cause, Given, Handed, LeaseId, Message, Model, Report, Request, Tx};
use crate::state::State;

pub(crate) use action::{Action, actions};
use relay::Claimed;

pub(crate) type Key = u8;
pub(crate) type Id = u32;
pub(crate) type Event = history::Event<Key, Id, LeaseId>;

const LANES: u32 = 2;
pub(crate) const TOPICS: u32 = 2;
const LEASE: u64 = 100;

pub(crate) struct World {
    pub(crate) model: Model<Key, Id>,
    pub(crate) events: Vec<Event>,
    /// Called with the model, the request and the right report of each claim, before it is taken.
    probe: fn(&Model<Key, Id>, &Request, &Report<Id>),
    open: Vec<(Tx, Vec<Id>)>,
    relays: [Vec<Claimed>; 2],
    /// The store's own lane table: who holds it, until when.
    lanes: BTreeMap<u32, (LeaseId, u64)>,
    /// The position of each message as the store knows it.
    positions: BTreeMap<Id, i64>,
    /// Of each topic the position of the message that is let through: redriven to another, it is not any more.
    let_through: BTreeMap<u32, i64>,
    last_id: Id,
    last_position: i64,
}

impl World {
    pub(crate) fn new(probe: fn(&Model<Key, Id>, &Request, &Report<Id>)) -> Self {
        Self {
            model: Model::new(|key| u32::from(*key) % LANES, 0),
            events: Vec::new(),
            probe,
            open: Vec::new(),
            relays: [Vec::new(), Vec::new()],
            lanes: BTreeMap::new(),
            positions: BTreeMap::new(),
            let_through: BTreeMap::new(),
            last_id: 0,
            last_position: 0,
        }
    }

    /// The history of a world in which these actions happened.
    pub(crate) fn history(actions: Vec<Action>) -> Vec<Event> {
        let mut world = Self::new(|_, _, _| {});
        for action in actions {
            world.take(action);
        }
        world.events
    }

    fn record(&mut self, what: What<Key, Id, LeaseId>) {
        let now = i64::try_from(self.model.now()).expect("tests are short");
        self.events.push(Event::at(now, what));
    }

    pub(crate) fn take(&mut self, action: Action) {
        self.model.advance(1);
        match action {
            Action::Save { key, due_in } => self.save(key, due_in),
            Action::Close { pick, commit } => self.close(pick, commit),
            Action::Claim {
                relay,
                first,
                max_lanes,
                limit,
            } => {
                self.claim(relay, first, max_lanes, limit);
            }
            Action::Pause { topic, time } => {
                self.model.pause(topic, time);
                self.let_through.remove(&topic);
            }
            Action::Down { topic, lease } => {
                self.model.stop(topic, lease);
                self.let_through.remove(&topic);
            }
            Action::LetThrough { topic } => self.let_through(topic),
            Action::Resume { topic } => {
                self.model.resume(topic);
            }
            Action::Free => self.model.freed(),
            Action::Advance { by } => self.model.advance(by),
            Action::Redrive { pick } => self.redrive(pick),
            Action::Discard { pick } => self.discard(pick),
            Action::Stop { relay } => {
                for claimed in &mut self.relays[relay] {
                    let outcomes = claimed.machine.release();
                    claimed.decide(outcomes, Verdict::Release, 0);
                }
            }
            Action::Crash { relay } => self.relays[relay].clear(),
            Action::Start { relay, pick, .. }
            | Action::Complete { relay, pick, .. }
            | Action::Settle { relay, pick }
            | Action::Renew { relay, pick } => {
                if let Some(at) = pick.checked_rem(self.relays[relay].len()) {
                    let claimed = self.relays[relay].swap_remove(at);
                    let kept = self.work(claimed, action);
                    self.relays[relay].extend(kept);
                }
            }
        }
    }

    fn save(&mut self, key: Option<Key>, due_in: Option<u64>) {
        self.last_id += 1;
        self.last_position += 1;
        let (message, position) = (self.last_id, self.last_position);
        if self.open.len() < 3 {
            self.open.push((self.model.begin(), Vec::new()));
        }
        let at = usize::try_from(message).expect("tests are short") % self.open.len();
        let due = due_in.map(|after| self.model.now() + after);
        let topic = key.map_or(message / 2, |key| u32::from(key) / 2) % TOPICS;
        self.model
            .save_in(self.open[at].0, topic, position, message, key, due);
        self.open[at].1.push(message);
        self.positions.insert(message, position);
        let line = if due.is_some() {
            Line::Later
        } else {
            Line::AtOnce
        };
        self.record(What::Saved {
            message,
            key,
            position,
            line,
        });
    }

    fn close(&mut self, pick: usize, commit: bool) {
        let Some(at) = pick.checked_rem(self.open.len()) else {
            return;
        };
        let (tx, messages) = self.open.swap_remove(at);
        if commit {
            self.model.commit(tx);
            for message in messages {
                self.record(What::Committed { message });
            }
        } else {
            self.model.rollback(tx);
        }
    }

    fn claim(&mut self, relay: usize, first: u32, max_lanes: usize, limit: usize) {
        let now = self.model.now();
        let mut report = Report {
            lanes: Vec::new(),
            moved: 0,
        };
        let mut left = limit;
        for lane in [first, (first + 1) % LANES] {
            let held = self.lanes.get(&lane).is_some_and(|(_, until)| *until > now);
            let given = self.due(lane, left);
            if !held && !given.is_empty() && report.lanes.len() < max_lanes {
                left -= given.len();
                report.lanes.push(Handed { lane, given });
            }
        }
        let request = Request {
            limit,
            max_lanes,
            lease: LEASE,
            lanes: None,
        };
        (self.probe)(&self.model, &request, &report);
        let joined: Vec<Id> = report
            .lanes
            .iter()
            .flat_map(|handed| self.scheduled(handed))
            .collect();
        let leases = self
            .model
            .claimed(&request, &report)
            .expect("the claim is right");
        for message in joined {
            self.record(What::Joined { message });
        }
        for (Handed { lane, given }, lease) in report.lanes.into_iter().zip(leases) {
            let until = now + LEASE;
            self.lanes.insert(lane, (lease, until));
            let ids: BTreeMap<i64, Id> = given.iter().map(|one| (one.position, one.id)).collect();
            let entries = ids.keys().map(|position| {
                let message = self.model.message(*position).expect("it was just claimed");
                Entry::message(*position, message.key)
            });
            let machine = Lane::admit(entries);
            let messages = ids.iter().map(|(position, id)| (*position, *id)).collect();
            let lease_end = i64::try_from(until).expect("tests are short");
            self.record(What::Claimed {
                token: lease,
                lease_end,
                messages,
            });
            let (runs, unsettled) = (Vec::new(), Vec::new());
            let claimed = Claimed {
                lease,
                lane,
                until,
                machine,
                ids,
                runs,
                unsettled,
            };
            self.relays[relay].push(claimed);
        }
    }

    /// What the store hands out of a lane that nobody holds.
    fn due(&self, lane: u32, limit: usize) -> Vec<Given<Id>> {
        let due = self.due_whatever_its_topic(lane);
        let goes = |(at, message): &(usize, &Message<Key, Id>)| {
            let heads = || {
                let mut before = due[..*at].iter();
                message.key.is_none() || before.all(|other| other.key != message.key)
            };
            self.model.stopped(message.topic).is_none()
                || (self.let_through.get(&message.topic) == self.positions.get(&message.id)
                    && heads())
        };
        let given = due.iter().copied().enumerate().filter(goes);
        let given = given.map(|(_, message)| Given {
            position: self.positions[&message.id],
            id: message.id,
            attempts: message.attempts,
            tries: message.tries,
        });
        given.take(limit).collect()
    }

    fn due_whatever_its_topic(&self, lane: u32) -> Vec<&Message<Key, Id>> {
        let now = self.model.now();
        let unkeyed = self.model.messages().filter(|message| {
            let here = message.key.is_none() && message.id % LANES == lane;
            here && message.state.is_pending() && message.due <= now
        });
        let mut due: Vec<_> = unkeyed.chain(self.model.runnable(lane)).collect();
        due.sort_by_key(|message| self.positions[&message.id]);
        due
    }

    /// Lets the first message of a topic through that is due, if its destination is down.
    fn let_through(&mut self, topic: u32) {
        let down = matches!(self.model.stopped(topic), Some((Cause::Destination, _)));
        let lanes = (0..LANES).flat_map(|lane| self.due_whatever_its_topic(lane));
        let first = lanes
            .into_iter()
            .find(|message| message.topic == topic && message.state != State::Held);
        let first = first
            .map(|message| self.positions[&message.id])
            .filter(|_| down);
        self.model
            .probe(topic, first.is_some())
            .expect("a relay stopped the topic");
        if let Some(first) = first {
            self.let_through.insert(topic, first);
        }
    }

    fn scheduled(&self, handed: &Handed<Id>) -> Vec<Id> {
        let ids = handed.given.iter().filter(|one| {
            let message = self.model.message(one.position);
            message.is_some_and(|message| message.state == State::Scheduled)
        });
        ids.map(|one| one.id).collect()
    }

    fn redrive(&mut self, pick: usize) {
        let dead = self
            .model
            .messages()
            .filter(|message| message.state == State::Dead);
        let dead: Vec<_> = dead
            .filter_map(|message| Some((message.id, message.position?)))
            .collect();
        let Some(at) = pick.checked_rem(dead.len()) else {
            return;
        };
        let (message, position) = dead[at];
        self.model.redrive(position).expect("it is dead");
        if self.model.message(position).is_none() {
            self.last_position += 1;
            self.positions.insert(message, self.last_position);
        }
        self.record(What::Redriven {
            message,
            position: self.positions[&message],
        });
    }

    fn discard(&mut self, pick: usize) {
        let here = self.model.messages().filter(|message| {
            message.state == State::Dead || message.state.is_pending() && message.id % 3 == 0
        });
        let here: Vec<_> = here
            .filter_map(|message| Some((message.id, message.position?)))
            .collect();
        let Some(at) = pick.checked_rem(here.len()) else {
            return;
        };
        let (message, position) = here[at];
        self.model.discard(position).expect("it is there");
        self.record(What::Discarded { message });
    }
}
