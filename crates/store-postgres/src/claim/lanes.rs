//! The lanes of a claim: leased, filled with what fell due, given back.

use std::{sync::Arc, time::Duration};

use outbox_message::Lane;
use outbox_store::{ClaimRequest, LaneFilter, adapter::millis};

use crate::{
    failure::Failure, procedure::query, quiet::Say, row::Row, session::Session,
    statements::Statements, value::Value,
};

use super::MOST_LANES;

/// Leases are far shorter; the sum with the clock must not overflow.
const MOST_LEASE_MS: i64 = 365 * 24 * 3_600 * 1_000;

/// What the first statement of a claim answers.
pub(super) struct Seen {
    pub(super) version: i64,
    /// Until when savers need not notify, if this claim said it.
    pub(super) quiet: Option<i64>,
    /// Due work was left alone because another claim holds its lane.
    pub(super) leased_elsewhere: bool,
    /// When the first message of a lane that was not leased falls due, in milliseconds from now.
    pub(super) next_due: Option<i64>,
    /// The leased lanes, in the order in which they are served.
    pub(super) lanes: Vec<LaneSeen>,
}

/// A leased lane, as it was when it was leased.
pub(super) struct LaneSeen {
    pub(super) lane: u16,
    pub(super) epoch: i64,
    pub(super) holder: Arc<str>,
    pub(super) careful: bool,
    /// Its turn before.
    pub(super) turn: i64,
    pub(super) scheduled_due: bool,
    pub(super) blocked_due: bool,
    /// When its first message falls due that is not due yet, in milliseconds from now.
    pub(super) next_due: Option<i64>,
}

/// A duration of whole milliseconds; what is past is now.
pub(super) fn from_now(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}

/// A count as a statement takes it.
pub(super) fn count(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A lease as a statement takes it.
pub(crate) fn lease_millis(lease: Duration) -> i64 {
    millis(lease).clamp(1, MOST_LEASE_MS)
}

/// A bit for each of the 64 lanes that may be leased.
fn allowed(filter: &LaneFilter) -> i64 {
    (0..64)
        .filter(|lane| filter.allows(Lane(*lane)))
        .fold(0, |bits, lane| bits | (1 << lane))
}

/// How many lanes a claim leases at most.
pub(super) fn most(request: &ClaimRequest) -> usize {
    let lanes = request.max_lanes.clamp(1, MOST_LANES);
    // A lane that could not get a single message is left to others.
    lanes.min(request.limit.max(1))
}

/// Step 1: leases lanes.
pub(super) async fn lease<S: Session>(
    session: &mut S,
    statements: &Statements,
    request: &ClaimRequest,
    say: Say,
) -> Result<Seen, Failure<S::Error>> {
    let lanes = most(request);
    let values = [
        Value::Int(crate::POSTGRES.version()),
        Value::Int(allowed(&request.lanes)),
        Value::Int(count(lanes)),
        Value::Text(Some(&request.relay)),
        Value::Int(lease_millis(request.lease)),
        Value::Int(count(request.limit.max(1))),
        Value::MaybeInt(say.quiet_ms),
        Value::MaybeInt(say.most_ms),
        Value::MaybeInt(say.ends),
    ];
    let rows = query(session, &statements.lease, &values).await?;
    let mut seen = Seen {
        version: 0,
        quiet: None,
        leased_elsewhere: false,
        next_due: None,
        lanes: Vec::with_capacity(rows.len()),
    };
    for mut row in rows {
        seen.version = row.maybe_int()?.unwrap_or(0);
        seen.quiet = row.maybe_int()?;
        seen.leased_elsewhere = row.flag()?;
        seen.next_due = row.maybe_int()?;
        if let Some(lane) = row.maybe_int()? {
            seen.lanes.push(lane_seen(lane, row)?);
        }
    }
    Ok(seen)
}

fn lane_seen(lane: i64, mut row: Row) -> Result<LaneSeen, crate::UnexpectedRow> {
    Ok(LaneSeen {
        lane: u16::try_from(lane).map_err(|_| crate::UnexpectedRow("a lane"))?,
        epoch: row.int()?,
        holder: Arc::from(row.shown()?.unwrap_or_default()),
        careful: row.flag()?,
        turn: row.int()?,
        scheduled_due: row.flag()?,
        blocked_due: row.flag()?,
        next_due: row.maybe_int()?,
    })
}

/// Moves what fell due into the line, at most `limit` of each lane. Returns how many.
pub(super) async fn promote<S: Session>(
    session: &mut S,
    statements: &Statements,
    lanes: &[i64],
    limit: usize,
) -> Result<usize, Failure<S::Error>> {
    let values = [Value::Ints(lanes), Value::Int(count(limit))];
    let mut promoted = 0;
    for mut row in query(session, &statements.promote, &values).await? {
        promoted += usize::try_from(row.int()?).unwrap_or(0);
    }
    Ok(promoted)
}

/// A lane that a claim gives back.
pub(super) struct Left {
    pub(super) lane: i64,
    /// The turn it had before, if it is to keep it.
    pub(super) turn: Option<i64>,
}

/// Gives lanes back.
pub(super) async fn leave<S: Session>(
    session: &mut S,
    statements: &Statements,
    left: &[Left],
) -> Result<(), Failure<S::Error>> {
    let lanes: Vec<i64> = left.iter().map(|left| left.lane).collect();
    let turns: Vec<Option<i64>> = left.iter().map(|left| left.turn).collect();
    let values = [Value::Ints(&lanes), Value::MaybeInts(&turns)];
    query(session, &statements.leave_lanes, &values).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lane_has_a_bit() {
        assert_eq!(allowed(&LaneFilter::All), -1);
        assert_eq!(
            allowed(&LaneFilter::Only(vec![Lane(0), Lane(5)])),
            0b10_0001
        );
        assert_eq!(allowed(&LaneFilter::Except(vec![Lane(63)])), i64::MAX);
        assert_eq!(allowed(&LaneFilter::Only(vec![Lane(64)])), 0);
    }

    #[test]
    fn a_lease_is_at_least_a_millisecond_and_at_most_a_year() {
        assert_eq!(lease_millis(Duration::ZERO), 1);
        assert_eq!(lease_millis(Duration::from_secs(30)), 30_000);
        assert_eq!(lease_millis(Duration::MAX), MOST_LEASE_MS);
    }
}
