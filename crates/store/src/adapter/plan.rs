//! What a settlement asks of the database, sorted by kind: a pure plan over the outcomes of the lanes that are held, and of those that are not.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use outbox_message::{LaneToken, MAX_PAYLOAD_BYTES, Message, OrderingKey, Position};

use crate::{
    AfterDeath, DeathReason, LaneSettlement, MAX_DELAY, Outcome, Settlement, Target,
    adapter::millis,
};

/// A token that is given once in a call, and whether its lane is given back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence<'a> {
    /// The token.
    pub token: &'a LaneToken,
    /// Whether the lane is given back, if the token holds.
    pub release: bool,
}

/// The tokens to check: of each lane the newest, since an older one cannot be held any more.
pub fn fences(lanes: &[LaneSettlement]) -> Vec<Fence<'_>> {
    let mut newest: BTreeMap<u16, Fence<'_>> = BTreeMap::new();
    for LaneSettlement { token, release, .. } in lanes {
        let fence = newest.entry(token.lane.0).or_insert(Fence {
            token,
            release: false,
        });
        if token.epoch > fence.token.epoch {
            *fence = Fence {
                token,
                release: false,
            };
        }
        if token == fence.token {
            fence.release |= release;
        }
    }
    newest.into_values().collect()
}

/// A message that failed: what its row becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed<'a> {
    /// Its lane, whose token holds.
    pub lane: u16,
    /// Its number in the store's order.
    pub position: i64,
    /// The tries it was claimed with; the outcome applies only while its row has them (S7).
    pub tries: u32,
    /// Whether `attempts` grows by one; `tries` always does.
    pub counted: bool,
    /// Why, cleaned.
    pub error: &'a str,
    /// Its ordering key, if it has one that can be read.
    pub key: Option<&'a OrderingKey>,
    /// Where it goes.
    pub next: Next,
    /// What is saved when its death is recorded (S16). One that no table takes is left out, or the death could not be recorded either (F7).
    pub notice: Option<&'a Message>,
}

impl Failed<'_> {
    /// Whether it is given up on.
    pub fn dies(&self) -> bool {
        matches!(self.next, Next::Die(..))
    }

    /// Whether its death holds its key.
    pub fn holds(&self) -> bool {
        self.key.is_some() && matches!(self.next, Next::Die(_, AfterDeath::Hold))
    }
}

/// Where a failed message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// It stays where it is, due at once.
    Stay,
    /// It waits this many milliseconds, more than none and at most [`MAX_DELAY`]: with a key it waits and blocks it, without one it is scheduled.
    Wait(i64),
    /// It is given up on.
    Die(DeathReason, AfterDeath),
}

/// A message the broker confirmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmed<'a> {
    /// The lane it was claimed in.
    pub lane: u16,
    /// Its number in the store's order.
    pub position: i64,
    /// Its id; a row is removed only if it matches.
    pub id: &'a str,
    /// Its ordering key, if it has one.
    pub key: Option<&'a OrderingKey>,
}

/// A start mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark<'a> {
    /// The lane of the message.
    pub lane: u16,
    /// The message's number in the store's order.
    pub position: i64,
    /// The holder who was about to hand it over.
    pub holder: &'a str,
}

/// What a settlement asks besides the removal of what is [`confirmed`].
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Plan<'a> {
    /// The failures to record; of several retries of a key only the smallest position is among them.
    pub failed: Vec<Failed<'a>>,
    /// Messages of held lanes that are given back untried, as lane and position.
    pub released: Vec<(u16, i64)>,
    /// Marks to be taken back: of messages that are given back, and of all messages of lanes that are lost.
    pub marks: Vec<Mark<'a>>,
}

impl<'a> Plan<'a> {
    fn release(&mut self, mark: Mark<'a>) {
        self.released.push((mark.lane, mark.position));
        self.marks.push(mark);
    }
}

/// What the broker confirmed, in all lanes: it is removed whether the token holds or not, because it is a fact (contract D2).
pub fn confirmed(lanes: &[LaneSettlement]) -> Vec<Confirmed<'_>> {
    let mut confirmed = Vec::new();
    for LaneSettlement {
        token, outcomes, ..
    } in lanes
    {
        let published = outcomes
            .iter()
            .filter(|settlement| settlement.outcome == Outcome::Published);
        confirmed.extend(published.filter_map(|Settlement { target, .. }| {
            Some(Confirmed {
                lane: token.lane.0,
                position: target.position.0,
                id: target.id.as_ref()?.as_str(),
                key: target.key.as_ref(),
            })
        }));
    }
    confirmed
}

/// Sorts the other outcomes of all lanes; `held` says of each element of `lanes` whether its token holds. Of a lost lane none counts (contract D2).
pub fn plan<'a>(lanes: &'a [LaneSettlement], held: &[bool]) -> Plan<'a> {
    let mut plan = Plan::default();
    for (settlement, held) in lanes.iter().zip(held) {
        let token = &settlement.token;
        let first = first_retries(settlement);
        for outcome in &settlement.outcomes {
            let mark = Mark {
                lane: token.lane.0,
                position: outcome.target.position.0,
                holder: &token.holder,
            };
            match &outcome.outcome {
                _ if !held => plan.marks.push(mark),
                Outcome::Published => {}
                Outcome::Release => plan.release(mark),
                Outcome::Retry {
                    after,
                    counted,
                    error,
                } => {
                    if is_first(&first, &outcome.target) {
                        let next = after_delay(*after);
                        plan.failed
                            .push(failed(token, &outcome.target, *counted, error, next));
                    } else {
                        plan.release(mark);
                    }
                }
                Outcome::Dead {
                    reason,
                    error,
                    after,
                    notice,
                } => {
                    // A message that cannot be read, or ended its process, never failed at a broker.
                    let counted = !matches!(reason, DeathReason::Poison | DeathReason::Unreadable);
                    let next = Next::Die(*reason, *after);
                    let fits = |notice: &&Message| notice.check_payload(MAX_PAYLOAD_BYTES).is_ok();
                    plan.failed.push(Failed {
                        notice: notice.as_deref().filter(fits),
                        ..failed(token, &outcome.target, counted, error, next)
                    });
                }
            }
        }
    }
    plan
}

fn failed<'a>(
    token: &LaneToken,
    target: &'a Target,
    counted: bool,
    error: &'a str,
    next: Next,
) -> Failed<'a> {
    Failed {
        lane: token.lane.0,
        position: target.position.0,
        tries: target.tries,
        counted,
        error,
        key: target.key.as_ref(),
        next,
        notice: None,
    }
}

fn after_delay(after: Option<Duration>) -> Next {
    match millis(after.unwrap_or_default().min(MAX_DELAY)) {
        0 => Next::Stay,
        delay => Next::Wait(delay),
    }
}

/// Of several retries of one key the smallest position (S8).
fn first_retries(settlement: &LaneSettlement) -> HashMap<&OrderingKey, Position> {
    let mut first = HashMap::new();
    for outcome in &settlement.outcomes {
        if let (Outcome::Retry { .. }, Some(key)) = (&outcome.outcome, &outcome.target.key) {
            let position = outcome.target.position;
            let smallest = first.entry(key).or_insert(position);
            *smallest = position.min(*smallest);
        }
    }
    first
}

fn is_first(first: &HashMap<&OrderingKey, Position>, target: &Target) -> bool {
    target
        .key
        .as_ref()
        .and_then(|key| first.get(key))
        .is_none_or(|position| *position == target.position)
}

#[cfg(test)]
mod tests;
