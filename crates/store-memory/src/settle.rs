//! Settlements: what happened to claimed messages is recorded under the fence of their lane, and the lane is given back.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use outbox_message::{Lane, LaneToken, MAX_PAYLOAD_BYTES, Message, OrderingKey, Position};
use outbox_store::{
    AfterDeath, DeathReason, LaneSettled, LaneSettlement, MAX_DELAY, Outcome, Settlement, Target,
};

use crate::{
    blocks::{Block, NEVER, Reason},
    clock::millis,
    state::{DeadRow, Row, State},
};

/// One settlement in the making.
struct Settling<'a> {
    state: &'a mut State,
    now: i64,
    token: &'a LaneToken,
    /// Of the retries of each key, the smallest position; the others are released (S8).
    first_retries: BTreeMap<OrderingKey, Position>,
    /// Keys blocked by a retry of this settlement.
    blocked: BTreeSet<OrderingKey>,
    /// Keys of which a message that was set aside is gone, so that they may go on.
    freed: BTreeSet<OrderingKey>,
    /// How many messages were published, failed or died (F6).
    completed: u64,
}

/// Where a claimed message stands.
enum Place {
    Line,
    Waiting(OrderingKey),
}

impl State {
    /// Records the outcomes of one lane.
    pub(crate) fn settle(&mut self, now: i64, settlement: &LaneSettlement) -> LaneSettled {
        let token = &settlement.token;
        if !self.holds(token) {
            return self.settle_lost(now, settlement);
        }
        let mut settling = Settling {
            state: self,
            now,
            token,
            first_retries: first_retries(&settlement.outcomes),
            blocked: BTreeSet::new(),
            freed: BTreeSet::new(),
            completed: 0,
        };
        let outcomes = settlement.outcomes.iter();
        let missed = outcomes.filter(|settlement| !settling.apply(settlement));
        let missed = missed
            .map(|settlement| settlement.target.position)
            .collect();
        settling.finish();
        if settlement.release {
            let turn = self.draw_turn();
            let lane = self.lane_mut(token.lane);
            lane.turn = turn;
            lane.release();
        }
        LaneSettled {
            lost: false,
            missed,
        }
    }

    /// The token is stale: only facts count. What the broker confirmed is removed, if position and id match, and the marks of
    /// the late holder are taken back, since its process is alive (D2).
    fn settle_lost(&mut self, now: i64, settlement: &LaneSettlement) -> LaneSettled {
        let LaneToken { lane, holder, .. } = &settlement.token;
        let mut missed = Vec::new();
        for Settlement { target, outcome } in &settlement.outcomes {
            self.take_mark_back(*lane, target.position, holder);
            let removed = *outcome == Outcome::Published
                && self.remove_published(now, *lane, target).is_some();
            if !removed {
                missed.push(target.position);
            }
        }
        LaneSettled { lost: true, missed }
    }

    /// Takes a confirmed message out of what is pending, wherever it stands by now, and keeps it as published if such are kept.
    fn remove_published(&mut self, now: i64, lane: Lane, target: &Target) -> Option<Place> {
        let (place, row) = self.take_confirmed(lane, target)?;
        self.published.keep(now, lane, target.position, row);
        Some(place)
    }

    fn take_confirmed(&mut self, lane: Lane, target: &Target) -> Option<(Place, Row)> {
        if let Some(place) = self.find(lane, target, |row| {
            target.id.as_ref() == Some(&row.message.id)
        }) {
            let row = self.take(lane, target.position, &place)?;
            return Some((place, row));
        }
        // Its next holder may have recorded a failure meanwhile, and without a key it waits among the scheduled ones.
        let first = (lane, i64::MIN, Position(i64::MIN));
        let last = (lane, i64::MAX, Position(i64::MAX));
        let mut retries = self.scheduled.range(first..=last);
        let at = retries.find(|((_, _, position), row)| {
            *position == target.position && target.id.as_ref() == Some(&row.message.id)
        });
        let at = *at?.0;
        let row = self.scheduled.remove(&at)?;
        Some((Place::Line, row))
    }

    fn find(&self, lane: Lane, target: &Target, matches: impl Fn(&Row) -> bool) -> Option<Place> {
        if let Some(row) = self.line.get(lane, target.position) {
            return matches(row).then_some(Place::Line);
        }
        let key = target.key.as_ref()?;
        let row = self.waiting.get(key)?.get(&target.position)?;
        matches(row).then(|| Place::Waiting(key.clone()))
    }

    fn take(&mut self, lane: Lane, position: Position, place: &Place) -> Option<Row> {
        match place {
            Place::Line => self.line.remove(lane, position),
            Place::Waiting(key) => self.take_waiting(key, position),
        }
    }

    fn take_mark_back(&mut self, lane: Lane, position: Position, holder: &str) {
        if let Some(holders) = self.starts.get_mut(&(lane, position)) {
            holders.remove(holder);
            if holders.is_empty() {
                self.starts.remove(&(lane, position));
            }
        }
    }
}

