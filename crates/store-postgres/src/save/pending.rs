//! What is pending, as one transaction sees it.

use outbox_message::{Lane, Message};
use outbox_store::{SaveError, adapter::RawMessage};

use crate::{
    LANES,
    failure::Failure,
    procedure::query,
    row::{Row, UnexpectedRow},
    session::Session,
    statements::Statements,
};

/// The pending messages that the session sees, by position: what is committed, and what its own open transaction saved. For tests of applications; it reads the
/// whole backlog.
///
/// # Errors
///
/// [`SaveError`]; a row that cannot be read is one.
pub async fn pending<S: Session>(
    session: &mut S,
    statements: &Statements,
) -> Result<Vec<Message>, SaveError> {
    let rows = query(session, &statements.pending, &[])
        .await
        .map_err(Failure::save_error)?;
    rows.into_iter().map(read::<S>).collect()
}

fn read<S: Session>(mut row: Row) -> Result<Message, SaveError> {
    let failed = |error| Failure::<S::Error>::Row(error).save_error();
    let position = row.int().map_err(failed)?;
    raw(row).map_err(failed)?.decode(LANES).map_err(|error| {
        SaveError::Database(
            format!("the message at position {position} cannot be read: {error}").into(),
        )
    })
}

fn raw(mut row: Row) -> Result<RawMessage, UnexpectedRow> {
    Ok(RawMessage {
        lane: Lane(row.lane()?),
        id: row.bytes()?,
        topic: row.bytes()?,
        key: row.maybe_bytes()?,
        headers: row.maybe_bytes()?,
        content_type: row.maybe_bytes()?,
        payload: row.bytes()?,
    })
}
