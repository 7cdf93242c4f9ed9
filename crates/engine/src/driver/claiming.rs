//! When the relay claims, and what it does with a claim. A claim that fails is tried again lane by lane, then one
//! message at a time, and a lane that fails alone is left out for a while (contract F7).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use outbox_message::{Lane, LaneToken};
use outbox_store::{Claim, ClaimRequest, Entry, LaneFilter, ReadOn, StoreError};
use tokio::time::Instant;

use super::{Driver, Event, Mode};
use crate::{RelayConfig, RelayError, clock::Asked, held::Held, poll::Poll};

/// What the relay knows about claiming.
#[derive(Debug)]
pub(crate) struct Claiming {
    /// The claim under way.
    under_way: Option<UnderWay>,
    next: Instant,
    poll: Poll,
    /// How many claims gave an answer.
    answered: u64,
    /// A claim of all lanes, or of each of them alone, gave an answer.
    went_round: bool,
    /// When the only destination is down: not before this, because the last probe met a destination that was not due.
    pub(super) next_probe: Instant,
    /// The last claim found nothing, and nothing was given back since.
    exhausted: bool,
    /// Grows whenever a lane is given back.
    releases: u64,
    /// Lanes that failed alone in this pass; they are left out from its end.
    failed: BTreeSet<Lane>,
    /// How many lanes failed alone one after another, with no answer in between.
    in_a_row: usize,
    /// The next lane to try alone, after a claim failed.
    alone: Option<Alone>,
}

#[derive(Debug, Clone)]
struct UnderWay {
    probe: bool,
    alone: Option<Alone>,
    releases: u64,
    /// The lanes that it reads on.
    read_on: Vec<LaneToken>,
}

#[derive(Debug, Clone, Copy)]
struct Alone {
    lane: Lane,
    /// Only one message of it, after the lane failed with more.
    one: bool,
}

impl Alone {
    fn all_of(lane: Lane) -> Self {
        Self { lane, one: false }
    }
}

/// How many claims of lanes may be in hand when another is made ahead of need, on a store that gives an eighth of its lanes to a claim.
const CLAIMS_IN_HAND: usize = 3;
/// How many lanes a claim reads on.
const READ_ON_AT_ONCE: usize = 8;
/// How long a lane that failed is left out.
pub(super) const LEFT_OUT: Duration = Duration::from_secs(5);
/// After so many lanes that failed one after another it is the database: no lane is to blame, and a round or a drain gives up.
const DATABASE_FAILS: usize = 8;

impl Claiming {
    pub(super) fn new(config: &RelayConfig) -> Self {
        Self {
            under_way: None,
            next: Instant::now(),
            poll: Poll::new(config.poll_min, config.poll_max),
            answered: 0,
            went_round: false,
            next_probe: Instant::now(),
            exhausted: false,
            releases: 0,
            failed: BTreeSet::new(),
            in_a_row: 0,
            alone: None,
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.under_way.is_none()
    }

    pub(super) fn has_claimed(&self) -> bool {
        self.went_round
    }

    pub(super) fn is_exhausted(&self) -> bool {
        self.exhausted
    }

    /// There may be work: claims at once.
    pub(super) fn hurry(&mut self) {
        self.poll.reset();
        self.next = Instant::now();
        self.exhausted = false;
    }

    /// A lane was given back, so there may be work in it.
    pub(super) fn released(&mut self) {
        self.releases += 1;
        self.hurry();
    }
}

impl Driver {
    /// When the next claim may start; `None` while something else must happen first.
    pub(super) fn claim_at(&self) -> Option<Instant> {
        let claiming = &self.claiming;
        let enough = match self.mode {
            Mode::Flush => claiming.has_claimed(),
            Mode::Drain => claiming.exhausted,
            Mode::Run => false,
        };
        let careful = self.held.values().any(Held::wants_to_be_alone);
        if !claiming.is_idle()
            || self.stopping.is_some()
            || enough
            || careful
            || self.lanes_to_claim() == 0
        {
            return None;
        }
        match self.circuits.all_open() {
            None => Some(claiming.next),
            // Nothing but a probe, and only when nothing else is in hand.
            Some(probe) if self.held.is_empty() && self.mode == Mode::Run => {
                Some(claiming.next.max(probe).max(claiming.next_probe))
            }
            Some(_) => None,
        }
    }

