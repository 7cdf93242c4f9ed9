//! The statements that record failures and what follows from them. Those that would have nothing to do are left out.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use outbox_message::OrderingKey;
use outbox_store::adapter::{Failed, Mark, Next};

use crate::{
    failure::Failure, procedure::query, session::Session, statements::Statements, value::Value,
};

use super::{
    fates::Block,
    fence::{Place, places},
};

/// One value for each row, as a column of a statement's parameters.
pub(super) fn column<'r, T, V>(rows: &'r [T], of: impl Fn(&'r T) -> V) -> Vec<V> {
    rows.iter().map(of).collect()
}

/// The topic of a message that has a key.
pub(super) fn topic(key: Option<&OrderingKey>) -> Option<&str> {
    key.map(|key| key.topic.as_str())
}

/// The key of a message that has one.
pub(super) fn key_text(key: Option<&OrderingKey>) -> Option<&str> {
    key.map(|key| key.key.as_str())
}

/// Counts failures on the rows that still have the tries they were claimed with. Returns those, and where they stand.
pub(super) async fn count_failures<S: Session>(
    session: &mut S,
    statements: &Statements,
    failed: &[Failed<'_>],
) -> Result<HashMap<(u16, i64), Place>, Failure<S::Error>> {
    let values = [
        Value::Ints(&column(failed, |failed| i64::from(failed.lane))),
        Value::Ints(&column(failed, |failed| failed.position)),
        Value::Ints(&column(failed, |failed| i64::from(failed.tries))),
        Value::Texts(&column(failed, |failed| topic(failed.key))),
        Value::Texts(&column(failed, |failed| key_text(failed.key))),
        Value::Flags(&column(failed, |failed| failed.counted)),
        Value::Texts(&column(failed, |failed| Some(failed.error))),
    ];
    let rows = query(session, &statements.count_failures, &values).await?;
    Ok(places(rows)?)
}

/// Moves messages from the line to those that wait.
pub(super) async fn set_aside<S: Session>(
    session: &mut S,
    statements: &Statements,
    aside: &[&Failed<'_>],
) -> Result<(), Failure<S::Error>> {
    if aside.is_empty() {
        return Ok(());
    }
    let values = [
        Value::Ints(&column(aside, |failed| i64::from(failed.lane))),
        Value::Ints(&column(aside, |failed| failed.position)),
    ];
    query(session, &statements.set_aside, &values).await?;
    Ok(())
}

/// Moves messages from the line to those scheduled, each with the milliseconds until it is due.
pub(super) async fn schedule<S: Session>(
    session: &mut S,
    statements: &Statements,
    scheduled: &[(&Failed<'_>, i64)],
) -> Result<(), Failure<S::Error>> {
    if scheduled.is_empty() {
        return Ok(());
    }
    let values = [
        Value::Ints(&column(scheduled, |(failed, _)| i64::from(failed.lane))),
        Value::Ints(&column(scheduled, |(failed, _)| failed.position)),
        Value::Ints(&column(scheduled, |(_, delay)| *delay)),
    ];
    query(session, &statements.schedule, &values).await?;
    Ok(())
}

/// Moves messages to the dead letters.
pub(super) async fn bury<S: Session>(
    session: &mut S,
    statements: &Statements,
    dead: &[&Failed<'_>],
) -> Result<(), Failure<S::Error>> {
    if dead.is_empty() {
        return Ok(());
    }
    let word = |failed: &Failed<'_>| match failed.next {
        Next::Die(reason, after) => (Some(reason.as_str()), Some(after.as_str())),
        Next::Stay | Next::Wait(_) => (None, None),
    };
    let values = [
        Value::Ints(&column(dead, |failed| i64::from(failed.lane))),
        Value::Ints(&column(dead, |failed| failed.position)),
        Value::Texts(&column(dead, |failed| topic(failed.key))),
        Value::Texts(&column(dead, |failed| key_text(failed.key))),
        Value::Texts(&column(dead, |failed| word(failed).0)),
        Value::Texts(&column(dead, |failed| word(failed).1)),
    ];
    query(session, &statements.bury, &values).await?;
    Ok(())
}

/// Blocks keys.
pub(super) async fn block_keys<S: Session>(
    session: &mut S,
    statements: &Statements,
    blocks: &BTreeMap<&OrderingKey, Block>,
) -> Result<(), Failure<S::Error>> {
    if blocks.is_empty() {
        return Ok(());
    }
    let blocks: Vec<(&OrderingKey, Block)> =
        blocks.iter().map(|(key, block)| (*key, *block)).collect();
    let values = [
        Value::Ints(&column(&blocks, |(_, block)| i64::from(block.lane))),
        Value::Texts(&column(&blocks, |(key, _)| topic(Some(*key)))),
        Value::Texts(&column(&blocks, |(key, _)| key_text(Some(*key)))),
        Value::Ints(&column(&blocks, |(_, block)| block.position)),
        Value::MaybeInts(&column(&blocks, |(_, block)| block.delay)),
    ];
    query(session, &statements.block_keys, &values).await?;
    Ok(())
}

/// Lets keys go on: a block behind which nothing waits goes, one whose message is gone is due for the next.
pub(super) async fn free_keys<S: Session>(
    session: &mut S,
    statements: &Statements,
    keys: &BTreeSet<&OrderingKey>,
) -> Result<(), Failure<S::Error>> {
    if keys.is_empty() {
        return Ok(());
    }
    let keys: Vec<&OrderingKey> = keys.iter().copied().collect();
    let values = [
        Value::Texts(&column(&keys, |key| topic(Some(*key)))),
        Value::Texts(&column(&keys, |key| key_text(Some(*key)))),
    ];
    query(session, &statements.free_keys, &values).await?;
    Ok(())
}

/// Ends the row of starts of lanes in which messages completed, and lowers their care by as many.
pub(super) async fn complete_care<S: Session>(
    session: &mut S,
    statements: &Statements,
    completed: &BTreeMap<u16, i64>,
) -> Result<(), Failure<S::Error>> {
    if completed.is_empty() {
        return Ok(());
    }
    let (lanes, counts): (Vec<i64>, Vec<i64>) = completed
        .iter()
        .map(|(lane, count)| (i64::from(*lane), *count))
        .unzip();
    let values = [Value::Ints(&lanes), Value::Ints(&counts)];
    query(session, &statements.complete_care, &values).await?;
    Ok(())
}

/// Takes single start marks back.
pub(super) async fn take_marks_back<S: Session>(
    session: &mut S,
    statements: &Statements,
    marks: &[&Mark<'_>],
) -> Result<(), Failure<S::Error>> {
    if marks.is_empty() {
        return Ok(());
    }
    let values = [
        Value::Ints(&column(marks, |mark| i64::from(mark.lane))),
        Value::Ints(&column(marks, |mark| mark.position)),
        Value::Texts(&column(marks, |mark| Some(mark.holder))),
    ];
    query(session, &statements.take_marks_back, &values).await?;
    Ok(())
}
