//! SQLite files: how they are opened, and how they are filled for this outbox. The plain queue fills its own.

use std::{ops::RangeInclusive, time::Duration};

use outbox::{
    Message,
    sqlite::{SqliteStore, connect_options},
};
use sqlx::{
    Connection as _, SqliteConnection, SqlitePool,
    sqlite::{SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

use super::{commit::Commit as _, outbox_tables::TOPIC};
use crate::{Result, template::Fill};

/// How the URLs of files begin.
pub(crate) const SCHEME: &str = "sqlite:";

/// How many messages a transaction of a fill saves.
const AT_ONCE: u64 = 2_000;

/// Sets all messages aside, as a claim does that meets a key whose head waits.
const SET_ASIDE: &str = "
  INSERT INTO outbox_waiting
    (position, lane, id, topic, key, attempts, tries, saved_at, payload)
  SELECT position, lane, id, topic, key, position = 1, position = 1, saved_at, payload
  FROM outbox_message
  ORDER BY position;
  DELETE FROM outbox_message;
  INSERT INTO outbox_blocked_key (lane, topic, key, until, reason, position)
  SELECT lane, topic, key, saved_at + 86400000, 'retry', position
  FROM outbox_waiting
  ORDER BY position
  LIMIT 1";

/// Connections as an application has them: what is committed is on the disk.
pub(crate) async fn pool(url: &str, connections: u32) -> Result<SqlitePool> {
    let options = connect_options(url)?.busy_timeout(Duration::from_secs(30));
    let pool = SqlitePoolOptions::new()
        .max_connections(connections)
        .min_connections(connections)
        .connect_with(options)
        .await?;
    Ok(pool)
}

/// A connection to a new file. Nothing is lost if it is: the fill is made again.
pub(crate) async fn create(url: &str) -> Result<SqlitePool> {
    let options = connect_options(url)?
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Off);
    let pool = SqlitePoolOptions::new()
        .max_connections(1)
        .connect_with(options)
        .await?;
    Ok(pool)
}

/// Closes what was created, so that all of it is in the one file.
pub(crate) async fn complete(pool: SqlitePool) -> Result {
    sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)")
        .execute(&pool)
        .await?;
    pool.close().await;
    Ok(())
}

/// Such as `3.50.4`.
pub(crate) async fn version() -> Result<String> {
    let mut connection = SqliteConnection::connect("sqlite::memory:").await?;
    let version = sqlx::query_scalar("SELECT sqlite_version()");
    Ok(version.fetch_one(&mut connection).await?)
}

/// Fills a new file with the schema and messages.
pub(crate) async fn fill(url: &str, fill: Fill) -> Result {
    let pool = create(url).await?;
    SqliteStore::migrate(&pool).await?;
    let store = SqliteStore::open(pool.clone()).await?;
    for numbers in parts(fill.waiting) {
        let each = numbers.map(|n| Ok(message(n, fill)?.with_key("waits")?));
        store.commit(&each.collect::<Result<Vec<_>>>()?).await?;
    }
    sqlx::raw_sql(SET_ASIDE).execute(&pool).await?;
    for numbers in parts(fill.messages) {
        let each = numbers.map(|n| {
            let message = message(n, fill)?;
            Ok(match n.checked_rem(fill.keys) {
                Some(key) => message.with_key(format!("order-{key}"))?,
                None => message,
            })
        });
        store.commit(&each.collect::<Result<Vec<_>>>()?).await?;
    }
    complete(pool).await
}

fn message(n: u64, fill: Fill) -> Result<Message> {
    Ok(Message::new(TOPIC, payload(&n.to_string(), fill.payload))?)
}

/// The payload of a message, the same bytes as on Postgres.
pub(crate) fn payload(number: &str, bytes: u64) -> String {
    let filler = "x".repeat(usize::try_from(bytes.saturating_sub(60)).unwrap_or_default());
    format!(r#"{{"number":{number},"total":9900,"currency":"EUR","note":"{filler}"}}"#)
}

/// The numbers from one to `messages`, in transactions.
fn parts(messages: u64) -> impl Iterator<Item = RangeInclusive<u64>> {
    let parts = messages.div_ceil(AT_ONCE);
    (0..parts).map(move |part| part * AT_ONCE + 1..=(part * AT_ONCE + AT_ONCE).min(messages))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fill_is_saved_in_parts_that_leave_nothing_out() {
        let all: Vec<_> = parts(4_500).collect();
        assert_eq!(all, [1..=2_000, 2_001..=4_000, 4_001..=4_500]);
        assert_eq!(parts(0).count(), 0);
    }

    #[test]
    fn a_payload_is_json_of_about_the_bytes_that_were_asked_for() {
        let payload = payload("17", 200);
        let json: serde_json::Value = serde_json::from_str(&payload).unwrap();
        assert_eq!(json["number"], 17);
        assert!((190..=205).contains(&payload.len()));
    }
}
