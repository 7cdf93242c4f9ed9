//! Messages whole: decoded one by one, outside of the statement, so that a bad row fails alone (contract F7).

use bytes::Bytes;
use outbox_message::{Delivery, Lane, Position};
use outbox_ordering::share::Source;
use outbox_store::{Entry, Unreadable, adapter::RawMessage};

use crate::{
    LANES,
    failure::Failure,
    procedure::query,
    row::{Row, UnexpectedRow},
    session::Session,
    statements::Statements,
    value::Value,
};

use super::{KeyText, Work};

/// Topic and key as texts. A database in UTF-8 keeps nothing else.
pub(super) fn key_text(topic: Option<&Bytes>, key: Option<&Bytes>) -> Option<KeyText> {
    let text = |bytes: &Bytes| String::from_utf8(bytes.to_vec()).ok();
    Some((text(topic?)?, text(key?)?))
}

impl Work<'_> {
    /// Reads the chosen messages that were not read whole with their line.
    pub(super) async fn load<S: Session>(
        &mut self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<(), Failure<S::Error>> {
        let mut in_line: (Vec<i64>, Vec<i64>) = (Vec::new(), Vec::new());
        let mut waiting: Vec<(&KeyText, i64)> = Vec::new();
        for lane in &self.lanes {
            let missing = lane
                .chosen
                .iter()
                .filter(|c| !self.whole.contains_key(&c.position));
            for candidate in missing {
                if candidate.source == Source::Line {
                    in_line.0.push(i64::from(lane.seen.lane));
                    in_line.1.push(candidate.position);
                } else {
                    let of = lane
                        .waiting
                        .iter()
                        .find(|w| w.candidate.position == candidate.position);
                    waiting.extend(of.map(|of| (&of.key, candidate.position)));
                }
            }
        }
        if in_line.0.is_empty() && waiting.is_empty() {
            return Ok(());
        }
        let topics: Vec<_> = waiting
            .iter()
            .map(|(key, _)| Some(key.0.as_str()))
            .collect();
        let keys: Vec<_> = waiting
            .iter()
            .map(|(key, _)| Some(key.1.as_str()))
            .collect();
        let positions: Vec<i64> = waiting.iter().map(|(_, position)| *position).collect();
        let values = [
            Value::Ints(&in_line.0),
            Value::Ints(&in_line.1),
            Value::Texts(&topics),
            Value::Texts(&keys),
            Value::Ints(&positions),
        ];
        for mut row in query(session, &statements.load, &values).await? {
            let lane = Lane(row.lane()?);
            let position = row.int()?;
            if let Some(entry) = Columns::of(row)?.entry(lane, position) {
                self.whole.insert(position, entry);
            }
        }
        Ok(())
    }
}

/// The columns of a message, in the order in which statements give them.
pub(super) struct Columns {
    id: Bytes,
    pub(super) topic: Bytes,
    pub(super) key: Option<Bytes>,
    headers: Option<Bytes>,
    content_type: Option<Bytes>,
    attempts: u32,
    tries: u32,
    starts: u32,
    /// Left out where the message is only looked at.
    payload: Option<Bytes>,
}

impl Columns {
    pub(super) fn of(mut row: Row) -> Result<Self, UnexpectedRow> {
        Ok(Self {
            id: row.bytes()?,
            topic: row.bytes()?,
            key: row.maybe_bytes()?,
            headers: row.maybe_bytes()?,
            content_type: row.maybe_bytes()?,
            attempts: row.counter()?,
            tries: row.counter()?,
            starts: row.counter()?,
            payload: row.maybe_bytes()?,
        })
    }

    /// The entry of a claim, if the message is whole.
    pub(super) fn entry(self, lane: Lane, position: i64) -> Option<Entry> {
        let (attempts, tries, starts) = (self.attempts, self.tries, self.starts);
        let raw = RawMessage {
            lane,
            id: self.id,
            topic: self.topic,
            key: self.key,
            headers: self.headers,
            content_type: self.content_type,
            payload: self.payload?,
        };
        let key = raw.ordering_key(LANES);
        let position = Position(position);
        Some(match raw.decode(LANES) {
            Ok(message) => Entry::Message(Delivery {
                lane,
                position,
                attempts,
                tries,
                starts,
                message,
            }),
            Err(error) => Entry::Unreadable(Unreadable {
                lane,
                position,
                tries,
                key,
                error,
            }),
        })
    }
}
