//! What a settlement asks of the database, sorted by kind: a pure plan over the outcomes of the lanes that are held, and of those that are not.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use outbox_message::{LaneToken, OrderingKey, Position};
use outbox_store::{AfterDeath, DeathReason, LaneSettlement, MAX_DELAY, Outcome, Target};

use crate::clock::millis;

/// A token that is given once in a call, and whether its lane is given back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fence<'a> {
    pub(super) token: &'a LaneToken,
    pub(super) release: bool,
}

/// The tokens to check: of each lane the newest, since an older one cannot be held any more.
pub(super) fn fences(lanes: &[LaneSettlement]) -> Vec<Fence<'_>> {
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
pub(super) struct Failure<'a> {
    pub(super) lane: u16,
    pub(super) position: i64,
    pub(super) tries: u32,
    pub(super) counted: bool,
    pub(super) error: &'a str,
    pub(super) key: Option<&'a OrderingKey>,
    pub(super) next: Next,
}

/// Where a failed message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// It stays where it is, due at once.
    Stay,
    /// It waits this many milliseconds.
    Wait(i64),
    /// It is given up on.
    Die(DeathReason, AfterDeath),
}

/// A message the broker confirmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Confirmed<'a> {
    pub(super) lane: u16,
    pub(super) position: i64,
    pub(super) id: &'a str,
    pub(super) key: Option<&'a OrderingKey>,
}

/// A start mark to be taken back: lane, position, holder.
pub(super) type Mark<'a> = (u16, i64, &'a str);

/// The outcomes of a settlement by kind.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan<'a> {
    pub(super) confirmed: Vec<Confirmed<'a>>,
    pub(super) failures: Vec<Failure<'a>>,
    /// Messages of held lanes that are given back untried, as lane and position.
    pub(super) released: Vec<(u16, i64)>,
    /// Marks of messages that were released, and of all messages of lanes that are lost.
    pub(super) marks: Vec<Mark<'a>>,
}

impl<'a> Plan<'a> {
    fn release(&mut self, mark: Mark<'a>) {
        self.released.push((mark.0, mark.1));
        self.marks.push(mark);
    }
}

/// Sorts the outcomes of all lanes; `held` says of each whether its token holds. Of a lost lane only confirmations count (contract D2).
pub(super) fn plan<'a>(lanes: &'a [LaneSettlement], held: &[bool]) -> Plan<'a> {
    let mut plan = Plan::default();
    for (settlement, held) in lanes.iter().zip(held) {
        let token = &settlement.token;
        let first = first_retries(settlement);
        for outcome in &settlement.outcomes {
            let Target { position, id, .. } = &outcome.target;
            let mark = (token.lane.0, position.0, &*token.holder);
            match &outcome.outcome {
                Outcome::Published => {
                    plan.confirmed.extend(id.as_ref().map(|id| Confirmed {
                        lane: token.lane.0,
                        position: position.0,
                        id: id.as_str(),
                        key: outcome.target.key.as_ref(),
                    }));
                    if !held {
                        plan.marks.push(mark);
                    }
                }
                _ if !held => plan.marks.push(mark),
                Outcome::Release => plan.release(mark),
                Outcome::Retry {
                    after,
                    counted,
                    error,
                } => {
                    if is_first(&first, &outcome.target) {
                        let next = after_delay(*after);
                        plan.failures
                            .push(failure(token, &outcome.target, *counted, error, next));
                    } else {
                        plan.release(mark);
                    }
                }
                Outcome::Dead {
                    reason,
                    error,
                    after,
                } => {
                    // A message that cannot be read, or ended its process, never failed at a broker.
                    let counted = !matches!(reason, DeathReason::Poison | DeathReason::Unreadable);
                    let next = Next::Die(*reason, *after);
                    plan.failures
                        .push(failure(token, &outcome.target, counted, error, next));
                }
            }
        }
    }
    plan
}

