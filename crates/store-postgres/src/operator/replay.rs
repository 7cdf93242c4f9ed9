//! Replay: published messages that are kept are saved again.
//!
//! They go the way of a save: at new positions, without the lock of any lane. Nothing about the published ones changes, so that two replays at once save
//! both; a partition that is dropped meanwhile takes its messages out of the step.

use outbox_message::MessageId;
use outbox_store::{
    PublishedPlace, Replay, ReplayMode, Replayed,
    adapter::{MOST_LOOKED_AT, looked_at, replay_stored_headers},
};

use crate::{
    failure::Failure,
    procedure::{Procedure, query},
    session::{Session, Text},
    statements::Statements,
    value::Value,
};

/// Units of the clock in a millisecond: places are counted in microseconds, as the server counts.
const PER_MS: i64 = 1_000;

/// Looks at some published messages, and saves those that match again unless they are only counted.
pub(super) struct Replaying<'a>(pub(super) &'a Replay);

impl Procedure for Replaying<'_> {
    type Output = Replayed;

    const WHAT: &'static str = "replay published messages";

    fn begin<'s>(&self, statements: &'s Statements) -> &'s Text {
        match self.0.mode {
            ReplayMode::Save => &statements.begin,
            ReplayMode::Count => &statements.begin_read,
        }
    }

    async fn run<S: Session>(
        &self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<Replayed, Failure<S::Error>> {
        let open_end = PublishedPlace {
            at: i64::MAX,
            number: i64::MAX,
        };
        let (after, end) = looked_at(self.0, self.0.upto.unwrap_or(open_end), PER_MS);
        let filter = &self.0.filter;
        let values = [
            Value::Int(after.at.max(0)),
            Value::Int(after.number),
            // Without an end the statement takes the clock.
            Value::MaybeInt((end.at != i64::MAX).then_some(end.at.max(0))),
            Value::Int(end.number),
            Value::Int(i64::try_from(MOST_LOOKED_AT).unwrap_or(i64::MAX)),
            Value::Text(filter.id.as_ref().map(MessageId::as_str)),
            Value::Text(filter.topic.as_deref()),
            Value::Text(filter.key.as_deref()),
        ];
        let rows = query(session, &statements.replay_page, &values).await?;
        let mut upto = end;
        let (mut chosen, mut left_out, mut last) = (Chosen::default(), 0, None);
        for mut row in rows {
            if chosen.positions.len() >= self.0.limit {
                break;
            }
            let (at, number) = (row.int()?, row.int()?);
            last = Some(PublishedPlace { at, number });
            let matches = row.flag()?;
            let headers = row.maybe_bytes()?;
            upto.at = row.int()?;
            if matches {
                match replay_stored_headers(headers.as_deref()) {
                    Some(headers) => chosen.add(at, number, headers),
                    None => left_out += 1,
                }
            }
        }
        let count = match self.0.mode {
            ReplayMode::Count => chosen.positions.len(),
            ReplayMode::Save => chosen.save(session, statements).await?,
        };
        Ok(Replayed {
            count,
            left_out,
            last,
            upto,
        })
    }
}

/// The messages to save again.
#[derive(Default)]
struct Chosen {
    times: Vec<i64>,
    positions: Vec<i64>,
    headers: Vec<String>,
}

impl Chosen {
    fn add(&mut self, at: i64, position: i64, headers: String) {
        self.times.push(at);
        self.positions.push(position);
        self.headers.push(headers);
    }

    /// Saves them, and says how many were still there.
    async fn save<S: Session>(
        &self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<usize, Failure<S::Error>> {
        if self.positions.is_empty() {
            return Ok(0);
        }
        let headers: Vec<Option<&str>> = self.headers.iter().map(|it| Some(it.as_str())).collect();
        let values = [
            Value::Ints(&self.times),
            Value::Ints(&self.positions),
            Value::Texts(&headers),
        ];
        Ok(query(session, &statements.replay, &values).await?.len())
    }
}
