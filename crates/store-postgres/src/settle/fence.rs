//! The fence of a settlement: the lanes are locked, their tokens compared, and what the broker confirmed is removed, wherever it stands.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use outbox_store::adapter::{Confirmed, Fence};

use crate::{
    failure::Failure,
    procedure::query,
    row::{Row, UnexpectedRow},
    session::{Session, Text},
    statements::Statements,
    value::Value,
};

use super::statements::{column, key_text, topic};

/// The statements that remove what was published, and keep it if that is wanted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Texts<'s> {
    fence: &'s Text,
    elsewhere: &'s Text,
}

impl<'s> Texts<'s> {
    pub(super) fn new(statements: &'s Statements, retain: Option<Duration>) -> Self {
        match retain {
            None => Self {
                fence: &statements.fence,
                elsewhere: &statements.confirmed_elsewhere,
            },
            Some(_) => Self {
                fence: &statements.fence_keep,
                elsewhere: &statements.confirmed_elsewhere_keep,
            },
        }
    }
}

/// Where a message stood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In the line, or scheduled: nothing waits behind it.
    Line,
    /// Set aside, so that its key may have to go on without it.
    Aside,
}

/// A lane whose token holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Passed {
    /// It is served carefully.
    pub(super) careful: bool,
    /// It has start marks.
    pub(super) marked: bool,
}

/// What the fence found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Fenced {
    /// The lanes whose token holds.
    pub(super) passed: HashMap<u16, Passed>,
    /// The confirmed messages that were removed.
    pub(super) removed: HashSet<(u16, i64)>,
}

/// Locks the lanes, checks the tokens, gives back the lanes that are to be given back, and removes what is confirmed and in the line.
pub(super) async fn fence<S: Session>(
    session: &mut S,
    texts: Texts<'_>,
    fences: &[Fence<'_>],
    confirmed: &[Confirmed<'_>],
) -> Result<Fenced, Failure<S::Error>> {
    let values = [
        Value::Ints(&column(fences, |fence| i64::from(fence.token.lane.0))),
        Value::Ints(&column(fences, |fence| fence.token.epoch)),
        Value::Texts(&column(fences, |fence| Some(&*fence.token.holder))),
        Value::Flags(&column(fences, |fence| fence.release)),
        Value::Ints(&column(confirmed, |confirmed| i64::from(confirmed.lane))),
        Value::Ints(&column(confirmed, |confirmed| confirmed.position)),
        Value::Texts(&column(confirmed, |confirmed| Some(confirmed.id))),
    ];
    let rows = query(session, texts.fence, &values).await?;
    Ok(fenced(rows)?)
}

fn fenced(rows: Vec<Row>) -> Result<Fenced, UnexpectedRow> {
    let mut fenced = Fenced::default();
    for mut row in rows {
        let lane = row.lane()?;
        let passed = Passed {
            careful: row.flag()?,
            marked: row.flag()?,
        };
        let removed = row.positions()?;
        if removed.is_empty() {
            fenced.passed.insert(lane, passed);
        }
        for position in removed {
            fenced.removed.insert((lane, position));
        }
    }
    Ok(fenced)
}

/// Removes confirmed messages wherever they stand.
pub(super) async fn remove_elsewhere<S: Session>(
    session: &mut S,
    texts: Texts<'_>,
    rest: &[&Confirmed<'_>],
) -> Result<HashMap<(u16, i64), Place>, Failure<S::Error>> {
    let values = [
        Value::Ints(&column(rest, |confirmed| i64::from(confirmed.lane))),
        Value::Ints(&column(rest, |confirmed| confirmed.position)),
        Value::Texts(&column(rest, |confirmed| Some(confirmed.id))),
        Value::Texts(&column(rest, |confirmed| topic(confirmed.key))),
        Value::Texts(&column(rest, |confirmed| key_text(confirmed.key))),
    ];
    let rows = query(session, texts.elsewhere, &values).await?;
    Ok(places(rows)?)
}

/// Rows of lane, position, and whether the message had been set aside.
pub(super) fn places(rows: Vec<Row>) -> Result<HashMap<(u16, i64), Place>, UnexpectedRow> {
    rows.into_iter()
        .map(|mut row| {
            let message = (row.lane()?, row.int()?);
            let place = if row.flag()? {
                Place::Aside
            } else {
                Place::Line
            };
            Ok((message, place))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::row::Cell;

    fn row(lane: i64, careful: bool, marked: Cell, removed: &[i64]) -> Row {
        let removed = match removed {
            [] => Cell::Null,
            positions => Cell::Bytes(positions.iter().flat_map(|it| it.to_be_bytes()).collect()),
        };
        Row::new(vec![Cell::Int(lane), Cell::Flag(careful), marked, removed])
    }

    #[test]
    fn the_fence_answers_held_lanes_and_what_was_removed() {
        let fenced = fenced(vec![
            row(3, false, Cell::Null, &[]),
            row(5, true, Cell::Flag(true), &[]),
            row(3, false, Cell::Flag(false), &[7, 12]),
            row(4, false, Cell::Flag(false), &[9]),
        ])
        .unwrap();
        let passed = |careful, marked| Passed { careful, marked };
        assert_eq!(
            fenced.passed,
            HashMap::from([(3, passed(false, false)), (5, passed(true, true))])
        );
        assert_eq!(fenced.removed, HashSet::from([(3, 7), (3, 12), (4, 9)]));
    }

    #[test]
    fn anything_but_positions_is_unexpected() {
        let cells = [7, 12].map(|bytes| Cell::Bytes(Bytes::from(vec![0; bytes])));
        for removed in cells {
            let row = Row::new(vec![Cell::Int(3), Cell::Flag(false), Cell::Null, removed]);
            assert!(fenced(vec![row]).is_err());
        }
    }
}