    /// How many lanes the next claim may lease; none while enough is in hand.
    ///
    /// What could start at once is claimed for whatever else is held: a lane that hangs delays no other. Otherwise a claim is
    /// made ahead, so that no slot is idle while it is under way: as soon as what could start would not fill all slots again, or
    /// less than a claim is in hand. The lanes in hand bound that, because a relay that dies holds them until their leases end.
    fn lanes_to_claim(&self) -> usize {
        let config = &self.config;
        if self.room() < config.batch_bytes.div_ceil(2) {
            return 0;
        }
        let startable: usize = self.held.values().map(Held::startable).sum();
        if startable == 0 && self.runs.len() < config.concurrency {
            return config.max_lanes;
        }
        let undecided: usize = self.held.values().map(Held::undecided).sum();
        if startable >= config.concurrency && undecided > config.batch {
            return 0;
        }
        let of_store = usize::from(self.store.lanes().get()) * CLAIMS_IN_HAND / 8;
        let most = config.max_lanes.saturating_mul(CLAIMS_IN_HAND);
        let ahead = most.min(of_store.max(1)).saturating_sub(self.held.len());
        ahead.min(config.max_lanes)
    }

    /// How many bytes more the relay may hold: the bytes of two claims are the most, so that a hanging message does not stop all others.
    fn room(&self) -> usize {
        let in_hand: usize = self.held.values().map(Held::bytes).sum();
        let most = self.config.batch_bytes.saturating_mul(2);
        most.saturating_sub(in_hand)
    }

    pub(super) fn start_claim(&mut self, now: Instant) {
        if self.claim_at().is_none_or(|at| at > now) {
            return;
        }
        let probe = self.circuits.all_open().is_some();
        let alone = self.claiming.alone;
        let head = probe && !self.probed.looks_behind_heads();
        let one = head || alone.is_some_and(|alone| alone.one);
        let read_on = if probe || alone.is_some() {
            Vec::new()
        } else {
            self.read_on(now)
        };
        self.claiming.under_way = Some(UnderWay {
            probe,
            alone,
            releases: self.claiming.releases,
            read_on: read_on.iter().map(|held| held.token.clone()).collect(),
        });
        let request = ClaimRequest {
            relay: Arc::clone(&self.config.name),
            limit: self.config.batch,
            // One message is asked for by its bytes, since the first is always taken: the limit says how long a lane whose
            // holder vanished is served carefully (contract F6), and a probe may be the first to meet it.
            max_bytes: if one {
                1
            } else {
                self.config.batch_bytes.min(self.room())
            },
            max_lanes: if one || probe {
                1
            } else {
                self.lanes_to_claim()
            },
            lease: self.config.lease,
            lanes: self.claimable(alone),
            read_on,
        };
        let (store, asked) = (Arc::clone(&self.store), Asked::now(&self.wall));
        self.tasks
            .spawn(async move { Event::Claimed(asked, store.claim(&request).await) });
    }

    /// The lanes that the next claim reads on: those in which something hangs and nothing else can start, longest not read first. Not
    /// while a destination is down.
    fn read_on(&mut self, now: Instant) -> Vec<ReadOn> {
        if self.circuits.any_open() {
            return Vec::new();
        }
        let mut lanes: Vec<Lane> = self.slow_lanes(now).into_iter().collect();
        let (held, left_out, config) = (&mut self.held, &self.left_out, &self.config);
        let may = |held: &Held| held.may_read_on(now, config);
        lanes.retain(|lane| held.get(lane).is_some_and(may) && !left_out.contains_key(lane));
        lanes.sort_by_key(|lane| held.get(lane).map(|held| held.read_at));
        lanes.truncate(READ_ON_AT_ONCE);
        let read = |lane: &Lane| {
            let held = held.get_mut(lane)?;
            held.reading = true;
            held.read_at = Some(now);
            Some(held.read_on())
        };
        lanes.iter().filter_map(read).collect()
    }

    /// Which lanes a claim may lease. Never one that is in hand: the store may have released it in a settlement whose
    /// answer is still on its way, and that answer would then be taken for one about the new lease.
    fn claimable(&self, alone: Option<Alone>) -> LaneFilter {
        if let Some(Alone { lane, .. }) = alone {
            let free = !self.held.contains_key(&lane);
            return LaneFilter::Only(free.then_some(lane).into_iter().collect());
        }
        let in_hand = self.held.keys().chain(self.left_out.keys());
        let except: Vec<Lane> = in_hand.copied().collect();
        if except.is_empty() {
            LaneFilter::All
        } else {
            LaneFilter::Except(except)
        }
    }

