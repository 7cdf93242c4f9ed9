//! A relay of the world: it drives real lanes and settles what they decide.

use std::collections::BTreeMap;

use super::{Action, Id, Key, LEASE, World};
use crate::history::What;
use crate::lane::{Lane, Outcome, Run, Verdict};
use crate::model::{self, LeaseId};
use crate::state::State;

/// What one relay knows of one lane that it claimed.
#[derive(Debug)]
pub(super) struct Claimed {
    pub(super) lease: LeaseId,
    pub(super) lane: u32,
    pub(super) until: u64,
    pub(super) machine: Lane<Key, i64>,
    pub(super) ids: BTreeMap<i64, Id>,
    pub(super) runs: Vec<Run<i64>>,
    pub(super) unsettled: Vec<(i64, model::Outcome)>,
}

impl Claimed {
    pub(super) fn decide(&mut self, outcomes: Vec<(i64, Outcome)>, verdict: Verdict, after: u64) {
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

impl World {
    /// Lets a relay do something with a lane that it claimed. Returns the lane unless it is over.
    pub(super) fn work(&mut self, mut claimed: Claimed, action: Action) -> Option<Claimed> {
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
}
