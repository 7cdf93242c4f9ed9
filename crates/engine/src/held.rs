//! A lane that the relay holds: its lease, its messages, what was decided of them, and what of that is still to be recorded.

mod claimed;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use outbox_message::{Delivery, Lane, OrderingKey, Position};
use outbox_ordering::lane::{self, Entry as Admitted, EntryKind, RunId, Verdict};
use outbox_store::{Entry, LaneLease, LaneSettlement, Outcome, ReadOn, Settlement, Target};
use tokio::time::Instant;

use claimed::Claimed;

use crate::{
    Death, DeathNotices, RelayConfig, clock::Lease, judge, notice, probed::Probed, settle::Recorded,
};

/// A lane that the relay holds.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) leased: LaneLease,
    /// Claimed to probe an open circuit.
    pub(crate) probe: bool,
    pub(crate) lease: Lease,
    /// The number of its claim: lanes of one claim are recorded together.
    pub(crate) claim: u64,
    /// The lease can have ended, or the store said that it has.
    pub(crate) over: bool,
    /// Settlements of this lane that failed in a row.
    pub(crate) failures: u32,
    rules: lane::Lane<OrderingKey, Position>,
    undecided: HashMap<Position, Claimed>,
    /// Of all undecided messages.
    bytes: usize,
    decided: Vec<Settlement>,
    decided_since: Option<Instant>,
    /// How many outcomes are being recorded, while a settlement is under way.
    settling: Option<usize>,
    /// When it was leased.
    since: Instant,
    /// When it was read on last.
    pub(crate) read_at: Option<Instant>,
    /// A claim that reads it on is under way: it is not given back meanwhile, so that nothing is handed out of a lane that is not held.
    pub(crate) reading: bool,
    notices: Option<Arc<dyn DeathNotices>>,
}

/// What may start next.
pub(crate) enum Head<'a> {
    Message(&'a Delivery),
    Doomed,
}

impl Held {
    /// Admits what a claim handed out of one lane.
    pub(crate) fn admit(
        lane: LaneLease,
        entries: Vec<Entry>,
        lease: Lease,
        claim: u64,
        probe: bool,
        config: &RelayConfig,
    ) -> Self {
        let mut held = Self {
            leased: lane,
            probe,
            lease,
            claim,
            over: false,
            failures: 0,
            rules: lane::Lane::admit([]),
            undecided: HashMap::with_capacity(entries.len()),
            bytes: 0,
            decided: Vec::new(),
            decided_since: None,
            settling: None,
            since: Instant::now(),
            read_at: None,
            reading: false,
            notices: config.notices.clone(),
        };
        held.take_in(entries, config);
        held
    }

    /// Takes in what a claim handed out, the first one or one that read on. What is in hand already is ignored.
    pub(crate) fn take_in(&mut self, entries: Vec<Entry>, config: &RelayConfig) {
        let fresh = entries
            .into_iter()
            .filter(|entry| !self.rules.knows(entry.position()));
        let mut admitted = Vec::with_capacity(fresh.size_hint().1.unwrap_or(0));
        for entry in fresh {
            let (position, claimed) = (entry.position(), Claimed::from(entry, config));
            let (key, kind) = match &claimed {
                Claimed::Message(_) => (claimed.key(), EntryKind::Message),
                Claimed::Poison(_) | Claimed::Unreadable(..) => {
                    (claimed.key(), EntryKind::Unreadable)
                }
            };
            self.bytes += claimed.bytes();
            if let Some(twice) = self.undecided.insert(position, claimed) {
                self.bytes -= twice.bytes();
            }
            admitted.push(Admitted {
                position,
                key,
                kind,
            });
        }
        let back = self.rules.admit_more(admitted);
        self.decide(back, None);
    }

    /// Whether it is to be read on at this moment: something of it hangs, which is not asked here, and nothing else can start; what it has
    /// in hand is bounded, and so is the time for which it is kept from other relays by it.
    pub(crate) fn may_read_on(&self, now: Instant, config: &RelayConfig) -> bool {
        let is_well = !self.over && self.failures == 0 && !self.probe && !self.leased.careful;
        is_well
            && !self.reading
            && self.settling.is_none()
            && !self.rules.is_released()
            && self.rules.startable() == 0
            && self.unrecorded() < config.batch.saturating_mul(2)
            && now < self.since + config.lease
    }