    pub(super) fn claimed(&mut self, asked: Asked, result: Result<Claim, StoreError>) {
        let Some(under_way) = self.claiming.under_way.take() else {
            return;
        };
        for token in &under_way.read_on {
            if let Some(held) = self.holder(token) {
                held.reading = false;
            }
        }
        match result {
            Ok(claim) => self.took(asked, &under_way, claim),
            Err(error) => self.claim_failed(&under_way, error),
        }
    }

    fn took(&mut self, asked: Asked, under_way: &UnderWay, claim: Claim) {
        self.store_answered();
        let now = Instant::now();
        if self.claiming.in_a_row >= DATABASE_FAILS {
            // It answers again, so no lane was to blame.
            self.left_out.clear();
            self.claiming.failed.clear();
        }
        self.claiming.in_a_row = 0;
        if let Some(alone) = under_way.alone {
            self.go_on_after(alone.lane);
        }
        self.claiming.answered += 1;
        self.claiming.went_round |= self.claiming.alone.is_none() || !claim.entries.is_empty();
        if claim.entries.is_empty() && claim.moved == 0 && under_way.alone.is_none() {
            let delay = self.claiming.poll.idle(claim.next_due);
            if under_way.releases == self.claiming.releases {
                self.claiming.next = now + delay;
                self.claiming.exhausted = self.held.is_empty();
            }
        } else {
            self.claiming.hurry();
        }
        self.admit(asked, under_way, claim);
    }

    fn holder(&mut self, token: &LaneToken) -> Option<&mut Held> {
        let held = self.held.get_mut(&token.lane)?;
        (held.leased.token == *token).then_some(held)
    }

    fn admit(&mut self, asked: Asked, under_way: &UnderWay, claim: Claim) {
        let lease = asked.lease(self.config.lease);
        let mut entries: BTreeMap<Lane, Vec<Entry>> = BTreeMap::new();
        for entry in claim.entries {
            entries.entry(entry.lane()).or_default().push(entry);
        }
        for lane in claim.lanes {
            let lane_entries = entries.remove(&lane.token.lane).unwrap_or_default();
            let number = self.claiming.answered;
            let mut held = Held::admit(
                lane,
                lane_entries,
                lease,
                number,
                under_way.probe,
                &self.config,
            );
            if self.stopping.is_some() {
                held.release();
            }
            self.held.insert(held.lane(), held);
        }
        for token in &under_way.read_on {
            let more = entries.remove(&token.lane).unwrap_or_default();
            let (wall, config) = (self.wall.clone(), Arc::clone(&self.config));
            // What was read of a lane that is lost by now never started, and is another's.
            if let Some(held) = self.holder(token)
                && !held.over
                && !held.lease.is_over(&wall)
            {
                held.take_in(more, &config);
            }
        }
    }

    fn claim_failed(&mut self, under_way: &UnderWay, error: StoreError) {
        let now = Instant::now();
        match under_way.alone {
            None => self.claiming.alone = Some(Alone::all_of(Lane(0))),
            Some(Alone { lane, one: false }) => {
                self.claiming.alone = Some(Alone { lane, one: true });
            }
            Some(Alone { lane, one: true }) => {
                self.claiming.failed.insert(lane);
                self.claiming.in_a_row += 1;
                self.go_on_after(lane);
            }
        }
        self.claiming.next = now + self.pause.idle(None);
        let lanes = usize::from(self.store.lanes().get());
        let database_fails = self.claiming.in_a_row >= DATABASE_FAILS.min(lanes);
        let give_up = self.mode != Mode::Run && database_fails;
        if give_up && error.is_transient() {
            self.report.store_errors += 1;
            self.fail(RelayError::Store(error));
        } else {
            self.store_failed(error);
        }
    }

    /// Goes on with the next lane of the pass. At its end the lanes that failed are left out, counted from now: a pass
    /// may take long, and they would fail the claim that follows it.
    fn go_on_after(&mut self, lane: Lane) {
        let next = lane.0 + 1;
        if next < self.store.lanes().get() {
            self.claiming.alone = Some(Alone::all_of(Lane(next)));
            return;
        }
        self.claiming.alone = None;
        let until = Instant::now() + LEFT_OUT;
        let failed = std::mem::take(&mut self.claiming.failed);
        self.left_out
            .extend(failed.into_iter().map(|lane| (lane, until)));
    }
}
