//! What settlements and renewals do, and what a stale token still does.

use std::collections::BTreeMap;

use super::{Block, Fault, Given, LeaseId, Model};
use crate::state::{AfterDeath, State, Step};

/// What happened to one claimed message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The broker confirmed it.
    Published,
    /// It failed and is tried again.
    Retry {
        /// After this many milliseconds; `None` or 0 leaves it due and in its place (F8).
        after: Option<u64>,
        /// Whether it counts as an attempt; it always counts as a try.
        counted: bool,
    },
    /// It is given up on, by a failure that counts.
    Dead(AfterDeath),
    /// It is given back untried.
    Release,
}

impl<K: Ord + Clone, I: Eq + Clone> Model<K, I> {
    /// Takes over a settlement of messages of one lease, each named by its position.
    ///
    /// `release` gives the lane back with it. `lost` is the real store's answer: whether it took the
    /// token as stale. A lease that has ended but was not taken over may be answered either way. An
    /// outcome for a message that has been tried or claimed again since changes nothing, so the same
    /// settlement sent twice counts once; but a confirmation always removes the pending message of
    /// that position and id, whatever the token (D2).
    ///
    /// # Errors
    /// [`Fault::Fence`] if the answer is wrong; the model is then as it was.
    pub fn settle(
        &mut self,
        lease: LeaseId,
        outcomes: &[(i64, Outcome)],
        release: bool,
        lost: bool,
    ) -> Result<(), Fault> {
        self.check_fence(lease, lost)?;
        for (position, outcome) in outcomes {
            if *outcome == Outcome::Published {
                self.publish(lease, *position);
            }
        }
        if lost {
            return Ok(());
        }
        let first_retries = self.first_retries(lease, outcomes);
        for (position, outcome) in outcomes {
            let Some(index) = self.held(lease, *position) else {
                continue;
            };
            let key = self.messages[index].key.clone();
            match *outcome {
                // Of several retries of one key the first counts and the others are released.
                Outcome::Retry { after, counted }
                    if key
                        .as_ref()
                        .is_none_or(|key| first_retries[key] == *position) =>
                {
                    self.retry(index, *position, after.unwrap_or(0), counted);
                }
                Outcome::Dead(after) => self.bury(index, *position, after),
                Outcome::Retry { .. } | Outcome::Release => self.take(index, Step::Release),
                Outcome::Published => {}
            }
        }
        if release {
            self.lapse(self.leases[lease.0].lane);
        }
        Ok(())
    }

    /// Takes over a renewal: the lease ends `by` milliseconds from now. `lost` is the real store's
    /// answer, as in [`settle`](Self::settle).
    ///
    /// # Errors
    /// [`Fault::Fence`] if the answer is wrong; the model is then as it was.
    pub fn extend(&mut self, lease: LeaseId, by: u64, lost: bool) -> Result<(), Fault> {
        self.check_fence(lease, lost)?;
        if !lost {
            self.leases[lease.0].until = self.now.saturating_add(by);
        }
        Ok(())
    }

    fn check_fence(&self, lease: LeaseId, lost: bool) -> Result<(), Fault> {
        let lane = self.leases[lease.0].lane;
        let stale = self.current.get(&lane) != Some(&lease);
        let valid = self.holder(lane) == Some(lease);
        if (stale && !lost) || (valid && lost) {
            Err(Fault::Fence { lost })
        } else {
            Ok(())
        }
    }

    fn given(&self, lease: LeaseId, position: i64) -> Option<&Given<I>> {
        self.leases[lease.0]
            .given
            .iter()
            .find(|given| given.position == position)
    }

    /// The message, if this lease still holds it with the tries it was claimed with.
    fn held(&self, lease: LeaseId, position: i64) -> Option<usize> {
        let given = self.given(lease, position)?;
        let index = self.index(position)?;
        let message = &self.messages[index];
        (message.state == State::Held && message.tries == given.tries).then_some(index)
    }

    fn first_retries(&self, lease: LeaseId, outcomes: &[(i64, Outcome)]) -> BTreeMap<K, i64> {
        let mut first = BTreeMap::new();
        for (position, outcome) in outcomes {
            if matches!(outcome, Outcome::Retry { .. })
                && let Some(index) = self.held(lease, *position)
                && let Some(key) = &self.messages[index].key
            {
                let smallest = first.entry(key.clone()).or_insert(*position);
                *smallest = (*smallest).min(*position);
            }
        }
        first
    }

    fn publish(&mut self, lease: LeaseId, position: i64) {
        let Some(index) = self.index(position) else {
            return;
        };
        let message = &self.messages[index];
        let same = self
            .given(lease, position)
            .is_some_and(|given| given.id == message.id);
        if same && message.state.is_pending() {
            self.take(index, Step::Publish);
            self.loosen(index, position);
        }
    }

    fn retry(&mut self, index: usize, position: i64, after: u64, counted: bool) {
        let until = self.now.saturating_add(after);
        let message = &mut self.messages[index];
        message.tries = message.tries.saturating_add(1);
        message.attempts = message.attempts.saturating_add(u32::from(counted));
        match message.key.clone() {
            _ if after == 0 => self.take(index, Step::RetryNow),
            Some(key) => {
                self.take(index, Step::RetryKeyed);
                let waits = Block {
                    position,
                    until: Some(until),
                    firm: true,
                };
                let block = self.blocks.entry(key).or_insert(waits);
                // A dead letter that holds the key goes on holding it.
                if block.until.is_some() {
                    *block = waits;
                }
            }
            None => {
                message.due = until;
                self.take(index, Step::RetryUnkeyed);
            }
        }
    }

    fn bury(&mut self, index: usize, position: i64, after: AfterDeath) {
        let message = &mut self.messages[index];
        message.tries = message.tries.saturating_add(1);
        message.attempts = message.attempts.saturating_add(1);
        if let (AfterDeath::Hold, Some(key)) = (after, message.key.clone()) {
            self.blocks.insert(
                key,
                Block {
                    position,
                    until: None,
                    firm: true,
                },
            );
        }
        self.take(index, Step::Die);
    }

    /// What its key waited for is gone: a store may unblock the key now or when its time comes.
    pub(super) fn loosen(&mut self, index: usize, position: i64) {
        if let Some(key) = &self.messages[index].key
            && let Some(block) = self.blocks.get_mut(key)
            && block.position == position
        {
            block.firm = false;
        }
    }
}
