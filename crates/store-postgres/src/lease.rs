//! What a relay does with its leases besides settling: it renews them, marks starts, and says when a circuit changed. And the locks on lanes of those who
//! have no lease.

use std::{collections::HashSet, time::Duration};

use outbox_message::{LaneToken, Position};
use outbox_store::{CircuitChange, MAX_DELAY, adapter::millis};

use crate::{
    claim::lease_millis,
    failure::{Failure, require},
    procedure::Procedure,
    procedure::query,
    session::Session,
    statements::Statements,
    value::Value,
};

/// Locks lanes, as everybody who moves their messages does.
pub(crate) async fn lock_lanes<S: Session>(
    session: &mut S,
    statements: &Statements,
    lanes: impl IntoIterator<Item = i64>,
) -> Result<(), Failure<S::Error>> {
    let lanes: Vec<i64> = lanes.into_iter().collect();
    let rows = query(session, &statements.lock_lanes, &[Value::Ints(&lanes)]).await?;
    for mut row in rows {
        row.lane()?;
        require(row.maybe_int()?.unwrap_or(0))?;
    }
    Ok(())
}

/// Makes leases end `lease` from now. Answers the tokens that are no longer held.
#[derive(Debug)]
pub(crate) struct Extending<'a> {
    pub(crate) tokens: &'a [LaneToken],
    pub(crate) lease: Duration,
}

impl Procedure for Extending<'_> {
    type Output = Vec<LaneToken>;
    const WHAT: &'static str = "renew leases";

    async fn run<S: Session>(
        &self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<Vec<LaneToken>, Failure<S::Error>> {
        let lanes: Vec<i64> = self.tokens.iter().map(|t| i64::from(t.lane.0)).collect();
        let epochs: Vec<i64> = self.tokens.iter().map(|t| t.epoch).collect();
        let holders: Vec<Option<&str>> = self.tokens.iter().map(|t| Some(&*t.holder)).collect();
        let values = [
            Value::Ints(&lanes),
            Value::Ints(&epochs),
            Value::Texts(&holders),
            Value::Int(lease_millis(self.lease)),
        ];
        let mut held = HashSet::new();
        for mut row in query(session, &statements.extend, &values).await? {
            held.insert((row.lane()?, row.int()?));
        }
        Ok(self
            .tokens
            .iter()
            .filter(|token| !held.contains(&(token.lane.0, token.epoch)))
            .cloned()
            .collect())
    }
}

/// Marks a start (contract F6). Answers `false` if the token is stale.
#[derive(Debug)]
pub(crate) struct Starting<'a> {
    pub(crate) token: &'a LaneToken,
    pub(crate) position: Position,
}

impl Procedure for Starting<'_> {
    type Output = bool;
    const WHAT: &'static str = "mark a start";

    async fn run<S: Session>(
        &self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<bool, Failure<S::Error>> {
        let values = [
            Value::Int(i64::from(self.token.lane.0)),
            Value::Int(self.token.epoch),
            Value::Text(Some(&self.token.holder)),
            Value::Int(self.position.0),
        ];
        let marked = query(session, &statements.start_mark, &values).await?;
        Ok(!marked.is_empty())
    }
}

/// Records a change of a circuit.
#[derive(Debug)]
pub(crate) struct RecordCircuit<'a>(pub(crate) &'a CircuitChange);

impl Procedure for RecordCircuit<'_> {
    type Output = ();
    const WHAT: &'static str = "record a circuit";

    async fn run<S: Session>(
        &self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<(), Failure<S::Error>> {
        let CircuitChange {
            destination,
            relay,
            open,
        } = self.0;
        let destination = Value::Text(Some(destination));
        let relay = Value::Text(Some(relay));
        match open {
            Some((next_probe, error)) => {
                let next_probe = Value::Int(millis((*next_probe).min(MAX_DELAY)));
                let values = [destination, relay, next_probe, Value::Text(Some(error))];
                query(session, &statements.circuit_open, &values).await?;
            }
            None => {
                query(session, &statements.circuit_closed, &[destination, relay]).await?;
            }
        }
        Ok(())
    }
}
