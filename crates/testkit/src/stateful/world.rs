//! The store and its model, and what each operation does to both. Relays come and go as leased lanes that somebody holds.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    time::Duration,
};

use outbox_message::{Delivery, Lane, LaneToken, Position};
use outbox_ordering::{
    Model,
    model::{Fault, Given, Handed, LeaseId, Outcome as Judged, Report, Request, Tx},
    state::{AfterDeath as Policy, State},
};
use outbox_store::{
    AfterDeath, ClaimRequest, DeadPage, DeadPayload, DeathReason, Due, LaneFilter, LaneSettlement,
    OutboxOperator, OutboxStore, OutboxWriter, Outcome, Save, Settlement, Target,
};

use super::{
    op::{End, NewMessage, Op, Relays, Reply},
    record::Record,
};
use crate::{
    Harness,
    scene::{Scene, all_dead, ask, message, ordering_key},
};

/// One step of time. Everything that ends, ends half a step beside the grid, and a history takes far less real time than that,
/// so a store that goes by a running clock behaves as one whose clock stands still.
const STEP_MS: u64 = 1_000_000;

/// How far a running clock may be off.
const SLACK_MS: u64 = 400_000;

/// How long leases last.
const LEASE_MS: u64 = STEP_MS + STEP_MS / 2;

pub(super) struct World<H: Harness> {
    scene: Scene<H>,
    relays: Relays,
    keys: Vec<String>,
    model: Model<outbox_message::OrderingKey, String>,
    record: Record,
    open: Vec<Open<H>>,
    held: Vec<HeldLane>,
    saved: u64,
}

/// A transaction that is open in both.
struct Open<H: Harness> {
    tx: H::Transaction,
    model: Tx,
    ids: Vec<String>,
}

/// A lane as the relay that leased it sees it.
struct HeldLane {
    token: LaneToken,
    lease: LeaseId,
    careful: bool,
    until: u64,
    /// Given back, or known to be lost.
    over: bool,
    lapsed: bool,
    messages: Vec<Delivery>,
    /// What became of the messages that were handed over.
    known: BTreeMap<Position, Outcome>,
    settled: BTreeSet<Position>,
    /// Keys of which nothing more may go out under this lease.
    stopped: HashSet<Option<outbox_message::OrderingKey>>,
    last: Option<LaneSettlement>,
}

impl<H: Harness> World<H> {
    pub(super) async fn new(relays: Relays) -> Self {
        let scene = Scene::<H>::new().await;
        let lanes = scene.store().lanes();
        let model = Model::new(
            move |key: &outbox_message::OrderingKey| u32::from(key.lane(lanes).0),
            SLACK_MS,
        );
        let mut keys = scene.keys_together(5);
        keys.extend(scene.keys_apart().into_iter().take(4).skip(1));
        Self {
            scene,
            relays,
            keys,
            model,
            record: Record::default(),
            open: Vec::new(),
            held: Vec::new(),
            saved: 0,
        }
    }

    pub(super) async fn step(&mut self, op: &Op) {
        match op {
            Op::Save { messages, end } => self.save(messages, *end).await,
            Op::Close { commit } => self.close(*commit).await,
            Op::Claim {
                limit,
                max_bytes,
                max_lanes,
                only,
            } => {
                let lanes = only.map_or(LaneFilter::All, |lane| {
                    let lane = Lane(lane % self.scene.store().lanes().get());
                    LaneFilter::Only(vec![lane, self.scene.lane("k0")])
                });
                self.claim(ClaimRequest {
                    limit: *limit,
                    max_bytes: *max_bytes,
                    max_lanes: *max_lanes,
                    lanes,
                    ..ask()
                })
                .await;
            }
            Op::Publish { lane, replies } => {
                if let Some(lane) = self.recent(*lane) {
                    self.publish(lane, replies).await;
                }
            }
            Op::Settle { lane, two, whole } => {
                let chosen = [self.recent(*lane), self.recent(*lane + 1).filter(|_| *two)];
                let mut lanes: Vec<_> = chosen.into_iter().flatten().collect();
                lanes.dedup();
                self.settle(&lanes, *whole).await;
            }
            Op::SettleAgain { lane } => {
                if let Some(lane) = self.recent(*lane)
                    && let Some(last) = self.held[lane].last.clone()
                {
                    self.send(vec![(lane, last)]).await;
                }
            }
            Op::Extend { lane } => {
                if let Some(lane) = self.recent(*lane) {
                    self.extend(lane).await;
                }
            }
            Op::Advance { steps } => self.advance(*steps).await,
            Op::Redrive { limit } => self.redrive(*limit).await,
            Op::Discard { limit } => self.discard(*limit).await,
            Op::RetryNow { key } => {
                let key = ordering_key(&self.keys[key % self.keys.len()]);
                let retried = self.scene.store().retry_now(&key).await;
                retried.expect("the store answers");
                self.model.retry_now(&key);
            }
        }
    }

