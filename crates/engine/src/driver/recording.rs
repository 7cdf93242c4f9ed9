//! Settling what was decided, grouped, and renewing leases: one call of the store at a time.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use outbox_message::{Lane, LaneToken};
use outbox_store::{Outcome, StoreError};
use tokio::time::Instant;
use tracing::{debug, warn};

use super::{Driver, Event, Mode, claiming::LEFT_OUT};
use crate::{
    RelayError,
    clock::Asked,
    held::Held,
    settle::{Care, Recorded, settle},
};

/// How long a finished lane waits for the other lanes of its claim, to be settled with them.
const LINGER: Duration = Duration::from_millis(20);
/// How long an outcome waits for the rest of its lane: one slow key costs one settlement more.
const PARTIAL: Duration = Duration::from_secs(1);
/// A lane whose lease is over is left to it after this many failed settlements.
const GIVE_UP: u32 = 5;

/// What the relay knows about recording.
#[derive(Debug)]
pub(super) struct Recording {
    /// A settlement or a renewal is under way: never both, so that neither meets a token that the other changes.
    pub(super) under_way: bool,
    /// Not before this: the last try failed.
    next: Instant,
    renewal_failed: bool,
}

impl Recording {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            under_way: false,
            next: now,
            renewal_failed: false,
        }
    }
}

impl Driver {
    /// When something is to be settled or renewed; `None` while a call is under way or nothing is held.
    pub(super) fn record_at(&self, now: Instant) -> Option<Instant> {
        if self.recording.under_way {
            return None;
        }
        let settle = self
            .held
            .values()
            .filter_map(|held| self.settle_at(held, now));
        let renew = self.held.values().filter_map(|held| self.renew_at(held));
        let at = settle.chain(renew).min()?;
        Some(at.max(self.recording.next))
    }

    /// When this lane is to be settled, if it has anything to settle.
    fn settle_at(&self, held: &Held, now: Instant) -> Option<Instant> {
        let since = held.decided_since();
        if held.is_decided() {
            let claim_decided = self
                .held
                .values()
                .all(|other| other.claim != held.claim || other.is_decided());
            let at_once = claim_decided || held.over || self.stopping.is_some();
            return Some(if at_once {
                now
            } else {
                since.unwrap_or(now) + LINGER
            });
        }
        let since = since?;
        // A lane that is read on may have more to record than a claim gives.
        Some(if held.is_urgent() || held.decided() >= self.config.batch {
            now
        } else {
            since + PARTIAL
        })
    }

    /// When this lane is to be renewed. One whose settlement fails is not: its lease is what ends the tries.
    fn renew_at(&self, held: &Held) -> Option<Instant> {
        (!held.over && held.failures == 0).then(|| held.lease.renew_at(self.config.renewal))
    }

    /// Renews leases that are due, and otherwise settles what is due with everything that can be settled at the same
    /// time. Renewals are rare and come first, so that a settlement that keeps failing costs no other lane its lease.
    pub(super) fn start_recording(&mut self, now: Instant) {
        if self.record_at(now).is_none_or(|at| at > now) {
            return;
        }
        let renew_at = |held: &Held| self.renew_at(held);
        let renew = self.held.values().filter_map(renew_at).any(|at| at <= now);
        // After a renewal that failed it is the settlements' turn: one that keeps failing must not stop them either.
        if renew && !std::mem::take(&mut self.recording.renewal_failed) {
            return self.start_renewal();
        }
        let due = |held: &Held| self.settle_at(held, now).is_some_and(|at| at <= now);
        if self.held.values().any(due) {
            let lanes: BTreeSet<Lane> = self
                .held
                .values()
                .filter(|held| held.is_decided() || due(held))
                .map(Held::lane)
                .collect();
            self.start_settlement(&lanes);
        } else if renew {
            self.start_renewal();
        }
    }

    fn start_settlement(&mut self, lanes: &BTreeSet<Lane>) {
        let mut failures = 0;
        let mut settlements = Vec::with_capacity(lanes.len());
        for held in self
            .held
            .values_mut()
            .filter(|held| lanes.contains(&held.lane()))
        {
            failures = failures.max(held.failures);
            settlements.push(held.take());
        }
        self.recording.under_way = true;
        let store = Arc::clone(&self.store);
        self.tasks.spawn(async move {
            Event::Settled(settle(&*store, settlements, Care::after(failures)).await)
        });
    }

