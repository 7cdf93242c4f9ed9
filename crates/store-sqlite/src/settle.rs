//! Settlements: under the fence of each lane what happened to its messages is recorded, and the lane is given back.
//!
//! All lanes of a call are settled in one write transaction, with a number of statements that does not depend on the number of messages.
//! Dropping it midway rolls the transaction back.

mod statements;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    time::Duration,
};

use outbox_message::{Message, OrderingKey};
use outbox_store::{
    LaneSettled, LaneSettlement, StoreError,
    adapter::{Confirmed, Failed, Next, Plan, confirmed, fences, plan},
};
use sqlx::{SqliteConnection, SqlitePool};

use crate::{
    moves::{Table, delete, free_keys, set_aside},
    save::insert_all,
    schema, transaction,
};

use statements::Passed;

const WHAT: &str = "settle messages";

/// Settles lanes; one answer for each, in order. What was published is kept if `retain` says for how long.
pub(crate) async fn settle(
    pool: &SqlitePool,
    lanes: &[LaneSettlement],
    retain: Option<Duration>,
) -> Result<Vec<LaneSettled>, StoreError> {
    if lanes.is_empty() {
        return Ok(Vec::new());
    }
    match transaction::write(pool, async |tx| write(tx, lanes, retain).await).await {
        Ok(settled) => Ok(settled),
        Err(error) => Err(schema::explain(pool, WHAT, error).await),
    }
}

async fn write(
    tx: &mut SqliteConnection,
    lanes: &[LaneSettlement],
    retain: Option<Duration>,
) -> Result<Vec<LaneSettled>, sqlx::Error> {
    let fences = fences(lanes);
    let passed = statements::fence(tx, &fences).await?;
    let held: Vec<bool> = lanes
        .iter()
        .map(|lane| {
            passed.contains_key(&lane.token.lane.0)
                && fences.iter().any(|fence| *fence.token == lane.token)
        })
        .collect();
    let plan = plan(lanes, &held);
    let mut settling = Settling {
        retain,
        now: passed.values().next().map_or(0, |passed| passed.now),
        applied: HashSet::new(),
        freed: HashSet::new(),
    };
    settling.remove_confirmed(tx, &confirmed(lanes)).await?;
    settling.record_failures(tx, &plan).await?;
    settling.free_keys(tx).await?;
    settling.end_starts(tx, &plan, &passed).await?;
    settling.applied.extend(plan.released);
    Ok(lanes
        .iter()
        .zip(&held)
        .map(|(lane, held)| settling.settled(lane, *held))
        .collect())
}

/// Saves the notices of the deaths that were just recorded, under the same write lock: a settlement sent again finds no such message and saves nothing.
async fn save_notices(tx: &mut SqliteConnection, dead: &[&Failed<'_>]) -> Result<(), sqlx::Error> {
    let notices: Vec<&Message> = dead.iter().filter_map(|failed| failed.notice).collect();
    insert_all(tx, &notices).await
}

/// A settlement in the making. Messages are named by lane and position.
struct Settling<'a> {
    /// How long published messages are kept, if they are.
    retain: Option<Duration>,
    now: i64,
    /// The messages whose outcome was recorded.
    applied: HashSet<(u16, i64)>,
    /// Keys of which a message that was set aside is gone, so that they may go on.
    freed: HashSet<&'a OrderingKey>,
}