    /// What a claim is told that reads it on.
    pub(crate) fn read_on(&self) -> ReadOn {
        let decided = self.decided.iter().map(|it| it.target.position);
        let closed: HashSet<OrderingKey> = self
            .undecided
            .values()
            .filter_map(Claimed::key)
            .chain(self.decided.iter().filter_map(|it| {
                let closes = it.outcome != Outcome::Published;
                it.target.key.clone().filter(|_| closes)
            }))
            .collect();
        ReadOn {
            token: self.leased.token.clone(),
            in_hand: self.undecided.keys().copied().chain(decided).collect(),
            closed: closed.into_iter().collect(),
        }
    }

    pub(crate) fn lane(&self) -> Lane {
        self.leased.token.lane
    }

    /// Whether it is served carefully and its message has no outcome yet: then nothing else is handed over (contract F6).
    /// Recording the outcome endangers nobody, however long it takes.
    pub(crate) fn wants_to_be_alone(&self) -> bool {
        self.leased.careful && !self.undecided.is_empty()
    }

    /// The bytes of all messages that have no outcome yet.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many messages have no outcome yet.
    pub(crate) fn undecided(&self) -> usize {
        self.undecided.len()
    }

    /// How many runs could start now.
    pub(crate) fn startable(&self) -> usize {
        self.rules.startable()
    }

    /// How many messages have no recorded outcome yet.
    pub(crate) fn unrecorded(&self) -> usize {
        self.undecided.len() + self.decided.len() + self.settling.unwrap_or(0)
    }

