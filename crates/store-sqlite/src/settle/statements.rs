//! The statements of a settlement, each with what its rows mean.

use std::collections::{BTreeMap, HashMap, HashSet};

use outbox_store::adapter::{Confirmed, Failed, Fence, Mark, Next};
use sqlx::SqliteConnection;

use crate::{
    moves::{Table, delete},
    row::{int, lane, positions, to_json},
};

/// A lane whose token holds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passed {
    /// The clock.
    pub(super) now: i64,
    /// It is served carefully.
    pub(super) careful: bool,
    /// It has start marks.
    pub(super) marked: bool,
}

/// Checks the tokens, and gives back the lanes that are to be given back. Returns the lanes whose token holds.
pub(super) async fn fence(
    tx: &mut SqliteConnection,
    fences: &[Fence<'_>],
) -> Result<HashMap<u16, Passed>, sqlx::Error> {
    let tokens: Vec<(u16, i64, &str, u8)> = fences
        .iter()
        .map(|Fence { token, release }| {
            (
                token.lane.0,
                token.epoch,
                &*token.holder,
                u8::from(*release),
            )
        })
        .collect();
    let rows = sqlx::query(include_str!("../sql/fence.sql"))
        .bind(to_json(&tokens))
        .fetch_all(tx)
        .await?;
    rows.iter()
        .map(|row| {
            let passed = Passed {
                now: int(row, "now")?,
                careful: int(row, "careful")? > 0,
                marked: int(row, "marked")? != 0,
            };
            Ok((lane(row)?.0, passed))
        })
        .collect()
}

/// Keeps confirmed messages of a table as published, where lane, position and id match. They are removed after that.
pub(super) async fn keep_confirmed(
    tx: &mut SqliteConnection,
    table: Table,
    confirmed: &[&Confirmed<'_>],
) -> Result<(), sqlx::Error> {
    let statement = match table {
        Table::Line => include_str!("../sql/keep_line.sql"),
        Table::Waiting => include_str!("../sql/keep_waiting.sql"),
        Table::Scheduled => include_str!("../sql/keep_scheduled.sql"),
    };
    sqlx::query(statement)
        .bind(names(confirmed))
        .execute(tx)
        .await?;
    Ok(())
}

/// Removes confirmed messages from a table where lane, position and id match. Returns the positions removed.
pub(super) async fn remove_confirmed(
    tx: &mut SqliteConnection,
    table: Table,
    confirmed: &[&Confirmed<'_>],
) -> Result<HashSet<i64>, sqlx::Error> {
    let statement = match table {
        Table::Line => include_str!("../sql/confirmed_line.sql"),
        Table::Waiting => include_str!("../sql/confirmed_waiting.sql"),
        Table::Scheduled => include_str!("../sql/confirmed_scheduled.sql"),
    };
    let rows = sqlx::query(statement)
        .bind(names(confirmed))
        .fetch_all(tx)
        .await?;
    Ok(positions(&rows)?.into_iter().collect())
}

/// Position, id and lane of each, for a statement.
fn names(confirmed: &[&Confirmed<'_>]) -> String {
    let names: Vec<(i64, &str, u16)> = confirmed
        .iter()
        .map(|confirmed| (confirmed.position, confirmed.id, confirmed.lane))
        .collect();
    to_json(&names)
}

/// Counts failures on the rows of a table that still have the tries they were claimed with. Returns the positions counted.
pub(super) async fn count_failures(
    tx: &mut SqliteConnection,
    table: Table,
    failures: &[&Failed<'_>],
) -> Result<HashSet<i64>, sqlx::Error> {
    let given: Vec<(i64, u16, u32, u8, &str)> = failures
        .iter()
        .map(|failure| {
            (
                failure.position,
                failure.lane,
                failure.tries,
                u8::from(failure.counted),
                failure.error,
            )
        })
        .collect();
    let statement = match table {
        Table::Line | Table::Scheduled => include_str!("../sql/failed_line.sql"),
        Table::Waiting => include_str!("../sql/failed_waiting.sql"),
    };
    let rows = sqlx::query(statement)
        .bind(to_json(&given))
        .fetch_all(tx)
        .await?;
    Ok(positions(&rows)?.into_iter().collect())
}

/// Moves messages from the line to those scheduled, each with the time it is due.
pub(super) async fn schedule(
    tx: &mut SqliteConnection,
    scheduled: &[(i64, i64)],
) -> Result<(), sqlx::Error> {
    sqlx::query(include_str!("../sql/schedule.sql"))
        .bind(to_json(scheduled))
        .execute(&mut *tx)
        .await?;
    delete(
        tx,
        Table::Line,
        scheduled.iter().map(|(position, _)| *position),
    )
    .await
}

/// Copies messages to the dead letters.
pub(super) async fn bury(
    tx: &mut SqliteConnection,
    dead: &[&Failed<'_>],
    now: i64,
) -> Result<(), sqlx::Error> {
    let given: Vec<(i64, &str, &str)> = dead
        .iter()
        .filter_map(|failure| match failure.next {
            Next::Die(reason, after) => Some((failure.position, reason.as_str(), after.as_str())),
            Next::Stay | Next::Wait(_) => None,
        })
        .collect();
    sqlx::query(include_str!("../sql/bury.sql"))
        .bind(to_json(&given))
        .bind(now)
        .execute(tx)
        .await?;
    Ok(())
}

/// Blocks the keys of waiting messages, each until its retry is due.
pub(super) async fn block_retry(
    tx: &mut SqliteConnection,
    blocks: &[(i64, i64)],
) -> Result<(), sqlx::Error> {
    sqlx::query(include_str!("../sql/block_retry.sql"))
        .bind(to_json(blocks))
        .execute(tx)
        .await?;
    Ok(())
}

/// Blocks the keys of dead letters until an operator acts.
pub(super) async fn block_dead(
    tx: &mut SqliteConnection,
    holding: impl Iterator<Item = i64>,
) -> Result<(), sqlx::Error> {
    let holding: Vec<i64> = holding.collect();
    if holding.is_empty() {
        return Ok(());
    }
    sqlx::query(include_str!("../sql/block_dead.sql"))
        .bind(to_json(&holding))
        .execute(tx)
        .await?;
    Ok(())
}

/// Ends the row of starts of lanes in which messages completed, and lowers their care by as many.
pub(super) async fn complete_care(
    tx: &mut SqliteConnection,
    completed: &BTreeMap<u16, u64>,
) -> Result<(), sqlx::Error> {
    let completed: Vec<_> = completed.iter().collect();
    let completed = to_json(&completed);
    sqlx::query(include_str!("../sql/lower_care.sql"))
        .bind(completed.clone())
        .execute(&mut *tx)
        .await?;
    sqlx::query(include_str!("../sql/delete_marks.sql"))
        .bind(completed)
        .execute(tx)
        .await?;
    Ok(())
}

/// Takes single start marks back.
pub(super) async fn take_marks_back(
    tx: &mut SqliteConnection,
    marks: &[&Mark<'_>],
) -> Result<(), sqlx::Error> {
    let marks: Vec<(u16, i64, &str)> = marks
        .iter()
        .map(|mark| (mark.lane, mark.position, mark.holder))
        .collect();
    sqlx::query(include_str!("../sql/take_marks_back.sql"))
        .bind(to_json(&marks))
        .execute(tx)
        .await?;
    Ok(())
}