    /// Ends everything well: all is published or dead, then all dead letters are redriven and published, and nothing is left.
    pub(super) async fn finish(mut self) {
        while !self.open.is_empty() {
            self.close(true).await;
        }
        self.compare().await;
        self.advance(20).await;
        self.drain().await;
        self.compare().await;
        self.redrive(1_000).await;
        self.drain().await;
        let pending = self.model.messages().find(|m| m.state.is_pending());
        assert!(pending.is_none(), "left behind: {pending:?}");
        self.scene.assert_empty_after_claim().await;
        if self.relays == Relays::Lawful {
            self.record.judge();
        }
    }

    async fn save(&mut self, messages: &[NewMessage], end: End) {
        let mut open = Open {
            tx: self.scene.harness.begin().await,
            model: self.model.begin(),
            ids: Vec::new(),
        };
        let now = self.model.now();
        for new in messages {
            self.saved += 1;
            let id = format!("m{}", self.saved);
            let key = new.key.map(|key| self.keys[key % self.keys.len()].as_str());
            let message = message(key, vec![b'x'; new.bytes])
                .with_id(&id)
                .expect("it is short");
            let after = new.due.map(|steps| steps * STEP_MS + STEP_MS / 2);
            let save = Save {
                due: after.map(|ms| Due::After(Duration::from_millis(ms))),
                ..Save::from(&message)
            };
            let writer = self.scene.store();
            let saved = writer.save(H::connection(&mut open.tx), save).await;
            let position = saved
                .expect("the save keeps the limits")
                .position()
                .expect("a plain save stores");
            let (key, due) = (message.ordering_key(), after.map(|ms| now + ms));
            let scheduled = due.is_some();
            self.record
                .saved(now, &id, key.clone(), position, scheduled);
            self.model
                .save(open.model, position.0, id.clone(), key, due);
            open.ids.push(id);
        }
        let can_wait = H::CAPABILITIES.concurrent_writers && H::CAPABILITIES.claims_beside_writers;
        match end {
            End::Open if can_wait && self.open.len() < 3 => self.open.push(open),
            End::Rollback => self.end(open, false).await,
            End::Commit | End::Open => self.end(open, true).await,
        }
    }

    async fn close(&mut self, commit: bool) {
        if !self.open.is_empty() {
            let open = self.open.remove(0);
            self.end(open, commit).await;
        }
    }

    async fn end(&mut self, open: Open<H>, commit: bool) {
        if commit {
            self.scene.harness.commit(open.tx).await;
            self.model.commit(open.model);
            self.record.committed(self.model.now(), &open.ids);
        } else {
            self.scene.harness.rollback(open.tx).await;
            self.model.rollback(open.model);
        }
    }

