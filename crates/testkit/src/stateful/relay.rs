//! What relays do: they lease lanes, hand messages to a broker that answers as the operation says, settle and renew.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    time::Duration,
};

use outbox_message::{Delivery, Lane, LaneToken, OrderingKey, Position};
use outbox_ordering::{
    model::{Given, Handed, LeaseId, Outcome as Judged, Report, Request},
    state::AfterDeath as Policy,
};
use outbox_store::{
    AfterDeath, ClaimRequest, DeathReason, LaneFilter, LaneSettlement, OutboxStore, Outcome,
    ReadOn, Settlement, Target,
};

use super::{
    op::{Relays, Reply},
    world::{STEP_MS, World, judged},
};
use crate::{
    Harness,
    scene::{ask, rounds},
};

/// How long leases last.
const LEASE_MS: u64 = STEP_MS + STEP_MS / 2;

/// A lane as the relay that leased it sees it.
pub(super) struct HeldLane {
    pub(super) token: LaneToken,
    lease: LeaseId,
    careful: bool,
    pub(super) until: u64,
    /// Given back, or known to be lost.
    pub(super) over: bool,
    pub(super) lapsed: bool,
    messages: Vec<Delivery>,
    /// What became of the messages that were handed over.
    known: BTreeMap<Position, Outcome>,
    settled: BTreeSet<Position>,
    /// Keys of which nothing more may go out under this lease.
    stopped: HashSet<Option<OrderingKey>>,
    pub(super) last: Option<LaneSettlement>,
}

impl<H: Harness> World<H> {
    /// Claims, and says whether it got or moved anything.
    pub(super) async fn claim(&mut self, request: ClaimRequest) -> bool {
        self.claim_and_read_on(request, &[]).await
    }

    /// As [`claim`](Self::claim), reading on in lanes that are held, or were.
    pub(super) async fn claim_and_read_on(
        &mut self,
        request: ClaimRequest,
        lanes: &[usize],
    ) -> bool {
        let request = ClaimRequest {
            lease: Duration::from_millis(LEASE_MS),
            read_on: lanes
                .iter()
                .map(|lane| self.held[*lane].read_on())
                .collect(),
            ..request
        };
        let taken = self.scene.claim_with(request.clone()).await;
        let of_lane = |lane: Lane| taken.deliveries().filter(move |d| d.lane == lane);
        let handed = taken.claim.lanes.iter().map(|lease| Handed {
            lane: u32::from(lease.token.lane.0),
            given: of_lane(lease.token.lane).map(given).collect(),
        });
        let report = Report {
            lanes: handed.collect(),
            moved: taken.moved(),
        };
        let leases = judged(self.model.claimed(&to_judge(&request), &report));
        let now = self.model.now();
        let is_new = |lane: Lane| taken.claim.lanes.iter().any(|it| it.token.lane == lane);
        for (lane, asked) in lanes.iter().zip(&request.read_on) {
            let held = &mut self.held[*lane];
            let messages: Vec<_> = of_lane(held.token.lane).cloned().collect();
            if messages.is_empty() || is_new(held.token.lane) {
                continue;
            }
            let in_hand = asked.in_hand.iter().map(|position| position.0).collect();
            let closed = asked.closed.iter().cloned().collect();
            let handed: Vec<_> = messages.iter().map(given).collect();
            judged(self.model.read_on(held.lease, &in_hand, &closed, &handed));
            let named = messages.iter().map(|d| (d.position.0, id(d)));
            self.record
                .claimed(now, &held.token, held.until, named.collect());
            held.take_in(messages);
        }
        for (leased, lease) in taken.claim.lanes.iter().zip(leases) {
            let messages: Vec<_> = of_lane(leased.token.lane).cloned().collect();
            let until = now + LEASE_MS;
            let named = messages.iter().map(|d| (d.position.0, id(d)));
            self.record
                .claimed(now, &leased.token, until, named.collect());
            self.held.push(HeldLane {
                token: leased.token.clone(),
                lease,
                careful: leased.careful,
                until,
                over: false,
                lapsed: false,
                messages,
                known: BTreeMap::new(),
                settled: BTreeSet::new(),
                stopped: HashSet::new(),
                last: None,
            });
        }
        !taken.is_empty() || taken.moved() > 0
    }

