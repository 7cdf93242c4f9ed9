//! The oracle: whether what a claim handed out was allowed, and what holds after it.

use std::collections::BTreeSet;

use super::{Fault, Lease, LeaseId, Message, Model};
use crate::state::{State, Step, step};

/// What a claim was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// At most this many messages.
    pub limit: usize,
    /// At most this many lanes.
    pub max_lanes: usize,
    /// How long the lease lasts, in milliseconds.
    pub lease: u64,
    /// Only these lanes; `None` for all.
    pub lanes: Option<BTreeSet<u32>>,
}

/// What a claim of the real store gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report<I> {
    /// The lanes that it leased.
    pub lanes: Vec<Handed<I>>,
    /// How many messages it moved without handing them out, by promoting or setting aside.
    pub moved: usize,
}

/// What a claim handed out of one lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handed<I> {
    /// The lane.
    pub lane: u32,
    /// The messages, as the claim listed them.
    pub given: Vec<Given<I>>,
}

/// One message as a claim handed it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Given<I> {
    /// Its position.
    pub position: i64,
    /// Its id.
    pub id: I,
    /// Its counted failures.
    pub attempts: u32,
    /// Its recorded publish calls.
    pub tries: u32,
}

impl<K: Ord + Clone, I: Eq + Clone> Model<K, I> {
    /// Judges a claim of the real store and takes it over: one lease for each of its lanes, in the
    /// order of the report.
    ///
    /// A claim may always take fewer lanes and fewer messages of each key, so careful service (F6)
    /// needs no rule of its own here.
    ///
    /// # Errors
    /// The first [`Fault`] found; the model is then as it was.
    pub fn claimed(
        &mut self,
        request: &Request,
        report: &Report<I>,
    ) -> Result<Vec<LeaseId>, Fault> {
        let given = report.lanes.iter().map(|handed| handed.given.len()).sum();
        if given > request.limit.max(1) {
            return Err(Fault::TooMany { given });
        }
        if report.lanes.len() > request.max_lanes.max(1) {
            return Err(Fault::TooManyLanes {
                leased: report.lanes.len(),
            });
        }
        if report.lanes.is_empty() && report.moved == 0 {
            self.stalled(request.lanes.as_ref()).map_or(Ok(()), Err)?;
        }
        let mut next = self.clone();
        let mut seen = BTreeSet::new();
        for Handed { lane, given } in &report.lanes {
            let asked = request
                .lanes
                .as_ref()
                .is_none_or(|lanes| lanes.contains(lane));
            if !asked || given.is_empty() || !seen.insert(lane) {
                return Err(Fault::LaneNotAsked { lane: *lane });
            }
            if self.holder(*lane).is_some() {
                return Err(Fault::LaneHeld { lane: *lane });
            }
            next.lapse(*lane);
            next.judge(*lane, given)?;
        }
        *self = next;
        let until = self.now.saturating_add(request.lease);
        Ok(report
            .lanes
            .iter()
            .map(|handed| self.hold(handed, until))
            .collect())
    }

    /// Judges what a claim handed out of the lane of a lease whose holder reads on, and takes it over. `in_hand` are the positions that it
    /// held without a recorded outcome, `closed` the keys of which nothing was to be handed out.
    ///
    /// # Errors
    /// The first [`Fault`] found; the model is then as it was.
    pub fn read_on(
        &mut self,
        lease: LeaseId,
        in_hand: &BTreeSet<i64>,
        closed: &BTreeSet<K>,
        given: &[Given<I>],
    ) -> Result<(), Fault> {
        let Lease { lane, until, .. } = self.leases[lease.0];
        let stale = self.current.get(&lane) != Some(&lease) || self.is_past(until);
        if stale && !given.is_empty() {
            return Err(Fault::Fence { lost: false });
        }
        let mut next = self.clone();
        next.judge(lane, given)?;
        for Given { position, .. } in given {
            let message = next.index(*position).map(|index| &next.messages[index]);
            let key = message.and_then(|message| message.key.as_ref());
            if in_hand.contains(position) || key.is_some_and(|key| closed.contains(key)) {
                return Err(Fault::InHand {
                    position: *position,
                });
            }
        }
        *self = next;
        let held = &mut self.leases[lease.0].given;
        held.retain(|old| given.iter().all(|new| new.position != old.position));
        held.extend_from_slice(given);
        Ok(())
    }

    /// What a store may hand out of a lane now, at most, in position order: every message of a key
    /// of the lane that is due and whose key does not wait. It looks neither at leases nor at stops.
    #[must_use]
    pub fn runnable(&self, lane: u32) -> Vec<&Message<K, I>> {
        let of_lane = |key: &K| (self.lane_of)(key) == lane && self.block(key).is_none();
        let mut runnable: Vec<_> = self
            .messages
            .iter()
            .filter(|message| message.state.is_pending() && self.is_past(message.due))
            .filter(|message| message.key.as_ref().is_some_and(of_lane))
            .collect();
        runnable
            .sort_by_key(|message| (message.position.is_none(), message.position, message.born));
        runnable
    }

