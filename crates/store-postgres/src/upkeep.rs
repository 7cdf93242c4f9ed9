//! Upkeep and purge: one bounded step of forgetting what is over, by whichever relay gets to it or by hand.
//!
//! A change of partitions comes last in its transaction, so that nobody waits for its locks longer than for the commit.

use std::time::Duration;

use outbox_store::{Circuit, Purge, PurgeMode, Purged, adapter::millis};

use crate::{
    failure::Failure,
    procedure::{Procedure, query},
    row::{Row, UnexpectedRow},
    session::{Session, Text},
    statements::Statements,
    value::Value,
};

/// How many ids, and how many published messages, one step of upkeep removes.
const MOST_REMOVED: i64 = 1_000;

/// How many partitions one step drops: each needs some locks of its own.
const MOST_DROPPED: i64 = 16;

/// A thousand years in milliseconds, for longer ages: the difference to the clock must stay a time.
const LONGEST_AGE_MS: i64 = 1_000 * 366 * 24 * 3_600_000;

/// One step of upkeep, unless another relay does it or did it within the minute. Answers how many rows and partitions it removed.
#[derive(Debug)]
pub(crate) struct Upkeep {
    /// How long published messages are kept, if they are.
    pub(crate) retain: Option<Duration>,
}

impl Procedure for Upkeep {
    type Output = usize;
    const WHAT: &'static str = "forget what is over";

    async fn run<S: Session>(
        &self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<usize, Failure<S::Error>> {
        if query(session, &statements.upkeep_turn, &[])
            .await?
            .is_empty()
        {
            return Ok(0);
        }
        count(session, &statements.heal_floors, &[]).await?;
        let ids = count(session, &statements.forget_ids, &[Value::Int(MOST_REMOVED)]).await?;
        let overdue = [Value::Int(millis(Circuit::FORGOTTEN_AFTER))];
        let circuits = count(session, &statements.forget_circuits, &overdue).await?;
        let published = match self.retain {
            None => 0,
            Some(retain) => {
                let values = [Value::Int(age(retain)), Value::Int(MOST_REMOVED)];
                count(session, &statements.forget_published, &values).await?
            }
        };
        // A step that met its limit has more to do, and the next may come at once.
        if ids < MOST_REMOVED && published < MOST_REMOVED {
            query(session, &statements.upkeep_done, &[]).await?;
        }
        let partitions = match self.retain {
            None => 0,
            Some(retain) => {
                count(session, &statements.add_partitions, &[]).await?;
                let values = [Value::Int(age(retain)), Value::Int(MOST_DROPPED)];
                count(session, &statements.drop_partitions, &values).await?
            }
        };
        Ok(usize::try_from(ids + circuits + published + partitions).unwrap_or(usize::MAX))
    }
}

/// One step of a purge by hand (obligation A5).
#[derive(Debug)]
pub(crate) struct Purging<'a>(pub(crate) &'a Purge);

impl Procedure for Purging<'_> {
    type Output = Purged;
    const WHAT: &'static str = "purge what is old";

    async fn run<S: Session>(
        &self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<Purged, Failure<S::Error>> {
        let Purge {
            older_than,
            limit,
            mode,
        } = *self.0;
        let (age, limit) = (age(older_than), i64::try_from(limit).unwrap_or(i64::MAX));
        if mode == PurgeMode::Count {
            let values = [Value::Int(age), Value::Int(limit)];
            let mut row = one(session, &statements.purge_count, &values).await?;
            return Ok(Purged {
                published: row.count()?,
                ids: row.count()?,
                partitions: row.count()?,
                more: row.flag()?,
            });
        }
        // Waits for the step of upkeep that a relay may be doing.
        query(session, &statements.upkeep_lock, &[]).await?;
        let values = [Value::Int(age), Value::Int(MOST_DROPPED)];
        let partitions = count(session, &statements.drop_partitions, &values).await?;
        if partitions > 0 {
            // Its locks are given up before any row is deleted.
            return Ok(Purged {
                partitions: partitions.unsigned_abs(),
                more: true,
                ..Purged::default()
            });
        }
        let values = [Value::Int(age), Value::Int(limit)];
        let published = count(session, &statements.purge_published, &values).await?;
        let ids = count(session, &statements.forget_ids, &[Value::Int(limit)]).await?;
        Ok(Purged {
            published: published.unsigned_abs(),
            ids: ids.unsigned_abs(),
            partitions: 0,
            more: published >= limit || ids >= limit,
        })
    }
}

/// An age in whole milliseconds.
fn age(of: Duration) -> i64 {
    millis(of).min(LONGEST_AGE_MS)
}

/// Runs a statement that answers one count.
async fn count<S: Session>(
    session: &mut S,
    text: &Text,
    values: &[Value<'_>],
) -> Result<i64, Failure<S::Error>> {
    Ok(one(session, text, values).await?.int()?)
}

async fn one<S: Session>(
    session: &mut S,
    text: &Text,
    values: &[Value<'_>],
) -> Result<Row, Failure<S::Error>> {
    let rows = query(session, text, values).await?;
    Ok(rows.into_iter().next().ok_or(UnexpectedRow("a count"))?)
}
