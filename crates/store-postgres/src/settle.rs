//! Settlements: under the fence of each lane what happened to its messages is recorded, and the lane is given back.
//!
//! All lanes of a call are settled in one transaction, with a number of statements that does not depend on the number of messages: one if the broker
//! confirmed all of them, and one more for each kind of thing that happened besides. The first statement locks the lanes; why the others are right
//! follows from that, and stands in their files.

mod fates;
mod fence;
mod notices;
mod statements;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use outbox_message::OrderingKey;
use outbox_store::{
    LaneSettled, LaneSettlement,
    adapter::{Confirmed, Plan, confirmed, fences, plan},
};

use crate::{
    config::PostgresConfig, failure::Failure, procedure::Procedure, session::Session,
    statements::Statements,
};

use fates::Fates;
use fence::{Fenced, Passed, Place, Texts, fence, remove_elsewhere};

/// Settles lanes; one answer for each, in order.
#[derive(Debug)]
pub(crate) struct Settling<'a> {
    pub(crate) lanes: &'a [LaneSettlement],
    /// How long published messages are kept, if they are, and how notices are saved.
    pub(crate) config: &'a PostgresConfig,
}

impl Procedure for Settling<'_> {
    type Output = Vec<LaneSettled>;
    const WHAT: &'static str = "settle messages";

    async fn run<S: Session>(
        &self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<Vec<LaneSettled>, Failure<S::Error>> {
        let fences = fences(self.lanes);
        let confirmed = confirmed(self.lanes);
        let texts = Texts::new(statements, self.config.retain);
        let Fenced { passed, removed } = fence(session, texts, &fences, &confirmed).await?;
        let held: Vec<bool> = self
            .lanes
            .iter()
            .map(|lane| {
                passed.contains_key(&lane.token.lane.0)
                    && fences.iter().any(|fence| *fence.token == lane.token)
            })
            .collect();
        let plan = plan(self.lanes, &held);
        let mut work = Work {
            applied: removed,
            freed: BTreeSet::new(),
        };
        work.remove_elsewhere(session, texts, &confirmed).await?;
        work.record_failures(session, statements, self.config, &plan)
            .await?;
        work.free_keys(session, statements).await?;
        work.end_starts(session, statements, &plan, &passed).await?;
        work.applied.extend(plan.released);
        let settled = self.lanes.iter().zip(&held);
        Ok(settled
            .map(|(lane, held)| work.settled(lane, *held))
            .collect())
    }
}

/// A settlement in the making. Messages are named by lane and position.
struct Work<'a> {
    /// The messages whose outcome was recorded.
    applied: HashSet<(u16, i64)>,
    /// Keys of which a message that was set aside is gone, so that they may go on.
    freed: BTreeSet<&'a OrderingKey>,
}

impl<'a> Work<'a> {
    /// Removes what the broker confirmed and the fence did not find: its lane's next holder may have recorded a failure meanwhile.
    async fn remove_elsewhere<S: Session>(
        &mut self,
        session: &mut S,
        texts: Texts<'_>,
        confirmed: &[Confirmed<'a>],
    ) -> Result<(), Failure<S::Error>> {
        let rest: Vec<&Confirmed<'a>> = confirmed
            .iter()
            .filter(|confirmed| !self.applied.contains(&(confirmed.lane, confirmed.position)))
            .collect();
        if rest.is_empty() {
            return Ok(());
        }
        let removed = remove_elsewhere(session, texts, &rest).await?;
        for confirmed in rest {
            match removed.get(&(confirmed.lane, confirmed.position)) {
                Some(Place::Aside) => self.freed.extend(confirmed.key),
                Some(Place::Line) => {}
                None => continue,
            }
            self.applied.insert((confirmed.lane, confirmed.position));
        }
        Ok(())
    }

    /// Counts failures where the message still has the tries it was claimed with (S7), then moves it to where it goes.
    async fn record_failures<S: Session>(
        &mut self,
        session: &mut S,
        statements: &Statements,
        config: &PostgresConfig,
        plan: &Plan<'a>,
    ) -> Result<(), Failure<S::Error>> {
        if plan.failed.is_empty() {
            return Ok(());
        }
        let counted = statements::count_failures(session, statements, &plan.failed).await?;
        let mut fates = Fates::default();
        for failed in &plan.failed {
            if let Some(place) = counted.get(&(failed.lane, failed.position)) {
                self.applied.insert((failed.lane, failed.position));
                fates.add(failed, *place);
            }
        }
        let Fates {
            aside,
            scheduled,
            dead,
            blocks,
            freed,
        } = fates;
        self.freed.extend(freed);
        statements::set_aside(session, statements, &aside).await?;
        statements::schedule(session, statements, &scheduled).await?;
        statements::bury(session, statements, &dead).await?;
        statements::block_keys(session, statements, &blocks).await?;
        notices::save(session, statements, config, &dead).await
    }

    /// Lets keys go on of which a message that was set aside is gone, unless they wait for another.
    async fn free_keys<S: Session>(
        &self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<(), Failure<S::Error>> {
        statements::free_keys(session, statements, &self.freed).await
    }

    /// Ends hand-overs of careful service: what completed ends the row of starts of its lane, what was not tried takes its own back (F6).
    async fn end_starts<S: Session>(
        &self,
        session: &mut S,
        statements: &Statements,
        plan: &Plan<'a>,
        passed: &HashMap<u16, Passed>,
    ) -> Result<(), Failure<S::Error>> {
        let needs_care = |lane: &u16| {
            passed
                .get(lane)
                .is_none_or(|passed| passed.careful || passed.marked)
        };
        let mut completed: BTreeMap<u16, i64> = BTreeMap::new();
        for (lane, _) in &self.applied {
            if passed.contains_key(lane) && needs_care(lane) {
                *completed.entry(*lane).or_default() += 1;
            }
        }
        statements::complete_care(session, statements, &completed).await?;
        let marks: Vec<_> = plan
            .marks
            .iter()
            .filter(|mark| needs_care(&mark.lane))
            .collect();
        statements::take_marks_back(session, statements, &marks).await
    }

    fn settled(&self, lane: &LaneSettlement, held: bool) -> LaneSettled {
        let outcomes = lane.outcomes.iter().map(|outcome| outcome.target.position);
        LaneSettled {
            lost: !held,
            missed: outcomes
                .filter(|position| !self.applied.contains(&(lane.token.lane.0, position.0)))
                .collect(),
        }
    }
}