    /// The due work that an empty claim ignored.
    pub(super) fn stalled(&self, lanes: Option<&BTreeSet<u32>>) -> Option<Fault> {
        let ended =
            |lease: &LeaseId| self.leases[lease.0].until.saturating_add(self.slack) < self.now;
        if !self.current.values().all(ended) {
            return None;
        }
        self.messages
            .iter()
            .filter(|message| message.state.is_pending() && self.is_past(message.due))
            .filter(|message| !self.may_be_kept(message))
            .find_map(|message| match (&message.key, lanes) {
                (Some(key), lanes) if self.block(key).is_none() => {
                    let lane = (self.lane_of)(key);
                    let asked = lanes.is_none_or(|lanes| lanes.contains(&lane));
                    asked.then_some(Fault::Stalled { lane: Some(lane) })
                }
                (None, None) => Some(Fault::Stalled { lane: None }),
                // Its key waits, or it may be in a lane that was not asked for.
                _ => None,
            })
    }

    /// Ends the lease that a lane has, so that what it still holds can be handed out again.
    pub(super) fn lapse(&mut self, lane: u32) {
        let Some(lease) = self.current.remove(&lane) else {
            return;
        };
        for given in self.leases[lease.0].given.clone() {
            if let Some(index) = self.index(given.position)
                && self.messages[index].state == State::Held
            {
                self.take(index, Step::Release);
            }
        }
    }

    fn judge(&mut self, lane: u32, given: &[Given<I>]) -> Result<(), Fault> {
        let mut last = None;
        for one in given {
            let position = one.position;
            if last.is_some_and(|last| last >= position) {
                return Err(Fault::OutOfOrder { position });
            }
            last = Some(position);
            let index = self.find(one)?;
            let message = &self.messages[index];
            if message
                .key
                .as_ref()
                .is_some_and(|key| (self.lane_of)(key) != lane)
            {
                return Err(Fault::WrongLane { position });
            }
            if !matches!(
                message.state,
                State::Ready | State::Waiting | State::Scheduled
            ) {
                return Err(Fault::NotPossible {
                    position,
                    state: message.state,
                });
            }
            if !self.may_be_past(message.due) {
                return Err(Fault::Early { position });
            }
            let (attempts, tries) = (message.attempts, message.tries);
            if (one.attempts, one.tries) != (attempts, tries) {
                return Err(Fault::Miscounted {
                    position,
                    attempts,
                    tries,
                });
            }
            if let Some(key) = &message.key {
                self.judge_key(key, position, message)?;
            }
            let (topic, joins) = (message.topic, message.state == State::Scheduled);
            self.judge_topic(topic, position)?;
            if joins {
                self.take(index, Step::Join);
            }
            self.take(index, Step::Claim);
            self.messages[index].in_line = true;
        }
        Ok(())
    }

    /// The message that a claim gave. A redriven one is known by its id and shows its new position.
    fn find(&mut self, given: &Given<I>) -> Result<usize, Fault> {
        let position = given.position;
        if let Some(index) = self.index(position) {
            let same = self.messages[index].id == given.id;
            return if same {
                Ok(index)
            } else {
                Err(Fault::Unknown { position })
            };
        }
        let redriven =
            |message: &Message<K, I>| message.position.is_none() && message.id == given.id;
        let index = self
            .messages
            .iter()
            .position(redriven)
            .ok_or(Fault::Unknown { position })?;
        let born = self.messages[index].born;
        let known = |message: &Message<K, I>| message.position.map(|at| (message.born, at));
        let misplaced = |(other, at)| (other < born) != (at < position) && other != born;
        let mut others = self.messages.iter().chain(self.open.values().flatten());
        if others.any(|message| known(message).is_some_and(misplaced)) {
            return Err(Fault::NotAtTail { position });
        }
        self.messages[index].position = Some(position);
        Ok(index)
    }

    fn judge_key(&self, key: &K, position: i64, message: &Message<K, I>) -> Result<(), Fault> {
        match self.blocks.get(key) {
            Some(block) if block.until.is_none() => {
                return Err(Fault::KeyHeld {
                    position,
                    dead: block.position,
                });
            }
            Some(block) if block.firm && !block.until.is_some_and(|at| self.may_be_past(at)) => {
                return Err(Fault::KeyWaits {
                    position,
                    head: block.position,
                });
            }
            _ => {}
        }
        let skipped = self.messages.iter().find(|other| {
            other.key.as_ref() == Some(key)
                && other.in_line
                && other.state.is_pending()
                && other.state != State::Held
                && other.is_before(message)
        });
        match skipped {
            Some(other) => Err(Fault::Overtakes {
                position,
                first: other.position,
            }),
            None => Ok(()),
        }
    }

    fn hold(&mut self, handed: &Handed<I>, until: u64) -> LeaseId {
        let lease = LeaseId(self.leases.len());
        let Handed { lane, given } = handed.clone();
        self.leases.push(Lease { lane, until, given });
        self.current.insert(lane, lease);
        lease
    }

    pub(super) fn take(&mut self, index: usize, action: Step) {
        let message = &mut self.messages[index];
        message.state = step(message.state, action).expect("the model asks only for legal steps");
    }
}
