//! Dead letters: found page by page, made pending again, or dropped; and keys that are tried again at once.
//!
//! A step finds its letters, locks their lanes, and only then, in a later statement, acts on those that are still there: of two steps at once, the
//! second waits for the lanes and finds nothing left.

use std::collections::BTreeSet;

use outbox_message::{MessageId, OrderingKey, Position};
use outbox_store::{
    AfterDeath, DeadFilter, DeadLetter, DeadPage, DeadPayload, DeathReason, Stepped,
};

use crate::{
    LANES,
    failure::Failure,
    lease::lock_lanes,
    procedure::{Procedure, query},
    row::{Row, UnexpectedRow},
    session::{Session, Text},
    statements::Statements,
    upkeep::age,
    value::Value,
};

/// The letters of a page, as they were before their lanes were locked.
#[derive(Default)]
struct Found {
    positions: Vec<i64>,
    /// The lanes where they sit and those where they belong: a row in a wrong lane is healed.
    lanes: BTreeSet<i64>,
}

/// Which of three statements serves a filter; each is served by another index.
fn by<'s>(filter: &DeadFilter, id: &'s Text, key: &'s Text, all: &'s Text) -> &'s Text {
    match filter {
        DeadFilter { id: Some(_), .. } => id,
        DeadFilter {
            topic: Some(_),
            key: Some(_),
            ..
        } => key,
        DeadFilter { .. } => all,
    }
}

fn filter_values(filter: &DeadFilter) -> [Value<'_>; 3] {
    [
        Value::Text(filter.id.as_ref().map(MessageId::as_str)),
        Value::Text(filter.topic.as_deref()),
        Value::Text(filter.key.as_deref()),
    ]
}

/// What no index serves.
fn more_values(filter: &DeadFilter) -> [Value<'_>; 2] {
    [
        Value::Text(filter.reason.map(DeathReason::as_str)),
        Value::MaybeInt(filter.older_than.map(age)),
    ]
}

async fn find<S: Session>(
    session: &mut S,
    statements: &Statements,
    page: &DeadPage,
) -> Result<Found, Failure<S::Error>> {
    let statement = by(
        &page.filter,
        &statements.dead_page_id,
        &statements.dead_page_key,
        &statements.dead_page_all,
    );
    let [id, topic, key] = filter_values(&page.filter);
    let after = Value::Int(page.after.map_or(i64::MIN, |after| after.0));
    let upto = Value::Int(page.upto.map_or(i64::MAX, |upto| upto.0));
    let limit = Value::Int(i64::try_from(page.limit).unwrap_or(i64::MAX));
    let [reason, older_than] = more_values(&page.filter);
    let values = [id, topic, key, after, upto, limit, reason, older_than];
    let rows = query(session, statement, &values).await?;
    let mut found = Found::default();
    for mut row in rows {
        found.positions.push(row.int()?);
        found.lanes.extend([row.int()?, row.int()?]);
    }
    Ok(found)
}

/// Finds the letters of a page and acts on those that are still there when their lanes are locked.
async fn step<S: Session>(
    session: &mut S,
    statements: &Statements,
    page: &DeadPage,
    act: &Text,
) -> Result<Stepped, Failure<S::Error>> {
    let found = find(session, statements, page).await?;
    if found.positions.is_empty() {
        return Ok(Stepped::default());
    }
    lock_lanes(session, statements, found.lanes).await?;
    let rows = query(session, act, &[Value::Ints(&found.positions)]).await?;
    let mut stepped = Stepped {
        count: rows.len(),
        out_of_order: 0,
        last: found.positions.last().copied().map(Position),
    };
    for mut row in rows {
        if row.flag()? {
            stepped.out_of_order += 1;
        }
    }
    Ok(stepped)
}

/// Counts the letters of a filter, and says the last position among them.
pub(super) struct CountDead<'a>(pub(super) &'a DeadFilter);

