//! Upkeep: one bounded step of forgetting what is over.

use std::time::Duration;

use outbox_store::{Circuit, adapter::millis};

use crate::{
    failure::Failure, procedure::Procedure, procedure::query, session::Session,
    statements::Statements, value::Value,
};

/// How many ids one step forgets.
const MOST_FORGOTTEN: i64 = 1_000;

/// One step of upkeep. Answers how many rows it removed.
#[derive(Debug)]
pub(crate) struct Upkeep {
    /// How long published messages are kept, if they are.
    #[expect(dead_code, reason = "published messages are purged once their partitions are kept up")]
    pub(crate) retain: Option<Duration>,
}

impl Procedure for Upkeep {
    type Output = usize;
    const WHAT: &'static str = "forget what is over";

    async fn run<S: Session>(
        &self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<usize, Failure<S::Error>> {
        let ids = [Value::Int(MOST_FORGOTTEN)];
        let ids = query(session, &statements.forget_ids, &ids).await?;
        let overdue = [Value::Int(millis(Circuit::FORGOTTEN_AFTER))];
        let circuits = query(session, &statements.forget_circuits, &overdue).await?;
        Ok(ids.len() + circuits.len())
    }
}
