//! Dead letters: found page by page, made pending again, or dropped.

use std::collections::HashSet;

use outbox_message::{Lane, OrderingKey, Position};
use outbox_store::{
    AfterDeath, DeadFilter, DeadLetter, DeadPage, DeadPayload, DeathReason, Stepped,
    adapter::any_key,
};
use sqlx::{SqliteConnection, SqlitePool, sqlite::SqliteRow};

use crate::{
    moves::free_keys,
    row::{counter, int, lane, lane_of, maybe_bytes, maybe_int, positions, shown, to_json},
    upkeep::age,
};

/// A dead letter of a page.
struct Found {
    position: i64,
    /// The lane of its start marks.
    lane: Lane,
    has_key: bool,
    /// Its ordering key, whatever lane it sits in.
    key: Option<OrderingKey>,
}

impl Found {
    /// Where it belongs: a row in a wrong lane is healed.
    fn right_lane(&self) -> u16 {
        self.key.as_ref().map_or(self.lane, lane_of).0
    }
}

/// Which of three statements finds the letters of a filter; each is served by another index.
fn by<'s>(filter: &DeadFilter, id: &'s str, key: &'s str, all: &'s str) -> &'s str {
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

/// How many letters match, and the last position among them.
pub(super) async fn count(
    pool: &SqlitePool,
    filter: &DeadFilter,
) -> Result<(u64, Option<Position>), sqlx::Error> {
    let statement = by(
        filter,
        include_str!("../sql/dead_count_id.sql"),
        include_str!("../sql/dead_count_key.sql"),
        include_str!("../sql/dead_count_all.sql"),
    );
    let row = sqlx::query(statement)
        .bind(filter.id.as_ref().map(|id| id.as_str().to_owned()))
        .bind(filter.topic.clone())
        .bind(filter.key.clone())
        .bind(filter.reason.map(DeathReason::as_str))
        .bind(filter.older_than.map(age))
        .fetch_one(pool)
        .await?;
    let count = u64::try_from(int(&row, "count")?).unwrap_or(0);
    Ok((count, maybe_int(&row, "last")?.map(Position)))
}

async fn find(tx: &mut SqliteConnection, page: &DeadPage) -> Result<Vec<Found>, sqlx::Error> {
    let DeadPage {
        filter,
        after,
        upto,
        limit,
    } = page;
    let statement = by(
        filter,
        include_str!("../sql/dead_page_id.sql"),
        include_str!("../sql/dead_page_key.sql"),
        include_str!("../sql/dead_page_all.sql"),
    );
    let rows = sqlx::query(statement)
        .bind(filter.id.as_ref().map(|id| id.as_str().to_owned()))
        .bind(filter.topic.clone())
        .bind(filter.key.clone())
        .bind(after.map_or(i64::MIN, |after| after.0))
        .bind(upto.map_or(i64::MAX, |upto| upto.0))
        .bind(i64::try_from(*limit).unwrap_or(i64::MAX))
        .bind(filter.reason.map(DeathReason::as_str))
        .bind(filter.older_than.map(age))
        .fetch_all(tx)
        .await?;
    rows.iter()
        .map(|row| {
            let topic = maybe_bytes(row, "topic")?.unwrap_or_default();
            let key = maybe_bytes(row, "key")?;
            Ok(Found {
                position: int(row, "position")?,
                lane: lane(row)?,
                has_key: key.is_some(),
                key: any_key(&topic, key.as_deref()),
            })
        })
        .collect()
}

/// The letters of a page, by position.
pub(super) async fn letters(
    tx: &mut SqliteConnection,
    page: &DeadPage,
    payload: DeadPayload,
) -> Result<Vec<DeadLetter>, sqlx::Error> {
    let found = find(tx, page).await?;
    let found: Vec<i64> = found.iter().map(|letter| letter.position).collect();
    let rows = sqlx::query(include_str!("../sql/dead_letters.sql"))
        .bind(to_json(&found))
        .bind(payload == DeadPayload::Include)
        .fetch_all(tx)
        .await?;
    rows.iter().map(letter).collect()
}

fn letter(row: &SqliteRow) -> Result<DeadLetter, sqlx::Error> {
    let after = shown(row, "after")?.unwrap_or_default();
    Ok(DeadLetter {
        position: Position(int(row, "position")?),
        id: shown(row, "id")?.unwrap_or_default(),
        topic: shown(row, "topic")?.unwrap_or_default(),
        key: shown(row, "key")?,
        headers: shown(row, "headers")?.unwrap_or_else(|| "[]".to_owned()),
        content_type: shown(row, "content_type")?,
        payload: maybe_bytes(row, "payload")?,
        payload_len: u64::try_from(int(row, "payload_len")?).unwrap_or(0),
        attempts: counter(row, "attempts")?,
        tries: counter(row, "tries")?,
        reason: shown(row, "reason")?.unwrap_or_default(),
        error: shown(row, "error")?.unwrap_or_default(),
        after: AfterDeath::parse(&after).unwrap_or_default(),
        saved_at_ms: int(row, "saved_at")?,
        died_at_ms: int(row, "died_at")?,
    })
}

