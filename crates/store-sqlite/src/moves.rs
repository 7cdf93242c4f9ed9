//! What claims, settlements and operators share: moving messages between the tables, and letting keys go on.

use outbox_message::OrderingKey;
use sqlx::SqliteConnection;

use crate::row::to_json;

/// The tables that hold pending messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Table {
    Line,
    Waiting,
    Scheduled,
}

/// Moves messages from the line to those that wait.
pub(crate) async fn set_aside(tx: &mut SqliteConnection, aside: &[i64]) -> Result<(), sqlx::Error> {
    leave_line(tx, include_str!("sql/set_aside.sql"), aside).await
}

/// Moves messages without a key from the line to the scheduled ones, where nothing makes them due but the end of a stop.
pub(crate) async fn set_aside_unkeyed(
    tx: &mut SqliteConnection,
    aside: &[i64],
) -> Result<(), sqlx::Error> {
    leave_line(tx, include_str!("sql/set_aside_unkeyed.sql"), aside).await
}

async fn leave_line(
    tx: &mut SqliteConnection,
    statement: &'static str,
    aside: &[i64],
) -> Result<(), sqlx::Error> {
    sqlx::query(statement)
        .bind(to_json(aside))
        .execute(&mut *tx)
        .await?;
    delete(tx, Table::Line, aside.iter().copied()).await
}

/// Deletes rows that stand elsewhere now.
pub(crate) async fn delete(
    tx: &mut SqliteConnection,
    table: Table,
    gone: impl Iterator<Item = i64>,
) -> Result<(), sqlx::Error> {
    let gone: Vec<i64> = gone.collect();
    if gone.is_empty() {
        return Ok(());
    }
    let statement = match table {
        Table::Line => include_str!("sql/line_delete.sql"),
        Table::Waiting => include_str!("sql/waiting_delete.sql"),
        Table::Scheduled => include_str!("sql/scheduled_delete.sql"),
    };
    sqlx::query(statement)
        .bind(to_json(&gone))
        .execute(tx)
        .await?;
    Ok(())
}

/// Lets keys go on: a block behind which nothing waits goes, one whose message is gone is due for the next.
pub(crate) async fn free_keys<'k>(
    tx: &mut SqliteConnection,
    keys: impl Iterator<Item = &'k OrderingKey>,
) -> Result<(), sqlx::Error> {
    let keys: Vec<(&str, &str)> = keys
        .map(|key| (key.topic.as_str(), key.key.as_str()))
        .collect();
    let keys = to_json(&keys);
    sqlx::query(include_str!("sql/free_empty.sql"))
        .bind(keys.clone())
        .execute(&mut *tx)
        .await?;
    sqlx::query(include_str!("sql/free_next.sql"))
        .bind(keys)
        .execute(tx)
        .await?;
    Ok(())
}