    /// Renews all leases together: one statement.
    fn start_renewal(&mut self) {
        let tokens: Vec<LaneToken> = self
            .held
            .values()
            .filter(|held| self.renew_at(held).is_some())
            .map(|held| held.leased.token.clone())
            .collect();
        self.recording.under_way = true;
        let (store, lease, asked) = (
            Arc::clone(&self.store),
            self.config.lease,
            Asked::now(&self.wall),
        );
        self.tasks.spawn(async move {
            let result = store.extend(&tokens, lease).await;
            Event::Extended(asked, tokens, result)
        });
    }

    pub(super) fn settled(&mut self, recorded: Vec<Recorded>) {
        self.recording.under_way = false;
        let failed = recorded.iter().any(|lane| lane.failed);
        if failed {
            self.recording.next = Instant::now() + self.pause.idle(None);
        } else {
            self.store_answered();
        }
        for mut lane in recorded {
            self.count(&lane);
            let errors = std::mem::take(&mut lane.errors);
            self.lane_settled(lane, errors);
        }
    }

    fn lane_settled(&mut self, recorded: Recorded, errors: Vec<StoreError>) {
        let (lane, failed) = (recorded.lane, recorded.failed);
        let Some(held) = self.held.get_mut(&lane) else {
            return;
        };
        let lost = recorded.lost && !held.over;
        let released = held.recorded(recorded);
        let given_up = held.over && held.failures >= GIVE_UP;
        if lost {
            self.lose(lane, "the settlement came too late");
        }
        if released {
            self.held.remove(&lane);
            self.claiming.released();
        }
        if failed {
            self.left_out.insert(lane, Instant::now() + LEFT_OUT);
        }
        if given_up && let Some(held) = self.held.remove(&lane) {
            self.report.left += u64::try_from(held.unrecorded()).unwrap_or(u64::MAX);
            warn!(relay = %self.config.name, %lane, "a lane is left to its lease: its settlement keeps failing");
        }
        for error in errors {
            if given_up && self.mode != Mode::Run {
                self.report.store_errors += 1;
                let report = self.report;
                self.fail(RelayError::Unrecorded {
                    report,
                    source: error,
                });
            } else {
                self.store_failed(error);
            }
        }
    }

    /// Counts what the store took, and logs deaths.
    fn count(&mut self, lane: &Recorded) {
        let over = lane.lost || self.held.get(&lane.lane).is_some_and(|held| held.over);
        for settlement in &lane.taken {
            let missed = lane.missed.contains(&settlement.target.position);
            let report = &mut self.report;
            match &settlement.outcome {
                Outcome::Release if over => report.lost += 1,
                Outcome::Release => report.released += 1,
                _ if missed => report.lost += 1,
                Outcome::Published => report.published += 1,
                Outcome::Retry { .. } => report.retried += 1,
                Outcome::Dead {
                    reason,
                    error,
                    after,
                    notice,
                } => {
                    report.dead += 1;
                    warn!(
                        relay = %self.config.name,
                        id = settlement.target.id.as_ref().map(tracing::field::display),
                        key = settlement.target.key.as_ref().map(tracing::field::debug),
                        position = %settlement.target.position,
                        reason = reason.as_str(),
                        after = after.as_str(),
                        notice = notice.as_ref().map(|it| tracing::field::display(&it.topic)),
                        error,
                        "a message is dead"
                    );
                }
            }
        }
    }

    pub(super) fn extended(
        &mut self,
        asked: Asked,
        tokens: &[LaneToken],
        result: Result<Vec<LaneToken>, StoreError>,
    ) {
        self.recording.under_way = false;
        let lost = match result {
            Ok(lost) => lost,
            Err(error) => {
                self.recording.renewal_failed = true;
                self.recording.next = Instant::now() + self.pause.idle(None);
                return self.store_failed(error);
            }
        };
        self.store_answered();
        for token in tokens {
            if lost.contains(token) {
                self.lose(token.lane, "it could not be renewed");
            } else if let Some(held) = self.held.get_mut(&token.lane) {
                held.lease = asked.lease(self.config.lease);
            }
        }
        debug!(
            renewed = tokens.len() - lost.len(),
            lost = lost.len(),
            "leases renewed"
        );
    }
}
