//! Saving inside the caller's transaction, over any driver. Nothing is begun, committed or rolled back here, and whether a transaction is open is for the
//! adapter to know.

mod batch;
mod order;
mod pending;

use outbox_message::{Message, OrderingKey, Position};
use outbox_store::{Save, SaveError, Saved, adapter::encode_headers};

pub(crate) use batch::MAX_STATEMENT_BYTES;
pub use pending::pending;

use crate::{
    config::{LANES, PostgresConfig, WakeUp},
    failure::Failure,
    procedure::query,
    row::UnexpectedRow,
    session::Session,
    statements::Statements,
    value::Value,
};

/// Saves one message in the transaction that the session has open.
///
/// A plain save is one statement; one in commit order (contract O10) is one more.
///
/// # Errors
///
/// [`SaveError`]. After [`SaveError::Invalid`] the transaction is as it was; after any other the server takes nothing more in it but a rollback.
pub async fn save<S: Session>(
    session: &mut S,
    statements: &Statements,
    config: &PostgresConfig,
    save: Save<'_>,
) -> Result<Saved, SaveError> {
    if save.once.is_some() || save.due.is_some() {
        let saved = save_all(session, statements, config, &[save]).await?;
        return saved
            .first()
            .copied()
            .ok_or_else(|| Failure::<S::Error>::Row(UnexpectedRow("a position")).save_error());
    }
    save.message.check_payload(config.max_payload_bytes)?;
    plain(session, statements, config, save)
        .await
        .map_err(Failure::save_error)
}

/// Saves any number of messages in the transaction that the session has open, in the order given.
///
/// It is one statement for all of them, whatever is asked for each (one for every 128 MiB, since a server takes no statement over 1 GiB), and one more if any is to
/// be in commit order (contract O10). Of several idempotent saves of one id the first is stored, and makes the others duplicates.
///
/// # Errors
///
/// As [`save`]; a message that breaks a limit is found before any of them is saved.
pub async fn save_all<S: Session>(
    session: &mut S,
    statements: &Statements,
    config: &PostgresConfig,
    saves: &[Save<'_>],
) -> Result<Vec<Saved>, SaveError> {
    for save in saves {
        save.message.check_payload(config.max_payload_bytes)?;
    }
    if saves.is_empty() {
        return Ok(Vec::new());
    }
    batch::save_all(session, statements, config, saves)
        .await
        .map_err(Failure::save_error)
}

/// Saves one message into the line: one that asks for nothing that needs more than an INSERT.
async fn plain<S: Session>(
    session: &mut S,
    statements: &Statements,
    config: &PostgresConfig,
    save: Save<'_>,
) -> Result<Saved, Failure<S::Error>> {
    order::lock(session, statements, &[save]).await?;
    let message = save.message;
    let headers = encode_headers(&message.headers);
    let mut values = vec![
        Value::MaybeInt(lane_for(message)),
        Value::Text(Some(message.id.as_str())),
        Value::Text(Some(message.topic.as_str())),
        Value::Text(message.key.as_ref().map(AsRef::as_ref)),
        Value::Text(message.content_type.as_ref().map(AsRef::as_ref)),
        Value::Text(headers.as_deref()),
        Value::Bytes(&message.payload),
    ];
    let statement = if notifies(config) {
        values.push(Value::Text(Some(config.schema.as_str())));
        &statements.save_and_notify
    } else {
        &statements.save
    };
    let rows = query(session, statement, &values).await?;
    let mut row = rows.into_iter().next().ok_or(UnexpectedRow("a position"))?;
    Ok(Saved::New(Position(row.int()?)))
}

/// The lane of a message with a key; without one the statement draws it at random.
pub(crate) fn lane_for(message: &Message) -> Option<i64> {
    message
        .ordering_key()
        .map(|key: OrderingKey| i64::from(key.lane(LANES).0))
}

/// Whether relays that listen are told.
pub(crate) fn notifies(config: &PostgresConfig) -> bool {
    config.wake_up == WakeUp::Notify
}