impl Procedure for CountDead<'_> {
    type Output = (u64, Option<Position>);

    const WHAT: &'static str = "count dead letters";

    fn begin<'s>(&self, statements: &'s Statements) -> &'s Text {
        &statements.begin_read
    }

    async fn run<S: Session>(
        &self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<Self::Output, Failure<S::Error>> {
        let statement = by(
            self.0,
            &statements.dead_count_id,
            &statements.dead_count_key,
            &statements.dead_count_all,
        );
        let [id, topic, key] = filter_values(self.0);
        let [reason, older_than] = more_values(self.0);
        let values = [id, topic, key, reason, older_than];
        let rows = query(session, statement, &values).await?;
        let mut row = rows.into_iter().next().ok_or(UnexpectedRow("a count"))?;
        Ok((row.count()?, row.maybe_int()?.map(Position)))
    }
}

/// Lists the letters of a page.
pub(super) struct ListDead<'a> {
    pub(super) page: &'a DeadPage,
    pub(super) payload: DeadPayload,
}

impl Procedure for ListDead<'_> {
    type Output = Vec<DeadLetter>;

    const WHAT: &'static str = "list dead letters";

    fn begin<'s>(&self, statements: &'s Statements) -> &'s Text {
        &statements.begin_read
    }

    async fn run<S: Session>(
        &self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<Self::Output, Failure<S::Error>> {
        let found = find(session, statements, self.page).await?;
        let positions = Value::Ints(&found.positions);
        let payload = Value::Flag(self.payload == DeadPayload::Include);
        let rows = query(session, &statements.dead_letters, &[positions, payload]).await?;
        Ok(rows.into_iter().map(letter).collect::<Result<_, _>>()?)
    }
}

fn letter(mut row: Row) -> Result<DeadLetter, UnexpectedRow> {
    Ok(DeadLetter {
        position: Position(row.int()?),
        id: row.shown()?.unwrap_or_default(),
        topic: row.shown()?.unwrap_or_default(),
        key: row.shown()?,
        headers: row.shown()?.unwrap_or_else(|| "[]".to_owned()),
        content_type: row.shown()?,
        attempts: row.counter()?,
        tries: row.counter()?,
        reason: row.shown()?.unwrap_or_default(),
        error: row.shown()?.unwrap_or_default(),
        after: AfterDeath::parse(&row.shown()?.unwrap_or_default()).unwrap_or_default(),
        saved_at_ms: row.int()?,
        died_at_ms: row.int()?,
        payload_len: row.count()?,
        payload: row.maybe_bytes()?.map(Vec::from),
    })
}

/// Makes the letters of a page pending again (contract O9).
pub(super) struct Redrive<'a>(pub(super) &'a DeadPage);

impl Procedure for Redrive<'_> {
    type Output = Stepped;

    const WHAT: &'static str = "redrive dead letters";

    async fn run<S: Session>(
        &self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<Stepped, Failure<S::Error>> {
        step(session, statements, self.0, &statements.redrive).await
    }
}

/// Drops the letters of a page.
pub(super) struct Discard<'a>(pub(super) &'a DeadPage);

impl Procedure for Discard<'_> {
    type Output = Stepped;

    const WHAT: &'static str = "discard dead letters";

    async fn run<S: Session>(
        &self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<Stepped, Failure<S::Error>> {
        step(session, statements, self.0, &statements.discard).await
    }
}

/// Makes a key that waits for a retry due now.
pub(super) struct RetryNow<'a>(pub(super) &'a OrderingKey);

impl Procedure for RetryNow<'_> {
    type Output = bool;

    const WHAT: &'static str = "make a key due";

    async fn run<S: Session>(
        &self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<bool, Failure<S::Error>> {
        lock_lanes(session, statements, [i64::from(self.0.lane(LANES).0)]).await?;
        let topic = Value::Text(Some(self.0.topic.as_str()));
        let key = Value::Text(Some(self.0.key.as_str()));
        let rows = query(session, &statements.retry_now, &[topic, key]).await?;
        Ok(!rows.is_empty())
    }
}