    /// A lane that was leased lately.
    pub(super) fn recent(&self, index: usize) -> Option<usize> {
        let lately = self.held.len().min(6);
        (lately > 0).then(|| self.held.len() - 1 - index % lately)
    }

    pub(super) async fn publish(&mut self, lane: usize, replies: &[Reply]) {
        let now = self.model.now();
        let held = &mut self.held[lane];
        let lawful = self.relays == Relays::Lawful;
        let waiting: Vec<_> = held
            .messages
            .iter()
            .filter(|d| !held.known.contains_key(&d.position))
            .cloned()
            .collect();
        for (delivery, reply) in waiting.iter().zip(replies) {
            let key = delivery.ordering_key();
            // Not even a reckless relay gives up on two messages of a key that the first one holds.
            let stops = lawful || matches!(reply, Reply::Kill { .. });
            let stopped = stops && key.is_some() && held.stopped.contains(&key);
            if held.over || held.until <= now || stopped || *reply == Reply::Leave {
                held.stopped.insert(key);
                continue;
            }
            if held.careful {
                let store = self.scene.store();
                let started = store.starting(&held.token, delivery.position).await;
                assert!(started.expect("the store records"), "the lease is held");
            }
            let (outcome, received) = outcome(*reply);
            let (token, id) = (&held.token, id(delivery));
            self.record.handed_over(now, token, &id);
            if received {
                self.record.received(now, token, &id);
            }
            if outcome == Outcome::Published {
                self.record.confirmed(now, token, &id);
            } else {
                held.stopped.insert(key);
            }
            held.known.insert(delivery.position, outcome);
        }
    }

    pub(super) async fn settle(&mut self, lanes: &[usize], whole: bool) {
        let open = lanes.iter().filter(|lane| !self.held[**lane].over);
        let settlements: Vec<_> = open
            .map(|lane| (*lane, self.held[*lane].settlement(whole)))
            .collect();
        self.send(settlements).await;
    }

    pub(super) async fn send(&mut self, lanes: Vec<(usize, LaneSettlement)>) {
        let sent: Vec<_> = lanes.iter().map(|(_, lane)| lane.clone()).collect();
        let settled = self.scene.settle_raw(&sent).await;
        let now = self.model.now();
        for ((lane, settlement), settled) in lanes.into_iter().zip(settled) {
            let held = &mut self.held[lane];
            let outcomes: Vec<_> = settlement
                .outcomes
                .iter()
                .map(|s| (s.target.position.0, to_judge_outcome(&s.outcome)))
                .collect();
            judged(
                self.model
                    .settle(held.lease, &outcomes, settlement.release, settled.lost),
            );
            held.over |= settlement.release || settled.lost;
            for Settlement { target, outcome } in &settlement.outcomes {
                held.settled.insert(target.position);
                if settled.lost || settled.missed.contains(&target.position) {
                    continue;
                }
                let id = target.id.as_ref().map(ToString::to_string);
                let id = id.expect("every message can be read");
                match outcome {
                    Outcome::Retry { .. } => self.record.failed(now, &held.token, &id),
                    Outcome::Dead { after, .. } => {
                        self.record.died(now, &id, policy(*after));
                        if *after == AfterDeath::Skip {
                            held.stopped.remove(&target.key);
                        }
                    }
                    Outcome::Published | Outcome::Release => {}
                }
            }
            if settlement.release && !settled.lost {
                self.record.released(now, &held.token);
            }
            held.last = Some(settlement);
        }
    }

    pub(super) async fn extend(&mut self, lane: usize) {
        let now = self.model.now();
        let held = &mut self.held[lane];
        // A lawful relay stops when its lease can have ended.
        if self.relays == Relays::Lawful && held.until <= now {
            return;
        }
        let tokens = [held.token.clone()];
        let by = Duration::from_millis(LEASE_MS);
        let lost = self.scene.store().extend(&tokens, by).await;
        let lost = lost.expect("the store extends").contains(&held.token);
        judged(self.model.extend(held.lease, LEASE_MS, lost));
        if !lost {
            held.until = now + LEASE_MS;
            self.record.renewed(now, &held.token, held.until);
        }
    }

    /// Publishes until nothing is due.
    pub(super) async fn drain(&mut self) {
        for () in rounds() {
            let first = self.held.len();
            let request = ClaimRequest { limit: 20, ..ask() };
            if !self.claim(request).await {
                return;
            }
            for lane in first..self.held.len() {
                let all = vec![Reply::Confirm; self.held[lane].messages.len()];
                self.publish(lane, &all).await;
                self.settle(&[lane], true).await;
            }
        }
    }
}