/// Makes the letters of a page pending again (contract O9).
pub(super) async fn redrive(
    tx: &mut SqliteConnection,
    page: &DeadPage,
) -> Result<Stepped, sqlx::Error> {
    let found = find(tx, page).await?;
    if found.is_empty() {
        return Ok(Stepped::default());
    }
    let holding = holding(tx, &found).await?;
    let (held, free): (Vec<_>, Vec<_>) = found
        .iter()
        .partition(|letter| holding.contains(&letter.position));
    if !held.is_empty() {
        let held: Vec<(i64, u16)> = held
            .iter()
            .map(|letter| (letter.position, letter.right_lane()))
            .collect();
        sqlx::query(include_str!("../sql/redrive_waiting.sql"))
            .bind(to_json(&held))
            .execute(&mut *tx)
            .await?;
        let held: Vec<i64> = held.iter().map(|(position, _)| *position).collect();
        release_held(tx, &held, "retry").await?;
    }
    if !free.is_empty() {
        let before = draw(tx, free.len()).await?;
        let free: Vec<(i64, u16, i64)> = free
            .iter()
            .zip(before..)
            .map(|(letter, new)| (letter.position, letter.right_lane(), new))
            .collect();
        sqlx::query(include_str!("../sql/redrive_line.sql"))
            .bind(to_json(&free))
            .execute(&mut *tx)
            .await?;
    }
    let out_of_order = free.iter().filter(|letter| letter.has_key).count();
    delete(tx, &found).await?;
    Ok(stepped(&found, out_of_order))
}

/// Drops the letters of a page.
pub(super) async fn discard(
    tx: &mut SqliteConnection,
    page: &DeadPage,
) -> Result<Stepped, sqlx::Error> {
    let found = find(tx, page).await?;
    if found.is_empty() {
        return Ok(Stepped::default());
    }
    let holding = holding(tx, &found).await?;
    if !holding.is_empty() {
        let held: Vec<i64> = holding.iter().copied().collect();
        release_held(tx, &held, "busy").await?;
        let keys = found
            .iter()
            .filter(|letter| holding.contains(&letter.position))
            .filter_map(|letter| letter.key.as_ref());
        free_keys(tx, keys).await?;
    }
    delete(tx, &found).await?;
    Ok(stepped(&found, 0))
}

fn stepped(found: &[Found], out_of_order: usize) -> Stepped {
    Stepped {
        count: found.len(),
        out_of_order,
        last: found.last().map(|letter| Position(letter.position)),
    }
}

/// Which of the letters hold their key.
async fn holding(tx: &mut SqliteConnection, found: &[Found]) -> Result<HashSet<i64>, sqlx::Error> {
    let found: Vec<i64> = found.iter().map(|letter| letter.position).collect();
    let rows = sqlx::query(include_str!("../sql/holding.sql"))
        .bind(to_json(&found))
        .fetch_all(tx)
        .await?;
    Ok(positions(&rows)?.into_iter().collect())
}

/// The keys that letters hold are due, for this reason.
async fn release_held(
    tx: &mut SqliteConnection,
    held: &[i64],
    reason: &'static str,
) -> Result<(), sqlx::Error> {
    sqlx::query(include_str!("../sql/release_held.sql"))
        .bind(to_json(held))
        .bind(reason)
        .execute(tx)
        .await?;
    Ok(())
}

/// Draws positions; the first of them is returned.
pub(super) async fn draw(tx: &mut SqliteConnection, count: usize) -> Result<i64, sqlx::Error> {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let rows = sqlx::query(include_str!("../sql/draw_positions.sql"))
        .bind(count)
        .fetch_all(tx)
        .await?;
    let row = rows.first().ok_or(sqlx::Error::RowNotFound)?;
    Ok(int(row, "last")? - count + 1)
}

/// Deletes letters with their start marks.
async fn delete(tx: &mut SqliteConnection, found: &[Found]) -> Result<(), sqlx::Error> {
    let marks: Vec<(u16, i64)> = found
        .iter()
        .map(|letter| (letter.lane.0, letter.position))
        .collect();
    let gone: Vec<i64> = found.iter().map(|letter| letter.position).collect();
    sqlx::query(include_str!("../sql/dead_marks.sql"))
        .bind(to_json(&marks))
        .execute(&mut *tx)
        .await?;
    sqlx::query(include_str!("../sql/dead_delete.sql"))
        .bind(to_json(&gone))
        .execute(tx)
        .await?;
    Ok(())
}