fn failure<'a>(
    token: &LaneToken,
    target: &'a Target,
    counted: bool,
    error: &'a str,
    next: Next,
) -> Failure<'a> {
    Failure {
        lane: token.lane.0,
        position: target.position.0,
        tries: target.tries,
        counted,
        error,
        key: target.key.as_ref(),
        next,
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
mod tests {
    use std::sync::Arc;

    use outbox_message::Lane;
    use outbox_store::Settlement;

    use super::*;

    fn token(epoch: i64) -> LaneToken {
        LaneToken {
            lane: Lane(1),
            epoch,
            holder: Arc::from("h"),
        }
    }

    fn settlement(epoch: i64, release: bool, outcomes: Vec<Settlement>) -> LaneSettlement {
        LaneSettlement {
            token: token(epoch),
            outcomes,
            release,
        }
    }

    fn of(position: i64, key: Option<&str>, outcome: Outcome) -> Settlement {
        Settlement {
            target: Target {
                position: Position(position),
                tries: 0,
                id: Some("id".parse().unwrap()),
                key: key.map(|key| OrderingKey {
                    topic: "t".parse().unwrap(),
                    key: key.parse().unwrap(),
                }),
            },
            outcome,
        }
    }

    fn retry(after: Option<Duration>) -> Outcome {
        Outcome::Retry {
            after,
            counted: true,
            error: "refused".into(),
        }
    }

    #[test]
    fn a_token_given_twice_is_one_fence_and_an_older_one_is_none() {
        let lanes = [
            settlement(4, true, vec![]),
            settlement(5, false, vec![]),
            settlement(5, true, vec![]),
        ];
        let fences = fences(&lanes);
        assert_eq!(fences.len(), 1);
        assert_eq!((fences[0].token.epoch, fences[0].release), (5, true));
    }

    #[test]
    fn s8_of_several_retries_of_a_key_the_smallest_position_counts() {
        let lanes = [settlement(
            1,
            true,
            vec![
                of(3, Some("a"), retry(None)),
                of(2, Some("a"), retry(None)),
                of(4, Some("b"), retry(None)),
                of(5, None, retry(None)),
                of(6, None, retry(None)),
            ],
        )];
        let plan = plan(&lanes, &[true]);
        let failed: Vec<i64> = plan.failures.iter().map(|f| f.position).collect();
        assert_eq!(failed, [2, 4, 5, 6]);
        assert_eq!(plan.released, [(1, 3)]);
        assert_eq!(plan.marks, [(1, 3, "h")]);
    }

    #[test]
    fn d2_of_a_lost_lane_only_confirmations_count() {
        let lanes = [settlement(
            1,
            true,
            vec![
                of(1, None, Outcome::Published),
                of(2, None, retry(None)),
                of(3, None, Outcome::Release),
            ],
        )];
        let plan = plan(&lanes, &[false]);
        assert_eq!(plan.confirmed.len(), 1);
        assert_eq!((plan.failures, plan.released), (vec![], vec![]));
        assert_eq!(plan.marks.len(), 3);
    }

    #[test]
    fn f2_delays_are_clamped_to_a_year_and_zero_stays() {
        let next = |after| after_delay(after);
        assert_eq!(next(None), Next::Stay);
        assert_eq!(next(Some(Duration::ZERO)), Next::Stay);
        assert_eq!(next(Some(Duration::from_nanos(1))), Next::Wait(1));
        assert_eq!(next(Some(Duration::MAX)), Next::Wait(millis(MAX_DELAY)));
    }

    #[test]
    fn f7_a_row_that_cannot_be_read_dies_without_a_counted_failure() {
        let dead = |reason| Outcome::Dead {
            reason,
            error: "e".into(),
            after: AfterDeath::Skip,
        };
        let lanes = [settlement(
            1,
            true,
            vec![
                of(1, None, dead(DeathReason::Unreadable)),
                of(2, None, dead(DeathReason::Exhausted)),
            ],
        )];
        let counted: Vec<bool> = plan(&lanes, &[true])
            .failures
            .iter()
            .map(|failure| failure.counted)
            .collect();
        assert_eq!(counted, [false, true]);
    }
}
