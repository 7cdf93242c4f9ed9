//! Rows as the database gives them, decoded one by one outside of the statement, so that a bad row fails alone (contract F7).

use bytes::Bytes;
use outbox_message::{
    ContentType, Headers, Lane, Lanes, Message, MessageId, OrderingKey, PartitionKey, Topic,
};
use sqlx::{Row, sqlite::SqliteRow};

/// How many lanes an SQLite store has.
pub(crate) const LANES: Lanes = Lanes::new(8).expect("eight is not zero");

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
    Ok(u32::try_from(int(row, column)?.max(0)).unwrap_or(u32::MAX))
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

/// The parts of a message as they stand in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RawMessage {
    pub(crate) lane: Lane,
    pub(crate) id: Vec<u8>,
    pub(crate) topic: Vec<u8>,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) headers: Option<Vec<u8>>,
    pub(crate) content_type: Option<Vec<u8>>,
    pub(crate) payload: Vec<u8>,
}

impl RawMessage {
    /// Takes the columns of a row that has them all.
    pub(crate) fn of(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            lane: lane(row)?,
            id: maybe_bytes(row, "id")?.unwrap_or_default(),
            topic: maybe_bytes(row, "topic")?.unwrap_or_default(),
            key: maybe_bytes(row, "key")?,
            headers: maybe_bytes(row, "headers")?,
            content_type: maybe_bytes(row, "content_type")?,
            payload: maybe_bytes(row, "payload")?.unwrap_or_default(),
        })
    }

    /// The ordering key, if there is one, it can be read, and it belongs to this lane.
    pub(crate) fn ordering_key(&self) -> Option<OrderingKey> {
        ordering_key(self.lane, &self.topic, self.key.as_deref())
    }

    /// Reads the message, or says what is wrong with the row.
    pub(crate) fn decode(self) -> Result<Message, String> {
        let message = Message {
            id: MessageId::new(text("id", &self.id)?).map_err(|e| e.to_string())?,
            topic: Topic::new(text("topic", &self.topic)?).map_err(|e| e.to_string())?,
            key: match &self.key {
                None => None,
                Some(key) => Some(PartitionKey::new(text("key", key)?).map_err(|e| e.to_string())?),
            },
            headers: match &self.headers {
                None => Headers::new(),
                Some(json) => decode_headers(json)?,
            },
            content_type: match &self.content_type {
                None => None,
                Some(kind) => {
                    Some(ContentType::new(text("content type", kind)?).map_err(|e| e.to_string())?)
                }
            },
            payload: Bytes::from(self.payload),
        };
        match message.ordering_key() {
            Some(key) if lane_of(&key) != self.lane => Err(format!(
                "the row is in lane {}, its key belongs to lane {}",
                self.lane,
                lane_of(&key)
            )),
            _ => Ok(message),
        }
    }
}

/// The ordering key that stands in these columns, if it can be read, whatever lane it sits in.
pub(crate) fn any_key(topic: &[u8], key: Option<&[u8]>) -> Option<OrderingKey> {
    Some(OrderingKey {
        topic: Topic::new(std::str::from_utf8(topic).ok()?).ok()?,
        key: PartitionKey::new(std::str::from_utf8(key?).ok()?).ok()?,
    })
}

/// The ordering key that stands in these columns, if it can be read and belongs to the lane.
pub(crate) fn ordering_key(lane: Lane, topic: &[u8], key: Option<&[u8]>) -> Option<OrderingKey> {
    any_key(topic, key).filter(|key| lane_of(key) == lane)
}

fn text<'a>(part: &str, bytes: &'a [u8]) -> Result<&'a str, String> {
    std::str::from_utf8(bytes).map_err(|error| format!("{part} is not UTF-8: {error}"))
}

fn decode_headers(json: &[u8]) -> Result<Headers, String> {
    let pairs: Vec<(String, String)> = serde_json::from_slice(json)
        .map_err(|error| format!("headers are not a JSON array of [name, value] pairs: {error}"))?;
    Headers::from_pairs(pairs).map_err(|error| error.to_string())
}

/// Headers as stored: a JSON array of [name, value] pairs, or NULL for none.
pub(crate) fn encode_headers(headers: &Headers) -> Option<String> {
    (!headers.is_empty()).then(|| to_json(headers.pairs()))
}

/// A JSON text of plain texts and numbers, to hand a set to a statement.
pub(crate) fn to_json<T: serde::Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).expect("texts and numbers are always JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw() -> RawMessage {
        let key = OrderingKey {
            topic: Topic::new("orders").unwrap(),
            key: PartitionKey::new("a").unwrap(),
        };
        RawMessage {
            lane: lane_of(&key),
            id: b"id-1".to_vec(),
            topic: b"orders".to_vec(),
            key: Some(b"a".to_vec()),
            headers: Some(br#"[["b","1"],["a","2\n"],["b","3"]]"#.to_vec()),
            content_type: Some(b"text/plain".to_vec()),
            payload: vec![0, 255, 0],
        }
    }

    #[test]
    fn c2_a_row_reads_back_as_the_message_that_was_stored() {
        let message = raw().decode().unwrap();
        assert_eq!(&message.payload[..], [0, 255, 0]);
        assert_eq!(
            message.headers.iter().collect::<Vec<_>>(),
            [("b", "1"), ("a", "2\n"), ("b", "3")]
        );
        let stored = encode_headers(&message.headers).unwrap();
        assert_eq!(stored.as_bytes(), raw().headers.unwrap());
        assert_eq!(encode_headers(&Headers::new()), None);
    }

    #[test]
    fn f7_what_cannot_be_read_is_named() {
        let broken = |change: fn(&mut RawMessage)| {
            let mut row = raw();
            change(&mut row);
            row.decode().unwrap_err()
        };
        assert!(broken(|row| row.topic = vec![0xFF]).starts_with("topic is not UTF-8"));
        assert!(broken(|row| row.id = vec![]).starts_with("message id is empty"));
        assert!(broken(|row| row.headers = Some(b"{}".to_vec())).starts_with("headers are not"));
        assert!(broken(|row| row.headers = Some(br#"[["",""]]"#.to_vec())).contains("header name"));
        assert!(broken(|row| row.lane = Lane(row.lane.0 ^ 1)).contains("belongs to lane"));
    }

    #[test]
    fn a_key_in_a_wrong_lane_is_no_ordering_key() {
        let row = raw();
        assert!(row.ordering_key().is_some());
        assert_eq!(
            ordering_key(Lane(row.lane.0 ^ 1), &row.topic, row.key.as_deref()),
            None
        );
        assert_eq!(ordering_key(row.lane, &row.topic, None), None);
    }
}