impl Settling<'_> {
    /// Applies one outcome, if the message still has the tries it was claimed with (S7). `false` if it changed nothing.
    fn apply(&mut self, settlement: &Settlement) -> bool {
        let Settlement { target, outcome } = settlement;
        let lane = self.token.lane;
        // A confirmation is a fact, whatever was recorded before.
        if *outcome == Outcome::Published {
            let Some(place) = self.state.remove_published(self.now, lane, target) else {
                return false;
            };
            self.completed += 1;
            self.freed.extend(place.key().cloned());
            return true;
        }
        let found = self
            .state
            .find(lane, target, |row| row.tries == target.tries);
        let Some(place) = found else {
            return false;
        };
        match outcome {
            Outcome::Retry {
                after,
                counted,
                error,
            } if self.is_first_retry(target) => {
                let after = after.unwrap_or(Duration::ZERO);
                self.retry(target.position, &place, after, *counted, error);
            }
            Outcome::Dead {
                reason,
                error,
                after,
                notice,
            } => {
                let recorded = self.die(target.position, &place, *reason, error, *after);
                let fits = |it: &&Message| it.check_payload(MAX_PAYLOAD_BYTES).is_ok();
                if recorded && let Some(notice) = notice.as_deref().filter(fits) {
                    self.state.save(notice.clone(), self.now);
                }
            }
            _ => self
                .state
                .take_mark_back(lane, target.position, &self.token.holder),
        }
        true
    }

    fn is_first_retry(&self, target: &Target) -> bool {
        let first = target
            .key
            .as_ref()
            .and_then(|key| self.first_retries.get(key));
        first.is_none_or(|first| *first == target.position)
    }

    /// Without a delay a message stays due and in its place (F8). With one, it waits and holds its key (O6), or, without a key, nobody.
    fn retry(
        &mut self,
        position: Position,
        place: &Place,
        after: Duration,
        counted: bool,
        error: &str,
    ) {
        let (lane, now) = (self.token.lane, self.now);
        let Some(mut row) = self.state.take(lane, position, place) else {
            return;
        };
        row.attempts = row.attempts.saturating_add(u32::from(counted));
        row.tries = row.tries.saturating_add(1);
        row.last_error = Some(error.to_owned());
        self.completed += 1;
        let until = now.saturating_add(millis(after.min(MAX_DELAY)));
        match (row.key.clone(), place) {
            (_, Place::Line) if until == now => {
                self.state.line.insert(lane, position, row);
            }
            (None, _) => {
                self.state.scheduled.insert((lane, until, position), row);
            }
            (Some(key), _) => {
                self.state.set_aside(lane, position, row);
                let block = Block {
                    lane,
                    reason: Reason::Retry,
                    until,
                    position,
                };
                self.state.block(&key, block);
                self.blocked.insert(key);
            }
        }
    }

    /// Whether it is recorded.
    fn die(
        &mut self,
        position: Position,
        place: &Place,
        reason: DeathReason,
        error: &str,
        after: AfterDeath,
    ) -> bool {
        let lane = self.token.lane;
        let Some(mut row) = self.state.take(lane, position, place) else {
            return false;
        };
        // Neither a process that ended nor a row that cannot be read is a failure the broker counted.
        let counted = !matches!(reason, DeathReason::Poison | DeathReason::Unreadable);
        row.attempts = row.attempts.saturating_add(u32::from(counted));
        row.tries = row.tries.saturating_add(1);
        self.completed += 1;
        match (&row.key, after) {
            (Some(key), AfterDeath::Hold) => {
                let block = Block {
                    lane,
                    reason: Reason::Dead,
                    until: NEVER,
                    position,
                };
                self.state.block(key, block);
            }
            _ => self.freed.extend(place.key().cloned()),
        }
        let dead = DeadRow {
            row,
            reason: reason.as_str(),
            error: error.to_owned(),
            after,
            died_at: self.now,
        };
        self.state.dead.insert(position, dead);
        true
    }

    /// What follows from all outcomes together.
    fn finish(self) {
        for key in self.freed.difference(&self.blocked) {
            self.state.go_on(key, self.now);
        }
        if self.completed > 0 {
            // Something of the lane ended well or on record, so nothing is "in a row" any more.
            let lane = self.token.lane;
            self.state.starts.retain(|(of, _), _| *of != lane);
            let row = self.state.lane_mut(lane);
            row.careful = row.careful.saturating_sub(self.completed);
        }
    }
}

impl Place {
    fn key(&self) -> Option<&OrderingKey> {
        match self {
            Self::Line => None,
            Self::Waiting(key) => Some(key),
        }
    }
}

/// Of the retries of each key, the smallest position. It is chosen whether or not it still applies, so that a settlement sent
/// again does not choose another.
fn first_retries(outcomes: &[Settlement]) -> BTreeMap<OrderingKey, Position> {
    let mut first = BTreeMap::new();
    for Settlement { target, outcome } in outcomes {
        if let (Outcome::Retry { .. }, Some(key)) = (outcome, &target.key) {
            let smallest = first.entry(key.clone()).or_insert(target.position);
            *smallest = target.position.min(*smallest);
        }
    }
    first
}
