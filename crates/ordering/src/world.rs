//! A small right world for property tests: a store, two relays with real lanes, a broker that may
//! receive without confirming, operators, crashes and time. The model judges its claims, and it
//! records its history.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::history::{self, Line, What};
use crate::lane::{Entry, Lane, Outcome, Run, Verdict};
use crate::model::{self, Given, Handed, LeaseId, Model, Report, Request, Tx};
use crate::state::{AfterDeath, State};

pub(crate) type Key = u8;
pub(crate) type Id = u32;
pub(crate) type Event = history::Event<Key, Id, LeaseId>;

const LANES: u32 = 2;
const LEASE: u64 = 100;

/// One thing that happens. Picks are taken modulo what there is to pick from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Action {
    Save {
        key: Option<Key>,
        due_in: Option<u64>,
    },
    Close {
        pick: usize,
        commit: bool,
    },
    Claim {
        relay: usize,
        first: u32,
        max_lanes: usize,
        limit: usize,
    },
    Start {
        relay: usize,
        pick: usize,
        max: usize,
    },
    Complete {
        relay: usize,
        pick: usize,
        received: usize,
        verdict: Verdict,
        after: u64,
    },
    Settle {
        relay: usize,
        pick: usize,
    },
    Renew {
        relay: usize,
        pick: usize,
    },
    Stop {
        relay: usize,
    },
    Crash {
        relay: usize,
    },
    Advance {
        by: u64,
    },
    Redrive {
        pick: usize,
    },
    Discard {
        pick: usize,
    },
}

pub(crate) fn actions() -> impl Strategy<Value = Vec<Action>> {
    let verdict = prop_oneof![
        3 => Just(Verdict::Retry),
        2 => Just(Verdict::Dead(AfterDeath::Skip)),
        1 => Just(Verdict::Dead(AfterDeath::Hold)),
        1 => Just(Verdict::Release),
    ];
    let (relay, pick) = (0..2_usize, any::<usize>());
    let save = (
        prop::option::weighted(0.9, 0..4_u8),
        prop::option::weighted(0.2, 0..150_u64),
    );
    let claim = (relay.clone(), 0..LANES, 1..3_usize, 1..8_usize);
    let complete = (relay.clone(), pick, 0..6_usize, verdict, 0..80_u64);
    let action = prop_oneof![
        20 => save.prop_map(|(key, due_in)| Action::Save { key, due_in }),
        15 => (pick, prop::bool::weighted(0.9))
            .prop_map(|(pick, commit)| Action::Close { pick, commit }),
        15 => claim.prop_map(|(relay, first, max_lanes, limit)| {
            Action::Claim { relay, first, max_lanes, limit }
        }),
        25 => (relay.clone(), pick, 1..4_usize)
            .prop_map(|(relay, pick, max)| Action::Start { relay, pick, max }),
        25 => complete.prop_map(|(relay, pick, received, verdict, after)| {
            Action::Complete { relay, pick, received, verdict, after }
        }),
        15 => (relay.clone(), pick).prop_map(|(relay, pick)| Action::Settle { relay, pick }),
        3 => (relay.clone(), pick).prop_map(|(relay, pick)| Action::Renew { relay, pick }),
        2 => relay.clone().prop_map(|relay| Action::Stop { relay }),
        2 => relay.prop_map(|relay| Action::Crash { relay }),
        8 => (1..60_u64).prop_map(|by| Action::Advance { by }),
        3 => pick.prop_map(|pick| Action::Redrive { pick }),
        2 => pick.prop_map(|pick| Action::Discard { pick }),
    ];
    prop::collection::vec(action, 0..250)
}

/// What one relay knows of one lane that it claimed.
#[derive(Debug)]
struct Claimed {
    lease: LeaseId,
    lane: u32,
    until: u64,
    machine: Lane<Key, i64>,
    ids: BTreeMap<i64, Id>,
    runs: Vec<Run<i64>>,
    unsettled: Vec<(i64, model::Outcome)>,
}

