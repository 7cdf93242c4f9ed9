//! Rows as the database gives them, decoded one by one outside of the statement, so that a bad row fails alone (contract F7).

use bytes::Bytes;
use outbox_message::{Lane, Lanes, OrderingKey};
use outbox_store::adapter::RawMessage;
use sqlx::{Row, sqlite::SqliteRow};

/// How many lanes an SQLite store has.
pub(crate) const LANES: Lanes = Lanes::new(8).expect("eight is not zero");

/// The time of what does not end by itself: the block of a dead letter or of a stopped topic, what a stop set aside, and a stop until it is resumed.
pub(crate) const NEVER: i64 = i64::MAX;

/// The lane of an ordering key in this store.
pub(crate) fn lane_of(key: &OrderingKey) -> Lane {
    key.lane(LANES)
}

/// An integer column. The checks of the tables and the statements themselves make it one.
pub(crate) fn int(row: &SqliteRow, column: &str) -> Result<i64, sqlx::Error> {
    row.try_get_unchecked(column)
}

/// An integer column that may be NULL.
pub(crate) fn maybe_int(row: &SqliteRow, column: &str) -> Result<Option<i64>, sqlx::Error> {
    row.try_get_unchecked(column)
}

/// A column as bytes, whatever its type, so that text that is not UTF-8 does not fail the statement.
pub(crate) fn maybe_bytes(row: &SqliteRow, column: &str) -> Result<Option<Vec<u8>>, sqlx::Error> {
    row.try_get_unchecked(column)
}

/// A text column as people see it: bytes that are no text are shown with replacement characters.
pub(crate) fn shown(row: &SqliteRow, column: &str) -> Result<Option<String>, sqlx::Error> {
    let bytes = maybe_bytes(row, column)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// A counter column; the tables keep it within `u32`.
pub(crate) fn counter(row: &SqliteRow, column: &str) -> Result<u32, sqlx::Error> {
    int(row, column).map(to_counter)
}

/// A counter, of a row that may have been written beside the checks too.
pub(crate) fn to_counter(value: i64) -> u32 {
    u32::try_from(value.max(0)).unwrap_or(u32::MAX)
}

/// A lane column; the tables keep it within the lanes there are.
pub(crate) fn lane(row: &SqliteRow) -> Result<Lane, sqlx::Error> {
    let lane = int(row, "lane")?;
    u16::try_from(lane)
        .map(Lane)
        .map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

/// The positions that a statement answers.
pub(crate) fn positions(rows: &[SqliteRow]) -> Result<Vec<i64>, sqlx::Error> {
    rows.iter().map(|row| int(row, "position")).collect()
}

/// The parts of a message, of a row that has its columns.
pub(crate) fn raw_message(row: &SqliteRow) -> Result<RawMessage, sqlx::Error> {
    let part = |column| maybe_bytes(row, column).map(|bytes| bytes.map(Bytes::from));
    Ok(RawMessage {
        lane: lane(row)?,
        id: part("id")?.unwrap_or_default(),
        topic: part("topic")?.unwrap_or_default(),
        key: part("key")?,
        headers: part("headers")?,
        content_type: part("content_type")?,
        payload: part("payload")?.unwrap_or_default(),
    })
}

/// A column that the statement made as JSON of numbers.
pub(crate) fn from_json<T: serde::de::DeserializeOwned>(
    row: &SqliteRow,
    column: &str,
) -> Result<T, sqlx::Error> {
    let text = row.try_get_unchecked::<&str, _>(column)?;
    serde_json::from_str(text).map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

/// A JSON text of plain texts and numbers, to hand a set to a statement.
pub(crate) fn to_json<T: serde::Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).expect("texts and numbers are always JSON")
}
