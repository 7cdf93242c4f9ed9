//! Saving inside the caller's transaction. Nothing is begun, committed or rolled back here.

mod batch;

use std::collections::HashSet;

use async_trait::async_trait;
use outbox_message::{Message, OrderingKey, Position};
use outbox_store::{
    Due, MAX_DELAY, OutboxWriter, Save, SaveError, Saved,
    adapter::{encode_headers, millis},
};
use sqlx::SqliteConnection;

pub(crate) use batch::insert_all;

use crate::{
    SqliteStore,
    error::{BEGIN_HINT, code, primary_code, save_error},
    row::{LANES, NEVER, int, lane_of, maybe_bytes, raw_message, to_json},
    schema::{explain_save, require_save},
};

impl SqliteStore {
    /// Saves one message in the caller's open transaction.
    ///
    /// # Errors
    ///
    /// [`SaveError`]; the transaction is as it was, but for [`SaveError::Database`].
    pub async fn save<'a>(
        &self,
        tx: &mut SqliteConnection,
        save: impl Into<Save<'a>>,
    ) -> Result<Saved, SaveError> {
        let save = save.into();
        save.message.check_payload(self.config.max_payload_bytes)?;
        require_transaction(tx).await?;
        let once = once_millis(&save);
        let drawn = draw(tx, 1, once.as_slice()).await?;
        if once.is_some_and(|(id, _)| drawn.remembered.contains(id)) {
            return Ok(Saved::Duplicate);
        }
        insert(tx, save, &drawn).await?;
        remember(tx, once.as_slice(), drawn.now).await?;
        Ok(Saved::New(Position(drawn.last)))
    }

    /// Saves any number of messages in the caller's open transaction, in order, with a fixed number of statements.
    ///
    /// # Errors
    ///
    /// [`SaveError`]; the transaction is as it was, but for [`SaveError::Database`].
    pub async fn save_all(
        &self,
        tx: &mut SqliteConnection,
        saves: &[Save<'_>],
    ) -> Result<Vec<Saved>, SaveError> {
        for save in saves {
            save.message.check_payload(self.config.max_payload_bytes)?;
        }
        require_transaction(tx).await?;
        if saves.is_empty() {
            return Ok(Vec::new());
        }
        batch::save_all(tx, saves).await
    }

    /// The pending messages that this connection sees, by position: what is committed, and what its own open transaction saved. For tests of
    /// applications; it reads the whole backlog.
    ///
    /// # Errors
    ///
    /// [`SaveError`]; a row that cannot be read is one.
    pub async fn pending(&self, tx: &mut SqliteConnection) -> Result<Vec<Message>, SaveError> {
        let rows = sqlx::query(include_str!("sql/pending.sql"))
            .fetch_all(&mut *tx)
            .await;
        let rows = match rows {
            Ok(rows) => rows,
            Err(error) => return Err(explain_save(tx, error).await),
        };
        rows.iter()
            .map(|row| {
                let position = int(row, "position").map_err(save_error)?;
                let raw = raw_message(row).map_err(save_error)?;
                raw.decode(LANES).map_err(|error| {
                    SaveError::Database(
                        format!("the message at position {position} cannot be read: {error}")
                            .into(),
                    )
                })
            })
            .collect()
    }
}

#[async_trait]
impl OutboxWriter<SqliteConnection> for SqliteStore {
    async fn save(&self, tx: &mut SqliteConnection, save: Save<'_>) -> Result<Saved, SaveError> {
        self.save(tx, save).await
    }