impl Claimed {
    fn decide(&mut self, outcomes: Vec<(i64, Outcome)>, verdict: Verdict, after: u64) {
        self.unsettled
            .extend(outcomes.into_iter().map(|(position, outcome)| {
                let outcome = match (outcome, verdict) {
                    (Outcome::Published, _) => model::Outcome::Published,
                    (Outcome::Retry, _) => model::Outcome::Retry {
                        after: Some(after),
                        counted: after.is_multiple_of(2),
                    },
                    (Outcome::Dead, Verdict::Dead(policy)) => model::Outcome::Dead(policy),
                    (Outcome::Release | Outcome::Dead, _) => model::Outcome::Release,
                };
                (position, outcome)
            }));
    }
}

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
        self.model
            .save(self.open[at].0, position, message, key, due);
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
        let now = self.model.now();
        let unkeyed = self.model.messages().filter(|message| {
            let here = message.key.is_none() && message.id % LANES == lane;
            here && message.state.is_pending() && message.due <= now
        });
        let mut given: Vec<_> = unkeyed
            .chain(self.model.runnable(lane))
            .map(|message| Given {
                position: self.positions[&message.id],
                id: message.id,
                attempts: message.attempts,
                tries: message.tries,
            })
            .collect();
        given.sort_by_key(|one| one.position);
        given.truncate(limit);
        given
    }

    fn scheduled(&self, handed: &Handed<Id>) -> Vec<Id> {
        let ids = handed.given.iter().filter(|one| {
            let message = self.model.message(one.position);
            message.is_some_and(|message| message.state == State::Scheduled)
        });
        ids.map(|one| one.id).collect()
    }

    /// Lets a relay do something with a lane that it claimed. Returns the lane unless it is over.
    fn work(&mut self, mut claimed: Claimed, action: Action) -> Option<Claimed> {
        let token = claimed.lease;
        match action {
            // D2: no hand-over begins once the lease can have ended.
            Action::Start { max, .. } if self.model.now() < claimed.until => {
                if let Some(run) = claimed.machine.next_run(max) {
                    let messages = run.positions.iter().map(|at| claimed.ids[at]).collect();
                    self.record(What::HandedOver { token, messages });
                    claimed.runs.push(run);
                }
            }
            Action::Complete {
                pick,
                received,
                verdict,
                after,
                ..
            } => {
                if let Some(at) = pick.checked_rem(claimed.runs.len()) {
                    let run = claimed.runs.swap_remove(at);
                    self.complete(&mut claimed, &run, received, verdict, after);
                }
            }
            Action::Settle { .. } => return self.settle(claimed),
            Action::Renew { .. } => {
                let end = self.model.now() + LEASE;
                if self.model.extend(token, LEASE, false).is_ok() {
                    claimed.until = end;
                    self.lanes.insert(claimed.lane, (token, end));
                    let lease_end = i64::try_from(end).expect("tests are short");
                    self.record(What::Renewed { token, lease_end });
                } else {
                    self.model
                        .extend(token, LEASE, true)
                        .expect("the token is stale");
                    let outcomes = claimed.machine.release();
                    claimed.decide(outcomes, Verdict::Release, 0);
                }
            }
            _ => {}
        }
        Some(claimed)
    }

    /// The broker received a prefix of the run; the relay learns of all of it but may be of the last.
    fn complete(
        &mut self,
        claimed: &mut Claimed,
        run: &Run<i64>,
        received: usize,
        verdict: Verdict,
        after: u64,
    ) {
        let received = received.min(run.positions.len());
        let unheard = usize::from(after.is_multiple_of(3)).min(received);
        let ids: Vec<Id> = run.positions.iter().map(|at| claimed.ids[at]).collect();
        let token = claimed.lease;
        for message in &ids[..received] {
            self.record(What::Received {
                message: *message,
                token: Some(token),
            });
        }
        for message in &ids[..received - unheard] {
            self.record(What::Confirmed {
                token,
                message: *message,
            });
        }
        let outcomes = claimed
            .machine
            .complete(run.id, received - unheard, Some(verdict));
        claimed.decide(outcomes, verdict, after);
    }

    fn settle(&mut self, mut claimed: Claimed) -> Option<Claimed> {
        let token = claimed.lease;
        let outcomes = std::mem::take(&mut claimed.unsettled);
        for (position, _) in &outcomes {
            claimed.machine.settled(*position);
        }
        let release = claimed.machine.is_done();
        let before: Vec<_> = outcomes
            .iter()
            .map(|(position, _)| self.model.message(*position).cloned())
            .collect();
        if self.model.settle(token, &outcomes, release, false).is_err() {
            self.model
                .settle(token, &outcomes, release, true)
                .expect("the token is stale");
            return None;
        }
        for (before, (position, outcome)) in before.into_iter().flatten().zip(&outcomes) {
            let now = self.model.message(*position).expect("it was there before");
            let (message, state) = (before.id, now.state);
            match outcome {
                model::Outcome::Retry { .. } if now.tries > before.tries => {
                    self.record(What::Failed { token, message });
                }
                model::Outcome::Dead(after) if before.state != state && state == State::Dead => {
                    self.record(What::Died {
                        message,
                        after: *after,
                    });
                }
                _ => {}
            }
        }
        if release {
            self.lanes.remove(&claimed.lane);
            self.record(What::Released { token });
            return None;
        }
        Some(claimed)
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

/// As many different tokens, for claims that the world did not make.
pub(crate) fn fresh_tokens(count: usize) -> Vec<LeaseId> {
    (0..count).map(LeaseId::nth).collect()
}
