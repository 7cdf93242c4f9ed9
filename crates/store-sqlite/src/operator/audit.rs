//! The audit: a line for each command of an operator.

use outbox_store::{Action, AuditLine, AuditPage, Command};
use sqlx::{SqliteConnection, SqlitePool, sqlite::SqliteRow};

use crate::row::{int, shown};

/// Grows the line of a command by a step that concerned so many.
pub(super) async fn note(
    tx: &mut SqliteConnection,
    command: &Command,
    action: Action,
    count: usize,
) -> Result<(), sqlx::Error> {
    sqlx::query(include_str!("../sql/audit_note.sql"))
        .bind(command.id.as_str())
        .bind(action.as_str())
        .bind(command.who())
        .bind(command.filter())
        .bind(i64::try_from(count).unwrap_or(i64::MAX))
        .execute(tx)
        .await?;
    Ok(())
}

/// A page, the newest first.
pub(super) async fn list(
    pool: &SqlitePool,
    page: &AuditPage,
) -> Result<Vec<AuditLine>, sqlx::Error> {
    let rows = sqlx::query(include_str!("../sql/audit_page.sql"))
        .bind(page.before.unwrap_or(i64::MAX))
        .bind(i64::try_from(page.limit).unwrap_or(i64::MAX))
        .fetch_all(pool)
        .await?;
    rows.iter().map(line).collect()
}

fn line(row: &SqliteRow) -> Result<AuditLine, sqlx::Error> {
    let text = |column| Ok::<_, sqlx::Error>(shown(row, column)?.unwrap_or_default());
    let count = |column| Ok::<_, sqlx::Error>(u64::try_from(int(row, column)?).unwrap_or(0));
    Ok(AuditLine {
        number: int(row, "number")?,
        command: text("command")?,
        action: text("action")?,
        who: text("who")?,
        filter: text("filter")?,
        began_at_ms: int(row, "began_at")?,
        ended_at_ms: int(row, "ended_at")?,
        steps: count("steps")?,
        count: count("count")?,
    })
}
