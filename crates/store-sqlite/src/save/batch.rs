//! Many messages in a fixed number of statements: their texts go as one JSON array, their payloads as one run of bytes that the statement cuts up.

use outbox_message::{ContentType, Message, PartitionKey, Position};
use outbox_store::{Save, SaveError, Saved, adapter::encode_headers};
use sqlx::SqliteConnection;

use crate::{
    error::save_error,
    row::{int, to_json},
    save::{Once, draw, lane_for, once_millis, remember},
};

/// The most payload bytes in one statement. SQLite takes no value over a billion bytes, and packing them is a copy.
const MAX_PACKED_BYTES: usize = 256 * 1024 * 1024;

/// Saves all of them, in order.
pub(super) async fn save_all(
    tx: &mut SqliteConnection,
    saves: &[Save<'_>],
) -> Result<Vec<Saved>, SaveError> {
    let count = i64::try_from(saves.len()).map_err(|error| SaveError::Database(Box::new(error)))?;
    let asked: Vec<Once<'_>> = saves.iter().filter_map(once_millis).collect();
    let mut drawn = draw(tx, count, &asked).await?;
    let mut fresh = Vec::with_capacity(asked.len());
    // Duplicates leave the last of the positions unused.
    let mut position = drawn.last - count;
    let mut answers = Vec::with_capacity(saves.len());
    let mut line = Pack::new(include_str!("../sql/save_line_all.sql"), drawn.now);
    let mut scheduled = Pack::new(include_str!("../sql/save_scheduled_all.sql"), drawn.now);
    for save in saves {
        if let Some(once) = once_millis(save) {
            // Of several saves of one id the first is stored, and makes the others duplicates.
            if !drawn.remembered.insert(once.0.to_owned()) {
                answers.push(Saved::Duplicate);
                continue;
            }
            fresh.push(once);
        }
        position += 1;
        answers.push(Saved::New(Position(position)));
        let due_at = drawn.due_at(save.due);
        let pack = match due_at {
            None => &mut line,
            Some(_) => &mut scheduled,
        };
        if !pack.has_room_for(save) {
            pack.insert(tx).await.map_err(save_error)?;
        }
        pack.add(position, save, due_at);
    }
    line.insert(tx).await.map_err(save_error)?;
    scheduled.insert(tx).await.map_err(save_error)?;
    remember(tx, &fresh, drawn.now).await?;
    Ok(answers)
}

/// Saves messages into the line, in order, in a transaction of the store's own: two statements for any number, none for none.
pub(crate) async fn insert_all(
    tx: &mut SqliteConnection,
    messages: &[&Message],
) -> Result<(), sqlx::Error> {
    if messages.is_empty() {
        return Ok(());
    }
    let count = i64::try_from(messages.len()).unwrap_or(i64::MAX);
    let rows = sqlx::query(include_str!("../sql/draw_positions.sql"))
        .bind(count)
        .fetch_all(&mut *tx)
        .await?;
    let row = rows.first().ok_or(sqlx::Error::RowNotFound)?;
    let (last, now) = (int(row, "last")?, int(row, "now")?);
    let mut line = Pack::new(include_str!("../sql/save_line_all.sql"), now);
    for (message, position) in messages.iter().zip(last - count + 1..) {
        let save = Save::from(*message);
        if !line.has_room_for(&save) {
            line.insert(tx).await?;
        }
        line.add(position, &save, None);
    }
    line.insert(tx).await
}

/// One row of the JSON array: position, lane, id, topic, key, headers, content type, due, offset from 1 and length of the payload.
type PackedRow<'a> = (
    i64,
    Option<u16>,
    &'a str,
    &'a str,
    Option<&'a str>,
    Option<String>,
    Option<&'a str>,
    Option<i64>,
    usize,
    usize,
);

/// Messages on their way into one table.
struct Pack<'a> {
    statement: &'static str,
    now: i64,
    rows: Vec<PackedRow<'a>>,
    payloads: Vec<u8>,
}

impl<'a> Pack<'a> {
    fn new(statement: &'static str, now: i64) -> Self {
        Self {
            statement,
            now,
            rows: Vec::new(),
            payloads: Vec::new(),
        }
    }

    fn has_room_for(&self, save: &Save<'_>) -> bool {
        self.payloads.len() + save.message.payload.len() <= MAX_PACKED_BYTES
    }

    fn add(&mut self, position: i64, save: &Save<'a>, due_at: Option<i64>) {
        let message = save.message;
        self.rows.push((
            position,
            lane_for(message),
            message.id.as_str(),
            message.topic.as_str(),
            message.key.as_ref().map(PartitionKey::as_str),
            encode_headers(&message.headers),
            message.content_type.as_ref().map(ContentType::as_str),
            due_at,
            self.payloads.len() + 1,
            message.payload.len(),
        ));
        self.payloads.extend_from_slice(&message.payload);
    }

    /// Inserts what was added, if anything was.
    async fn insert(&mut self, tx: &mut SqliteConnection) -> Result<(), sqlx::Error> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let rows = to_json(&std::mem::take(&mut self.rows));
        sqlx::query(self.statement)
            .bind(rows)
            .bind(std::mem::take(&mut self.payloads))
            .bind(self.now)
            .execute(tx)
            .await?;
        Ok(())
    }
}
