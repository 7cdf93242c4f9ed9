//! The state of the store as people see it. It counts, in one transaction that only reads, so that the numbers agree.

use std::time::Duration;

use outbox_message::Lane;
use outbox_store::{
    BlockReason, BlockedKey, Circuit, Horizon, HorizonHolder, LaneHolder, Status, StopCause,
    StoppedTopic, TopicBacklog,
    adapter::{millis, until},
};

use crate::{
    failure::{Failure, require},
    procedure::{Procedure, query},
    row::{Row, UnexpectedRow},
    session::{Session, Text},
    statements::Statements,
    value::Value,
};

/// What holds the horizon is of no interest before it did so for this long.
const HORIZON_AFTER: Duration = Duration::from_secs(10);

/// What holds the horizon for nobody knows how long is of no interest before it holds back this many transactions.
const HORIZON_TRANSACTIONS: i64 = 10_000;

/// Reads it all.
pub(super) struct ReadStatus;

impl Procedure for ReadStatus {
    type Output = Status;

    const WHAT: &'static str = "show its status";

    fn begin<'s>(&self, statements: &'s Statements) -> &'s Text {
        &statements.begin_read
    }

    async fn run<S: Session>(
        &self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<Status, Failure<S::Error>> {
        let rows = query(session, &statements.status_moment, &[]).await?;
        let mut row = rows.into_iter().next().ok_or(UnexpectedRow("a moment"))?;
        let now = row.int()?;
        require(row.maybe_int()?.unwrap_or(0))?;
        let mut status = Status {
            blocked: row.count()?,
            next_due: row.maybe_int()?.map(|due| until(due, now)),
            ..Status::default()
        };
        for row in query(session, &statements.status_topics, &[]).await? {
            add_topic(&mut status, row, now)?;
        }
        let stopped = query(session, &statements.status_stopped, &[]).await?;
        status.stopped = each(stopped, |row| stopped_topic(row, now))?;
        let forgotten = Value::Int(millis(Circuit::FORGOTTEN_AFTER));
        let circuits = query(session, &statements.status_circuits, &[forgotten]).await?;
        status.circuits = each(circuits, |row| circuit(row, now))?;
        let blocked = query(session, &statements.status_blocked, &[]).await?;
        status.blocked_keys = each(blocked, |row| blocked_key(row, now))?;
        let lanes = query(session, &statements.status_lanes, &[]).await?;
        status.lanes = each(lanes, |row| holder(row, now))?;
        let limits = [
            Value::Int(millis(HORIZON_AFTER)),
            Value::Int(HORIZON_TRANSACTIONS),
        ];
        let horizon = query(session, &statements.status_horizon, &limits).await?;
        status.horizon = each(horizon, horizon_of)?.pop();
        Ok(status)
    }
}

fn each<T>(
    rows: Vec<Row>,
    read: impl Fn(Row) -> Result<T, UnexpectedRow>,
) -> Result<Vec<T>, UnexpectedRow> {
    rows.into_iter().map(read).collect()
}

/// Adds the messages of a topic to the counts of all.
fn add_topic(status: &mut Status, mut row: Row, now: i64) -> Result<(), UnexpectedRow> {
    let topic = row.shown()?.unwrap_or_default();
    let [line, waiting, scheduled, dead] = [row.count()?, row.count()?, row.count()?, row.count()?];
    status.line += line;
    status.waiting += waiting;
    status.scheduled += scheduled;
    status.dead += dead;
    status.ready += row.count()?;
    status.held += row.count()?;
    status.later += row.count()?;
    status.paused += row.count()?;
    let oldest = row.maybe_int()?.map(|since| until(now, since));
    status.oldest_ready = status.oldest_ready.max(oldest);
    status.topics.push(TopicBacklog {
        topic,
        pending: line + waiting + scheduled,
        dead,
    });
    Ok(())
}

fn blocked_key(mut row: Row, now: i64) -> Result<BlockedKey, UnexpectedRow> {
    let (topic, key) = (row.shown()?, row.shown()?);
    let held = row.flag()?;
    Ok(BlockedKey {
        topic: topic.unwrap_or_default(),
        key: key.unwrap_or_default(),
        reason: if held {
            BlockReason::Dead
        } else {
            BlockReason::Retry
        },
        position: row.int()?,
        next_try: row.maybe_int()?.filter(|_| !held).map(|at| until(at, now)),
        waiting: row.count()?,
        error: row.shown()?,
    })
}

fn stopped_topic(mut row: Row, now: i64) -> Result<StoppedTopic, UnexpectedRow> {
    let (topic, cause) = (row.shown()?, row.shown()?.unwrap_or_default());
    Ok(StoppedTopic {
        topic: topic.unwrap_or_default(),
        cause: StopCause::parse(&cause).ok_or(UnexpectedRow("a cause"))?,
        stopped_for: until(now, row.int()?),
        until: row.maybe_int()?.map(|at| until(at, now)),
        destination: row.shown()?,
        relay: row.shown()?,
        error: row.shown()?,
    })
}

fn circuit(mut row: Row, now: i64) -> Result<Circuit, UnexpectedRow> {
    Ok(Circuit {
        destination: row.shown()?.unwrap_or_default(),
        relay: row.shown()?.unwrap_or_default(),
        open_for: until(now, row.int()?),
        next_probe: until(row.int()?, now),
        error: row.shown()?.unwrap_or_default(),
    })
}

fn holder(mut row: Row, now: i64) -> Result<LaneHolder, UnexpectedRow> {
    Ok(LaneHolder {
        lane: Lane(row.lane()?),
        relay: row.shown()?,
        lease: until(row.maybe_int()?.unwrap_or(now), now),
        careful: row.count()?,
    })
}

fn horizon_of(mut row: Row) -> Result<Horizon, UnexpectedRow> {
    let holder = row.shown()?.unwrap_or_default();
    Ok(Horizon {
        holder: HorizonHolder::parse(&holder).ok_or(UnexpectedRow("a holder"))?,
        name: row.shown()?.unwrap_or_default(),
        application: row.shown()?,
        role: row.shown()?,
        state: row.shown()?,
        open_for: row.maybe_int()?.map(|since| until(since, 0)),
        transactions: row.count()?,
    })
}
