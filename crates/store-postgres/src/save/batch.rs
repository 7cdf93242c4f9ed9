//! Many messages in one statement: each of their parts goes as an array, and the positions come back in order.

use std::{collections::HashSet, time::Duration};

use outbox_message::Position;
use outbox_store::{
    Due, MAX_DELAY, Save, Saved,
    adapter::{encode_headers, millis},
};

use super::{lane_for, notifies, order};
use crate::{
    config::PostgresConfig, failure::Failure, procedure::query, row::UnexpectedRow,
    session::Session, statements::Statements, value::Value,
};

/// The most bytes of messages in one statement, unless a single one has more.
pub(crate) const MAX_STATEMENT_BYTES: usize = 128 * 1024 * 1024;

/// The end of the year 9999 in milliseconds since 1970, near which every later time is clamped: `timestamptz` ends some time after it.
const LAST_MS: i64 = 253_402_300_799_999;

/// What the statement answers for a duplicate.
const NO_POSITION: i64 = 0;

/// Saves all of them, in order.
pub(super) async fn save_all<S: Session>(
    session: &mut S,
    statements: &Statements,
    config: &PostgresConfig,
    saves: &[Save<'_>],
) -> Result<Vec<Saved>, Failure<S::Error>> {
    order::lock(session, statements, saves).await?;
    let mut ids = HashSet::new();
    let mut answers = vec![Saved::Duplicate; saves.len()];
    let mut batch = Batch::default();
    for (save, answer) in saves.iter().zip(&mut answers) {
        // Of several saves of one id the first decides.
        if save.once.is_some() && !ids.insert(&save.message.id) {
            continue;
        }
        if !batch.has_room_for(save) {
            batch.insert(session, statements, config).await?;
        }
        batch.add(save, answer);
    }
    batch.insert(session, statements, config).await?;
    Ok(answers)
}

/// Messages on their way into the tables, part by part.
#[derive(Default)]
struct Batch<'a, 'b> {
    lanes: Vec<Option<i64>>,
    ids: Vec<Option<&'a str>>,
    topics: Vec<Option<&'a str>>,
    keys: Vec<Option<&'a str>>,
    content_types: Vec<Option<&'a str>>,
    headers: Vec<Option<String>>,
    payloads: Vec<&'a [u8]>,
    /// How many milliseconds an id is to be remembered.
    once: Vec<Option<i64>>,
    /// After how many milliseconds a message is due.
    after: Vec<Option<i64>>,
    /// At what time a message is due.
    at: Vec<Option<i64>>,
    /// Whether any is idempotent or for later.
    any_special: bool,
    answers: Vec<&'b mut Saved>,
    bytes: usize,
}

impl<'a, 'b> Batch<'a, 'b> {
    fn has_room_for(&self, save: &Save<'_>) -> bool {
        self.answers.is_empty() || self.bytes + save.message.weight() <= MAX_STATEMENT_BYTES
    }

    fn add(&mut self, save: &Save<'a>, answer: &'b mut Saved) {
        let message = save.message;
        self.lanes.push(lane_for(message));
        self.ids.push(Some(message.id.as_str()));
        self.topics.push(Some(message.topic.as_str()));
        self.keys.push(message.key.as_ref().map(AsRef::as_ref));
        self.content_types
            .push(message.content_type.as_ref().map(AsRef::as_ref));
        self.headers.push(encode_headers(&message.headers));
        self.payloads.push(&message.payload);
        self.once.push(save.once.map(once_millis));
        self.after.push(match save.due {
            Some(Due::After(delay)) => Some(millis(delay.min(MAX_DELAY))),
            _ => None,
        });
        self.at.push(match save.due {
            Some(Due::AtUnixMs(at)) => Some(at.clamp(0, LAST_MS)),
            _ => None,
        });
        self.any_special |= save.once.is_some() || save.due.is_some();
        self.answers.push(answer);
        self.bytes += message.weight();
    }

    /// Inserts what was added, if anything was, and begins anew.
    async fn insert<S: Session>(
        &mut self,
        session: &mut S,
        statements: &Statements,
        config: &PostgresConfig,
    ) -> Result<(), Failure<S::Error>> {
        let batch = std::mem::take(self);
        if batch.answers.is_empty() {
            return Ok(());
        }
        let headers: Vec<Option<&str>> = batch.headers.iter().map(Option::as_deref).collect();
        let (content_types, headers) = (given(&batch.content_types), given(&headers));
        let mut values = vec![
            Value::MaybeInts(&batch.lanes),
            Value::Texts(&batch.ids),
            Value::Texts(&batch.topics),
            Value::Texts(&batch.keys),
            Value::Texts(content_types),
            Value::Texts(headers),
            Value::ManyBytes(&batch.payloads),
        ];
        let statement = if batch.any_special {
            values.extend([
                Value::MaybeInts(&batch.once),
                Value::MaybeInts(&batch.after),
                Value::MaybeInts(&batch.at),
            ]);
            &statements.save_all
        } else {
            &statements.save_now
        };
        values.extend([
            Value::Flag(notifies(config)),
            Value::Text(Some(config.schema.as_str())),
        ]);
        let rows = query(session, statement, &values).await?;
        let mut row = rows.into_iter().next().ok_or(UnexpectedRow("positions"))?;
        let mut positions = row.positions()?;
        if !batch.any_special {
            // Drawn in the order of the messages.
            positions.sort_unstable();
        }
        if positions.len() != batch.answers.len() {
            return Err(UnexpectedRow("a position for each message").into());
        }
        for (position, answer) in positions.into_iter().zip(batch.answers) {
            *answer = match position {
                NO_POSITION => Saved::Duplicate,
                position => Saved::New(Position(position)),
            };
        }
        Ok(())
    }
}

/// None of them if none has a value: `unnest` fills up what is shorter.
fn given<'a, 'b>(texts: &'a [Option<&'b str>]) -> &'a [Option<&'b str>] {
    if texts.iter().any(Option::is_some) {
        texts
    } else {
        &[]
    }
}

/// How many milliseconds an id is to be remembered; the sum with the clock must stay a time.
fn once_millis(once: Duration) -> i64 {
    millis(once).clamp(1, LAST_MS)
}