    async fn save_all(
        &self,
        tx: &mut SqliteConnection,
        saves: &[Save<'_>],
    ) -> Result<Vec<Saved>, SaveError> {
        self.save_all(tx, saves).await
    }

    async fn pending(&self, tx: &mut SqliteConnection) -> Result<Vec<Message>, SaveError> {
        self.pending(tx).await
    }
}

/// Positions drawn for a save, and what goes with them.
#[derive(Debug)]
struct Drawn {
    last: i64,
    now: i64,
    /// Those of the ids asked about that are remembered. Nobody else can add one while this transaction lasts.
    remembered: HashSet<String>,
}

impl Drawn {
    /// When the message joins the line, if that is still to come.
    fn due_at(&self, due: Option<Due>) -> Option<i64> {
        let at = match due? {
            Due::After(delay) => self.now.saturating_add(millis(delay.min(MAX_DELAY))),
            Due::AtUnixMs(at) => at.min(NEVER - 1),
        };
        (at > self.now).then_some(at)
    }
}

/// Refuses a connection without an open transaction (contract C1). Setting `synchronous` is an error inside a transaction, and for the temporary database
/// it does nothing outside of one: an exact test that, unlike a BEGIN, leaves nothing behind when this future is dropped midway.
pub(crate) async fn require_transaction(tx: &mut SqliteConnection) -> Result<(), SaveError> {
    // The error arises while the statement is prepared, so it must not be a cached one.
    let probe = sqlx::query("PRAGMA temp.synchronous = FULL").persistent(false);
    match probe.execute(&mut *tx).await {
        Ok(_) => Err(SaveError::NoTransaction { hint: BEGIN_HINT }),
        Err(error) if primary_code(&error) == Some(code::ERROR) => Ok(()),
        Err(error) => Err(save_error(error)),
    }
}

/// The id of an idempotent save, and how many milliseconds it is to be remembered.
type Once<'a> = (&'a str, i64);

/// Draws `count` positions; the last of them is returned. From here on the transaction holds the write lock.
async fn draw(
    tx: &mut SqliteConnection,
    count: i64,
    once: &[Once<'_>],
) -> Result<Drawn, SaveError> {
    let ids: Vec<&str> = once.iter().map(|(id, _)| *id).collect();
    let drawn = sqlx::query(include_str!("sql/draw_positions.sql"))
        .bind(count)
        .bind(to_json(&ids))
        .fetch_all(&mut *tx)
        .await;
    let rows = match drawn {
        Ok(rows) => rows,
        Err(error) => return Err(explain_save(tx, error).await),
    };
    let row = rows
        .first()
        .ok_or_else(|| save_error(sqlx::Error::RowNotFound))?;
    require_save(int(row, "version").map_err(save_error)?)?;
    let remembered = maybe_bytes(row, "remembered").map_err(save_error)?;
    let remembered = serde_json::from_slice(&remembered.unwrap_or_default());
    Ok(Drawn {
        last: int(row, "last").map_err(save_error)?,
        now: int(row, "now").map_err(save_error)?,
        remembered: remembered.map_err(|error| SaveError::Database(Box::new(error)))?,
    })
}

/// What is to be remembered of a save. The sum of the time with the clock must not overflow.
fn once_millis<'a>(save: &Save<'a>) -> Option<Once<'a>> {
    let once = millis(save.once?).clamp(1, i64::MAX / 4);
    Some((save.message.id.as_str(), once))
}

/// Remembers ids, after their messages were stored: an id without its message would lose every later save of it (contract C3).
async fn remember(tx: &mut SqliteConnection, once: &[Once<'_>], now: i64) -> Result<(), SaveError> {
    if once.is_empty() {
        return Ok(());
    }
    sqlx::query(include_str!("sql/remember_ids.sql"))
        .bind(to_json(once))
        .bind(now)
        .execute(tx)
        .await
        .map_err(save_error)?;
    Ok(())
}

/// The lane of a message with a key; without one the statement draws it at random.
fn lane_for(message: &Message) -> Option<u16> {
    message
        .ordering_key()
        .map(|key: OrderingKey| lane_of(&key).0)
}

async fn insert(tx: &mut SqliteConnection, save: Save<'_>, drawn: &Drawn) -> Result<(), SaveError> {
    let Save { message, due, .. } = save;
    let due_at = drawn.due_at(due);
    let statement = match due_at {
        None => include_str!("sql/save_line.sql"),
        Some(_) => include_str!("sql/save_scheduled.sql"),
    };
    sqlx::query(statement)
        .bind(drawn.last)
        .bind(lane_for(message))
        .bind(message.id.as_str())
        .bind(message.topic.as_str())
        .bind(message.key.as_ref().map(|key| key.as_str().to_owned()))
        .bind(encode_headers(&message.headers))
        .bind(
            message
                .content_type
                .as_ref()
                .map(|kind| kind.as_str().to_owned()),
        )
        .bind(drawn.now)
        .bind(&message.payload[..])
        .bind(due_at)
        .execute(tx)
        .await
        .map_err(save_error)?;
    Ok(())
}