    /// Claims, and says whether it got or moved anything.
    async fn claim(&mut self, request: ClaimRequest) -> bool {
        let request = ClaimRequest {
            lease: Duration::from_millis(LEASE_MS),
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
    fn recent(&self, index: usize) -> Option<usize> {
        let lately = self.held.len().min(6);
        (lately > 0).then(|| self.held.len() - 1 - index % lately)
    }

    async fn publish(&mut self, lane: usize, replies: &[Reply]) {
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
            let stopped = lawful && key.is_some() && held.stopped.contains(&key);
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

    async fn settle(&mut self, lanes: &[usize], whole: bool) {
        let open = lanes.iter().filter(|lane| !self.held[**lane].over);
        let settlements: Vec<_> = open
            .map(|lane| (*lane, self.held[*lane].settlement(whole)))
            .collect();
        self.send(settlements).await;
    }

    async fn send(&mut self, lanes: Vec<(usize, LaneSettlement)>) {
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

    async fn extend(&mut self, lane: usize) {
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

    async fn advance(&mut self, steps: u64) {
        let by = steps * STEP_MS;
        self.scene.advance(Duration::from_millis(by)).await;
        self.model.advance(by);
        let now = self.model.now();
        for held in &mut self.held {
            if !held.over && !held.lapsed && held.until <= now {
                held.lapsed = true;
                self.record.lapsed(now, &held.token);
            }
        }
    }

    /// The first dead letters, as position and id.
    async fn first_dead(&self, page: &DeadPage) -> Vec<(Position, String)> {
        let listed = self.scene.store().dead_letters(page, DeadPayload::Omit);
        let letters = listed.await.expect("the store lists dead letters");
        letters.into_iter().map(|l| (l.position, l.id)).collect()
    }

    async fn redrive(&mut self, limit: usize) {
        let page = DeadPage {
            limit,
            ..all_dead()
        };
        let letters = self.first_dead(&page).await;
        let stepped = self.scene.store().redrive(&page).await;
        let stepped = stepped.expect("the store redrives");
        assert_eq!(stepped.count, letters.len());
        let mut out_of_order = 0;
        for (position, id) in letters {
            let letter = self.model.message(position.0).cloned();
            let key = letter.and_then(|letter| letter.key);
            let block = key.as_ref().and_then(|key| self.model.block(key));
            let keeps = block.is_some_and(|b| b.until.is_none() && b.position == position.0);
            out_of_order += usize::from(key.is_some() && !keeps);
            judged(self.model.redrive(position.0));
            let now = self.model.now();
            self.record
                .redriven(now, &id, Some(position).filter(|_| keeps));
        }
        assert_eq!(stepped.out_of_order, out_of_order);
    }

    async fn discard(&mut self, limit: usize) {
        let page = DeadPage {
            limit,
            ..all_dead()
        };
        let letters = self.first_dead(&page).await;
        let stepped = self.scene.store().discard(&page).await;
        assert_eq!(stepped.expect("the store discards").count, letters.len());
        for (position, id) in letters {
            judged(self.model.discard(position.0));
            self.record.discarded(self.model.now(), &id);
        }
    }

    /// Publishes until nothing is due.
    async fn drain(&mut self) {
        for _ in 0..10_000 {
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
        panic!("the store never comes to rest");
    }

    /// Compares what the store has with what the model says.
    async fn compare(&self) {
        let status = self.scene.status().await;
        let pending = self.model.messages().filter(|m| m.state.is_pending());
        assert_eq!(status.pending(), count(pending), "pending messages");
        let mut dead: Vec<_> = self
            .model
            .messages()
            .filter(|m| m.state == State::Dead)
            .map(|m| (m.position, m.id.clone(), m.attempts, m.tries))
            .collect();
        dead.sort_unstable();
        let letters = self.scene.dead().await.into_iter();
        let letters: Vec<_> = letters
            .map(|l| (Some(l.position.0), l.id, l.attempts, l.tries))
            .collect();
        assert_eq!(letters, dead, "dead letters");
    }
}

impl HeldLane {
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

#[track_caller]
fn judged<T>(verdict: Result<T, Fault>) -> T {
    verdict.unwrap_or_else(|fault| panic!("the model objects: {fault}"))
}

fn count(items: impl Iterator) -> u64 {
    u64::try_from(items.count()).expect("a history is short")
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