impl<'a> Settling<'a> {
    /// Removes what the broker confirmed, wherever it stands by now: its lane's next holder may have recorded a failure meanwhile.
    async fn remove_confirmed(
        &mut self,
        tx: &mut SqliteConnection,
        confirmed: &[Confirmed<'a>],
    ) -> Result<(), sqlx::Error> {
        let mut rest: Vec<_> = confirmed.iter().collect();
        for table in [Table::Line, Table::Waiting, Table::Scheduled] {
            if rest.is_empty() {
                break;
            }
            if self.retain.is_some() {
                statements::keep_confirmed(tx, table, &rest).await?;
            }
            let removed = statements::remove_confirmed(tx, table, &rest).await?;
            let (gone, kept): (Vec<_>, Vec<_>) = rest
                .into_iter()
                .partition(|confirmed| removed.contains(&confirmed.position));
            for confirmed in gone {
                self.applied.insert((confirmed.lane, confirmed.position));
                if table == Table::Waiting {
                    self.freed.extend(confirmed.key);
                }
            }
            rest = kept;
        }
        Ok(())
    }

    /// Counts failures where the message still has the tries it was claimed with (S7), then moves it to where it goes.
    async fn record_failures(
        &mut self,
        tx: &mut SqliteConnection,
        plan: &Plan<'a>,
    ) -> Result<(), sqlx::Error> {
        let all: Vec<&Failed<'a>> = plan.failed.iter().collect();
        if all.is_empty() {
            return Ok(());
        }
        let counted = statements::count_failures(tx, Table::Line, &all).await?;
        let (in_line, rest): (Vec<_>, Vec<_>) = all
            .into_iter()
            .partition(|failure| counted.contains(&failure.position));
        let counted = if rest.is_empty() {
            HashSet::new()
        } else {
            statements::count_failures(tx, Table::Waiting, &rest).await?
        };
        let waiting: Vec<_> = rest
            .into_iter()
            .filter(|failure| counted.contains(&failure.position))
            .collect();
        let both = || in_line.iter().chain(&waiting).copied();
        self.applied
            .extend(both().map(|failure| (failure.lane, failure.position)));

        self.delay(tx, &in_line, &waiting).await?;
        let dead: Vec<_> = both().filter(|failure| failure.dies()).collect();
        if !dead.is_empty() {
            statements::bury(tx, &dead, self.now).await?;
            let from_line: Vec<_> = in_line.iter().filter(|f| f.dies()).collect();
            let from_waiting: Vec<_> = waiting.iter().filter(|f| f.dies()).collect();
            delete(tx, Table::Line, from_line.iter().map(|f| f.position)).await?;
            delete(tx, Table::Waiting, from_waiting.iter().map(|f| f.position)).await?;
            self.freed.extend(from_waiting.iter().filter_map(|f| f.key));
            save_notices(tx, &dead).await?;
            let holding = dead.iter().filter(|failure| failure.holds());
            statements::block_dead(tx, holding.map(|failure| failure.position)).await?;
        }
        Ok(())
    }

    /// Retries with a delay: with a key they wait and block it, without one they are scheduled.
    async fn delay(
        &self,
        tx: &mut SqliteConnection,
        in_line: &[&Failed<'a>],
        waiting: &[&Failed<'a>],
    ) -> Result<(), sqlx::Error> {
        let mut aside = Vec::new();
        let mut scheduled = Vec::new();
        let mut blocks = Vec::new();
        for failure in in_line {
            let Next::Wait(delay) = failure.next else {
                continue;
            };
            let until = self.now.saturating_add(delay);
            if failure.key.is_some() {
                aside.push(failure.position);
                blocks.push((failure.position, until));
            } else {
                scheduled.push((failure.position, until));
            }
        }
        for failure in waiting {
            match failure.next {
                Next::Wait(delay) => {
                    blocks.push((failure.position, self.now.saturating_add(delay)));
                }
                Next::Stay => blocks.push((failure.position, self.now)),
                Next::Die(..) => {}
            }
        }
        if !aside.is_empty() {
            set_aside(tx, &aside).await?;
        }
        if !scheduled.is_empty() {
            statements::schedule(tx, &scheduled).await?;
        }
        if !blocks.is_empty() {
            statements::block_retry(tx, &blocks).await?;
        }
        Ok(())
    }

    /// Lets keys go on of which a message that was set aside is gone, unless they wait for another.
    async fn free_keys(&self, tx: &mut SqliteConnection) -> Result<(), sqlx::Error> {
        if self.freed.is_empty() {
            return Ok(());
        }
        free_keys(tx, self.freed.iter().copied()).await
    }

    /// Ends hand-overs of careful service: what completed ends the row of starts of its lane, what was not tried takes its own back (F6).
    async fn end_starts(
        &self,
        tx: &mut SqliteConnection,
        plan: &Plan<'a>,
        passed: &HashMap<u16, Passed>,
    ) -> Result<(), sqlx::Error> {
        let needs_care = |lane: &u16| {
            passed
                .get(lane)
                .is_none_or(|passed| passed.careful || passed.marked)
        };
        let mut completed: BTreeMap<u16, u64> = BTreeMap::new();
        for (lane, _) in &self.applied {
            if passed.contains_key(lane) && needs_care(lane) {
                *completed.entry(*lane).or_default() += 1;
            }
        }
        if !completed.is_empty() {
            statements::complete_care(tx, &completed).await?;
        }
        let marks: Vec<_> = plan
            .marks
            .iter()
            .filter(|mark| needs_care(&mark.lane))
            .collect();
        if !marks.is_empty() {
            statements::take_marks_back(tx, &marks).await?;
        }
        Ok(())
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