impl HeldLane {
    /// What its relay asks for when it reads on.
    fn read_on(&self) -> ReadOn {
        let unrecorded = self
            .messages
            .iter()
            .filter(|d| !self.settled.contains(&d.position));
        let open = unrecorded
            .clone()
            .filter(|d| self.known.get(&d.position) != Some(&Outcome::Published));
        ReadOn {
            token: self.token.clone(),
            in_hand: unrecorded.map(|d| d.position).collect(),
            closed: open.filter_map(Delivery::ordering_key).collect(),
        }
    }

    /// Takes in what was read on. What failed, was recorded and comes again is forgotten; so is a settlement that named it, for the
    /// relay has had its answer.
    fn take_in(&mut self, messages: Vec<Delivery>) {
        for message in messages {
            let position = message.position;
            self.messages.retain(|old| old.position != position);
            self.known.remove(&position);
            self.settled.remove(&position);
            self.stopped.remove(&message.ordering_key());
            self.last
                .take_if(|last| last.outcomes.iter().any(|s| s.target.position == position));
            self.messages.push(message);
        }
        self.messages.sort_by_key(|message| message.position);
    }

    /// What is known and not settled yet; if it is the whole, the rest is released and the lane given back.
    fn settlement(&self, whole: bool) -> LaneSettlement {
        let outcomes = self.messages.iter().filter_map(|delivery| {
            let known = self.known.get(&delivery.position);
            let fresh = !self.settled.contains(&delivery.position);
            let release = whole.then_some(&Outcome::Release);
            Some(Settlement {
                target: Target::from(delivery),
                outcome: known.or(release).filter(|_| fresh)?.clone(),
            })
        });
        LaneSettlement {
            token: self.token.clone(),
            outcomes: outcomes.collect(),
            release: whole,
        }
    }
}

fn id(delivery: &Delivery) -> String {
    delivery.message.id.to_string()
}

fn given(delivery: &Delivery) -> Given<String> {
    Given {
        position: delivery.position.0,
        id: id(delivery),
        attempts: delivery.attempts,
        tries: delivery.tries,
    }
}

fn to_judge(request: &ClaimRequest) -> Request {
    Request {
        limit: request.limit,
        max_lanes: request.max_lanes,
        lease: LEASE_MS,
        lanes: match &request.lanes {
            LaneFilter::Only(lanes) => Some(lanes.iter().map(|lane| u32::from(lane.0)).collect()),
            LaneFilter::All | LaneFilter::Except(_) => None,
        },
    }
}

/// What a relay makes of a reply, and whether the broker has the message.
fn outcome(reply: Reply) -> (Outcome, bool) {
    let half = |steps| Duration::from_millis(steps * STEP_MS + STEP_MS / 2);
    match reply {
        Reply::Confirm => (Outcome::Published, true),
        Reply::Refuse { after } => {
            let outcome = Outcome::Retry {
                after: after.map(half),
                counted: true,
                error: "refused".to_owned(),
            };
            (outcome, false)
        }
        Reply::Unavailable { received } => {
            let outcome = Outcome::Retry {
                after: Some(half(0)),
                counted: false,
                error: "unavailable".to_owned(),
            };
            (outcome, received)
        }
        Reply::Kill { hold } => {
            let after = if hold {
                AfterDeath::Hold
            } else {
                AfterDeath::Skip
            };
            let outcome = Outcome::Dead {
                reason: DeathReason::Permanent,
                error: "refused for good".to_owned(),
                after,
                notice: None,
            };
            (outcome, false)
        }
        Reply::Leave => (Outcome::Release, false),
    }
}

fn policy(after: AfterDeath) -> Policy {
    match after {
        AfterDeath::Skip => Policy::Skip,
        AfterDeath::Hold => Policy::Hold,
    }
}

fn to_judge_outcome(outcome: &Outcome) -> Judged {
    match outcome {
        Outcome::Published => Judged::Published,
        Outcome::Retry { after, counted, .. } => Judged::Retry {
            after: after.map(|after| u64::try_from(after.as_millis()).unwrap_or(u64::MAX)),
            counted: *counted,
        },
        Outcome::Dead { after, .. } => Judged::Dead(policy(*after)),
        Outcome::Release => Judged::Release,
    }
}