    /// What may start next, if anything.
    pub(crate) fn head(&self) -> Option<Head<'_>> {
        match self.undecided.get(&self.rules.head()?)? {
            Claimed::Message(delivery) => Some(Head::Message(delivery)),
            Claimed::Poison(_) | Claimed::Unreadable(..) => Some(Head::Doomed),
        }
    }

    /// Gives back the keys of messages that probes have tried, up to one that they have not. If all that could start were tried,
    /// nothing is given back.
    pub(crate) fn skip_probed(&mut self, probed: &Probed) {
        let was_tried = |position: Position| match self.undecided.get(&position) {
            Some(Claimed::Message(delivery)) => probed.has(&delivery.message.id),
            _ => false,
        };
        let tried = self.rules.heads().take_while(|head| was_tried(*head));
        let (tried, heads) = (tried.count(), self.rules.heads().count());
        if tried == heads {
            return;
        }
        for _ in 0..tried {
            if let Some(run) = self.rules.next_run(1) {
                self.complete(run.id, 0, Some((Verdict::Release, Outcome::Release)));
            }
        }
    }

    /// Starts the next run of at most `max` messages.
    pub(crate) fn start(&mut self, max: usize) -> Option<(RunId, Arc<[Delivery]>)> {
        let run = self.rules.next_run(max)?;
        let messages =
            run.positions
                .iter()
                .filter_map(|position| match self.undecided.get(position) {
                    Some(Claimed::Message(delivery)) => Some(delivery.clone()),
                    _ => None,
                });
        Some((run.id, messages.collect()))
    }

    /// Decides the death of the next entry, which must not be handed over.
    pub(crate) fn bury(&mut self, config: &RelayConfig) {
        let Some(run) = self.rules.next_run(1) else {
            return;
        };
        let doom = self
            .undecided
            .get(&run.positions[0])
            .and_then(Claimed::doom);
        let Some((reason, error)) = doom else {
            return;
        };
        let (verdict, outcome) = judge::dead(reason, &error, config);
        self.complete(run.id, 0, Some((verdict, outcome)));
    }

    /// Takes in how a run ended.
    pub(crate) fn complete(
        &mut self,
        run: RunId,
        confirmed: usize,
        failure: Option<(Verdict, Outcome)>,
    ) {
        let (verdict, outcome) = failure.unzip();
        let decided = self.rules.complete(run, confirmed, verdict);
        self.decide(decided, outcome.as_ref());
    }

    /// Hands back everything that has not started.
    pub(crate) fn release(&mut self) {
        let decided = self.rules.release();
        self.decide(decided, None);
    }

    /// Takes in that the lease can have ended: from here on only confirmed messages are recorded (contract F7).
    pub(crate) fn end_lease(&mut self) {
        self.over = true;
        self.release();
        for settlement in &mut self.decided {
            if settlement.outcome != Outcome::Published {
                settlement.outcome = Outcome::Release;
            }
        }
    }

    fn decide(&mut self, decided: Vec<(Position, lane::Outcome)>, failure: Option<&Outcome>) {
        for (position, outcome) in decided {
            let Some(claimed) = self.undecided.remove(&position) else {
                continue;
            };
            self.bytes -= claimed.bytes();
            let mut outcome = match (outcome, failure) {
                (lane::Outcome::Published, _) => Outcome::Published,
                (lane::Outcome::Retry | lane::Outcome::Dead, Some(failure)) if !self.over => {
                    failure.clone()
                }
                _ => Outcome::Release,
            };
            let target = match claimed {
                Claimed::Message(delivery) | Claimed::Poison(delivery) => {
                    self.add_notice(&delivery, &mut outcome);
                    Target::from(&delivery)
                }
                Claimed::Unreadable(target, _) => target,
            };
            self.decided_since.get_or_insert_with(Instant::now);
            self.decided.push(Settlement { target, outcome });
        }
    }

    /// Adds to a death what is told of it.
    fn add_notice(&self, delivery: &Delivery, outcome: &mut Outcome) {
        if let (
            Some(hook),
            Outcome::Dead {
                reason,
                error,
                notice,
                ..
            },
        ) = (&self.notices, outcome)
        {
            let death = Death::new(delivery, *reason, error);
            *notice = notice::notice(&**hook, &death);
        }
    }

    /// Whether every message has an outcome, so that the next settlement gives the lane back.
    pub(crate) fn is_decided(&self) -> bool {
        self.undecided.is_empty() && self.settling.is_none() && !self.reading
    }

    /// How many outcomes wait to be recorded.
    pub(crate) fn decided(&self) -> usize {
        self.decided.len()
    }

    /// Since when an outcome waits to be recorded.
    pub(crate) fn decided_since(&self) -> Option<Instant> {
        self.decided_since.filter(|_| self.settling.is_none())
    }

    /// Whether an outcome should be recorded at once, because its key goes on only after it.
    pub(crate) fn is_urgent(&self) -> bool {
        self.settling.is_none()
            && self
                .decided
                .iter()
                .any(|it| matches!(it.outcome, Outcome::Dead { .. }))
    }

    /// Takes out everything that is to be recorded.
    pub(crate) fn take(&mut self) -> LaneSettlement {
        let release = self.is_decided();
        self.settling = Some(self.decided.len());
        self.decided_since = None;
        LaneSettlement {
            token: self.leased.token.clone(),
            outcomes: std::mem::take(&mut self.decided),
            release,
        }
    }

    /// Takes in what was recorded. Whether the relay is done with the lane.
    pub(crate) fn recorded(&mut self, recorded: Recorded) -> bool {
        self.settling = None;
        for settlement in &recorded.taken {
            self.rules.settled(settlement.target.position);
        }
        if recorded.failed {
            self.failures += 1;
            // While its settlement fails, nothing more of the lane is published.
            self.release();
            self.decided.splice(0..0, recorded.unrecorded);
            self.decided_since.get_or_insert_with(Instant::now);
        } else {
            self.failures = 0;
        }
        if recorded.lost || self.over {
            self.end_lease();
        }
        recorded.released
    }
}

/// How long a run of this message's key may be: a message that was tried before goes alone, so that a failure names it.
pub(crate) fn run_limit(head: &Delivery, destination_limit: usize) -> usize {
    if head.tries > 0 { 1 } else { destination_limit }
}
