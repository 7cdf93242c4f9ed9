//! Upkeep and purge: bounded steps of forgetting what is over, by whichever relay gets to it or by hand.
//!
//! A change of partitions comes last in its transaction, so that nobody waits for its locks longer than for the commit.

use std::time::Duration;

use outbox_store::{Circuit, Purge, PurgeMode, Purged, StoreError, adapter::millis};

use crate::{
    failure::Failure,
    inbox::ForgetInbox,
    procedure::{Procedure, query},
    row::{Row, UnexpectedRow},
    session::{Database, Session, Text},
    statements::Statements,
    store::Relaying,
    value::Value,
};

/// How many ids of saves, ids of the inbox, and published messages, one step of upkeep removes.
const MOST_REMOVED: i64 = 1_000;

/// How many partitions one step drops: each needs some locks of its own.
const MOST_DROPPED: i64 = 16;

/// A thousand years in milliseconds, for longer ages: the difference to the clock must stay a time.
const LONGEST_AGE_MS: i64 = 1_000 * 366 * 24 * 3_600_000;

/// How many steps of forgetting one upkeep does at most: a relay waits only some seconds for its answer, and comes again soon if something was removed.
const MOST_STEPS: u32 = 10;

/// What one step of forgetting did.
#[derive(Debug, Clone, Copy)]
struct Forgotten {
    /// How many rows went.
    rows: usize,
    /// Whether it met a limit, so that there may be more.
    more: bool,
}

/// One step of forgetting, unless another relay does upkeep or did it within the minute.
#[derive(Debug)]
struct Forgetting {
    /// How long published messages are kept, if they are.
    retain: Option<Duration>,
}

impl Procedure for Forgetting {
    /// Nothing if it was not this relay's turn.
    type Output = Option<Forgotten>;
    const WHAT: &'static str = "forget what is over";

    async fn run<S: Session>(
        &self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<Option<Forgotten>, Failure<S::Error>> {
        if query(session, &statements.upkeep_turn, &[])
            .await?
            .is_empty()
        {
            return Ok(None);
        }
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
        let more = ids >= MOST_REMOVED || published >= MOST_REMOVED;
        Ok(Some(Forgotten {
            rows: usize::try_from(ids + circuits + published).unwrap_or(usize::MAX),
            more,
        }))
    }
}

/// Leaves upkeep alone for a minute, when there is no more to forget.
#[derive(Debug)]
struct Done;

impl Procedure for Done {
    type Output = ();
    const WHAT: &'static str = "end its upkeep";

    async fn run<S: Session>(
        &self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<(), Failure<S::Error>> {
        query(session, &statements.upkeep_done, &[]).await?;
        Ok(())
    }
}

/// Adds the partitions of days to come and drops those that are over; answers how many it dropped.
#[derive(Debug)]
struct Partitioning {
    retain: Duration,
}

impl Procedure for Partitioning {
    type Output = usize;
    const WHAT: &'static str = "add and drop partitions";

    async fn run<S: Session>(
        &self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<usize, Failure<S::Error>> {
        // Nobody else may drop the same ones.
        query(session, &statements.upkeep_lock, &[]).await?;
        count(session, &statements.add_partitions, &[]).await?;
        let values = [Value::Int(age(self.retain)), Value::Int(MOST_DROPPED)];
        let dropped = count(session, &statements.drop_partitions, &values).await?;
        Ok(usize::try_from(dropped).unwrap_or(usize::MAX))
    }
}

/// Takes back floors that cannot be right.
#[derive(Debug)]
struct Healing;

impl Procedure for Healing {
    type Output = ();
    const WHAT: &'static str = "check the floors of its lanes";

    async fn run<S: Session>(
        &self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<(), Failure<S::Error>> {
        count(session, &statements.heal_floors, &[]).await?;
        Ok(())
    }
}

/// One upkeep, in transactions of their own: a failure of one undoes nothing of another and keeps none from running. Answers how many rows and partitions it
/// removed, or the first failure.
pub(crate) async fn maintain<D: Database>(store: &Relaying<D>) -> Result<usize, StoreError> {
    let retain = store.config.retain;
    let mut removed = 0;
    let mut failed = None;
    let (mut more, mut is_turn) = (false, true);
    for _ in 0..MOST_STEPS {
        match store.run(Forgetting { retain }).await {
            // Another relay does it, or goes on with it.
            Ok(None) => return Ok(removed),
            Ok(Some(forgotten)) => {
                removed += forgotten.rows;
                more = forgotten.more;
                if !more {
                    break;
                }
            }
            Err(error) => {
                (failed, more, is_turn) = (Some(error), false, false);
                break;
            }
        }
    }
    if let Some(older_than) = store.config.retain_inbox {
        match keep_inbox(store, older_than).await {
            Ok(forgotten) => {
                removed += forgotten.rows;
                more |= forgotten.more;
            }
            // That a dead letter is in the way is for the time when there is nothing else to do.
            Err(StoreError::DeadLetterNeedsInbox { .. }) if more => {}
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    // After a failure of the first it is any relay's turn again.
    if is_turn
        && !more
        && let Err(error) = store.run(Done).await
    {
        failed = failed.or(Some(error));
    }
    if let Some(retain) = retain {
        match store.run(Partitioning { retain }).await {
            Ok(dropped) => removed += dropped,
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    // Last, and not while there is more to forget, since it walks what a held snapshot keeps.
    if !more && let Err(error) = store.run(Healing).await {
        failed = failed.or(Some(error));
    }
    failed.map_or(Ok(removed), Err)
}

/// Forgets ids of the inbox that were kept for as long as they are to be.
async fn keep_inbox<D: Database>(
    store: &Relaying<D>,
    older_than: Duration,
) -> Result<Forgotten, StoreError> {
    let mut forgotten = Forgotten {
        rows: 0,
        more: true,
    };
    for _ in 0..MOST_STEPS {
        let step = ForgetInbox {
            older_than,
            limit: MOST_REMOVED,
            mode: PurgeMode::Delete,
        };
        let rows = store.forget_inbox(step).await?;
        forgotten.rows += usize::try_from(rows).unwrap_or(usize::MAX);
        forgotten.more = rows >= MOST_REMOVED;
        if !forgotten.more {
            break;
        }
    }
    Ok(forgotten)
}

/// One step of a purge by hand (obligation A5). The inbox comes first, because it may refuse.
pub(crate) async fn purge<D: Database>(
    store: &Relaying<D>,
    purge: &Purge,
) -> Result<Purged, StoreError> {
    let limit = i64::try_from(purge.limit).unwrap_or(i64::MAX);
    let inbox = match purge.inbox_older_than {
        None => 0,
        Some(older_than) => {
            let mode = purge.mode;
            let step = ForgetInbox {
                older_than,
                limit,
                mode,
            };
            store.forget_inbox(step).await?
        }
    };
    let purged = store.run(Purging(purge)).await?;
    Ok(Purged {
        inbox: inbox.unsigned_abs(),
        more: purged.more || (inbox > 0 && inbox >= limit),
        ..purged
    })
}

/// The part of it that concerns what was published and saved.
#[derive(Debug)]
struct Purging<'a>(&'a Purge);

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
            ..
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
                ..Purged::default()
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
            more: published >= limit || ids >= limit,
            ..Purged::default()
        })
    }
}

/// An age in whole milliseconds.
pub(crate) fn age(of: Duration) -> i64 {
    millis(of).min(LONGEST_AGE_MS)
}

/// Runs a statement that answers one count.
pub(crate) async fn count<S: Session>(
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
