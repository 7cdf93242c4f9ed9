//! The inbox: what consumers have handled, over any driver. In a handler's transaction nothing is begun, committed or rolled back here, and whether one is open
//! is for the adapter to know.

use std::time::Duration;

use outbox_message::MessageId;
use outbox_store::{Consumer, Handled, PurgeMode, SaveError, StoreError, adapter::OldestDead};

use crate::{
    failure::Failure,
    procedure::{Procedure, query},
    session::{Database, Session},
    statements::Statements,
    store::Relaying,
    upkeep::{age, count},
    value::Value,
};

/// Records that `consumer` handles the message in the transaction that the session has open, unless it was handled. One statement.
///
/// Under READ COMMITTED a second transaction that asks for the same id waits for the first, and then sees what became of it. At a stricter level it cannot see
/// what committed after it began: that is a conflict, and the next try finds the duplicate.
///
/// # Errors
///
/// [`SaveError`]. After any of them the server takes nothing more in the transaction but a rollback.
pub async fn once<S: Session>(
    session: &mut S,
    statements: &Statements,
    consumer: &Consumer,
    id: &MessageId,
) -> Result<Handled, SaveError> {
    let rows = query(session, &statements.inbox_once, &names(consumer, id)).await;
    if rows.map_err(Failure::save_error)?.is_empty() {
        return Ok(Handled::Duplicate);
    }
    Ok(Handled::First)
}

/// Forgets that `consumer` handled the message, in the transaction that the session has open. `false` if it was not recorded. One statement.
///
/// # Errors
///
/// As [`once`].
pub async fn forget<S: Session>(
    session: &mut S,
    statements: &Statements,
    consumer: &Consumer,
    id: &MessageId,
) -> Result<bool, SaveError> {
    let rows = query(session, &statements.inbox_forget, &names(consumer, id)).await;
    Ok(!rows.map_err(Failure::save_error)?.is_empty())
}

fn names<'a>(consumer: &'a Consumer, id: &'a MessageId) -> [Value<'a>; 2] {
    [
        Value::Text(Some(consumer.as_str())),
        Value::Text(Some(id.as_str())),
    ]
}

/// One step of forgetting ids of the inbox by age.
#[derive(Debug)]
pub(crate) struct ForgetInbox {
    /// How old the ids are that go.
    pub(crate) older_than: Duration,
    /// At most this many.
    pub(crate) limit: i64,
    /// Whether they go or are only counted.
    pub(crate) mode: PurgeMode,
}

impl Procedure for ForgetInbox {
    /// How many, or why none.
    type Output = Result<i64, StoreError>;
    const WHAT: &'static str = "forget what was handled long ago";

    async fn run<S: Session>(
        &self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<Result<i64, StoreError>, Failure<S::Error>> {
        // A message that dies after this look counts as one that was pending: those are not asked.
        let oldest = query(session, &statements.dead_oldest, &[]).await?;
        if let Some(mut row) = oldest.into_iter().next() {
            let letter = OldestDead {
                id: row.shown()?.unwrap_or_default(),
                topic: row.shown()?.unwrap_or_default(),
                age: Duration::from_millis(row.count()?),
            };
            if let Err(refused) = letter.check(self.older_than) {
                return Ok(Err(refused));
            }
        }
        let statement = match self.mode {
            PurgeMode::Delete => &statements.inbox_purge,
            PurgeMode::Count => &statements.inbox_count,
        };
        let values = [Value::Int(age(self.older_than)), Value::Int(self.limit)];
        Ok(Ok(count(session, statement, &values).await?))
    }
}

impl<D: Database> Relaying<D> {
    /// One step of forgetting ids of the inbox by age.
    pub(crate) async fn forget_inbox(&self, step: ForgetInbox) -> Result<i64, StoreError> {
        self.run(step).await?
    }
}
