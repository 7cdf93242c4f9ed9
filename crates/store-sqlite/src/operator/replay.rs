//! Replay: published messages that are kept are saved again.

use outbox_store::{
    PublishedPlace, Replay, ReplayMode, Replayed,
    adapter::{MOST_LOOKED_AT, looked_at, replay_stored_headers},
};
use sqlx::SqliteConnection;

use super::dead::draw;
use crate::row::{int, maybe_bytes, maybe_int, to_json};

/// One step. If it only counts, no write lock is needed.
pub(super) async fn replay(
    tx: &mut SqliteConnection,
    replay: &Replay,
) -> Result<Replayed, sqlx::Error> {
    let upto = match replay.upto {
        Some(upto) => upto,
        None => published_so_far(tx).await?,
    };
    let (after, end) = looked_at(replay, upto, 1);
    let filter = &replay.filter;
    let rows = sqlx::query(include_str!("../sql/replay_page.sql"))
        .bind(after.at)
        .bind(after.number)
        .bind(end.at)
        .bind(end.number)
        .bind(i64::try_from(MOST_LOOKED_AT).unwrap_or(i64::MAX))
        .bind(filter.id.as_ref().map(|id| id.as_str().to_owned()))
        .bind(filter.topic.clone())
        .bind(filter.key.clone())
        .fetch_all(&mut *tx)
        .await?;
    let (mut chosen, mut left_out, mut last) = (Vec::new(), 0, None);
    for row in &rows {
        if chosen.len() >= replay.limit {
            break;
        }
        let place = PublishedPlace {
            at: int(row, "published_at")?,
            number: int(row, "number")?,
        };
        last = Some(place);
        if maybe_int(row, "matches")? == Some(1) {
            match replay_stored_headers(maybe_bytes(row, "headers")?.as_deref()) {
                Some(headers) => chosen.push((place.number, headers)),
                None => left_out += 1,
            }
        }
    }
    if replay.mode == ReplayMode::Save && !chosen.is_empty() {
        let first = draw(tx, chosen.len()).await?;
        let lines: Vec<(i64, i64, &str)> = chosen
            .iter()
            .zip(first..)
            .map(|((number, headers), position)| (*number, position, headers.as_str()))
            .collect();
        sqlx::query(include_str!("../sql/replay_line.sql"))
            .bind(to_json(&lines))
            .execute(tx)
            .await?;
    }
    Ok(Replayed {
        count: chosen.len(),
        left_out,
        last,
        upto,
    })
}

/// The place of what was published last.
async fn published_so_far(tx: &mut SqliteConnection) -> Result<PublishedPlace, sqlx::Error> {
    let row = sqlx::query(include_str!("../sql/replay_now.sql"))
        .fetch_one(tx)
        .await?;
    Ok(PublishedPlace {
        at: int(&row, "now")?,
        number: maybe_int(&row, "last")?.unwrap_or(0),
    })
}
