//! The order lock (contract O10): position order is commit order for those who take it.

use outbox_store::{Save, SaveOrder};

use crate::{
    failure::Failure, procedure::query, session::Session, statements::Statements, value::Value,
};

/// Locks the ordering keys of those saves that ask for it, until the transaction ends, all in one sorted statement. Transactions that call this several times can still
/// wait for each other in a circle; the server ends one of them then.
pub(super) async fn lock<S: Session>(
    session: &mut S,
    statements: &Statements,
    saves: &[Save<'_>],
) -> Result<(), Failure<S::Error>> {
    let (mut topics, mut keys) = (Vec::new(), Vec::new());
    for save in saves {
        if save.order == SaveOrder::Commit
            && let Some(key) = &save.message.key
        {
            topics.push(Some(save.message.topic.as_str()));
            keys.push(Some(key.as_str()));
        }
    }
    if !keys.is_empty() {
        let values = [Value::Texts(&topics), Value::Texts(&keys)];
        query(session, &statements.lock_order, &values).await?;
    }
    Ok(())
}
