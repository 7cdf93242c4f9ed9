//! What a relay does with its leases besides settling: it renews them and marks starts; and the circuits that it writes down.

use outbox_message::{LaneToken, Position};
use outbox_store::{CircuitChange, MAX_DELAY, StoreError, adapter::millis};
use sqlx::{SqliteConnection, SqlitePool};
use std::{collections::HashSet, time::Duration};

use crate::{
    row::{int, lane, to_json},
    schema, transaction,
};

/// Leases are far shorter; the sum with the clock must not overflow.
const MOST_LEASE_MS: i64 = i64::MAX / 4;

/// A lease as the statements take it.
pub(crate) fn lease_millis(lease: Duration) -> i64 {
    millis(lease).clamp(1, MOST_LEASE_MS)
}

/// Makes leases end `lease` from now. Returns the tokens that are no longer held.
pub(crate) async fn extend(
    pool: &SqlitePool,
    tokens: &[LaneToken],
    lease: Duration,
) -> Result<Vec<LaneToken>, StoreError> {
    match transaction::write(pool, async |tx| write_extend(tx, tokens, lease).await).await {
        Ok(lost) => Ok(lost),
        Err(error) => Err(schema::explain(pool, "renew leases", error).await),
    }
}

async fn write_extend(
    tx: &mut SqliteConnection,
    tokens: &[LaneToken],
    lease: Duration,
) -> Result<Vec<LaneToken>, sqlx::Error> {
    let given: Vec<(u16, i64, &str)> = tokens
        .iter()
        .map(|token| (token.lane.0, token.epoch, &*token.holder))
        .collect();
    let rows = sqlx::query(include_str!("sql/extend.sql"))
        .bind(to_json(&given))
        .bind(lease_millis(lease))
        .fetch_all(tx)
        .await?;
    let held: HashSet<(u16, i64)> = rows
        .iter()
        .map(|row| Ok((lane(row)?.0, int(row, "epoch")?)))
        .collect::<Result<_, sqlx::Error>>()?;
    Ok(tokens
        .iter()
        .filter(|token| !held.contains(&(token.lane.0, token.epoch)))
        .cloned()
        .collect())
}

/// Marks a start (contract F6). `false` if the token is stale.
pub(crate) async fn starting(
    pool: &SqlitePool,
    token: &LaneToken,
    position: Position,
) -> Result<bool, StoreError> {
    let marked = sqlx::query(include_str!("sql/start_mark.sql"))
        .bind(token.lane.0)
        .bind(token.epoch)
        .bind(&*token.holder)
        .bind(position.0)
        .execute(pool)
        .await;
    match marked {
        Ok(done) => Ok(done.rows_affected() > 0),
        Err(error) => Err(schema::explain(pool, "mark a start", error).await),
    }
}

/// Records a change of a circuit.
pub(crate) async fn record_circuit(
    pool: &SqlitePool,
    change: &CircuitChange,
) -> Result<(), StoreError> {
    let CircuitChange {
        destination,
        relay,
        open,
    } = change;
    let recorded = match open {
        Some((next_probe, error)) => {
            sqlx::query(include_str!("sql/circuit_open.sql"))
                .bind(destination)
                .bind(&**relay)
                .bind(millis((*next_probe).min(MAX_DELAY)))
                .bind(error)
                .execute(pool)
                .await
        }
        None => {
            sqlx::query(include_str!("sql/circuit_closed.sql"))
                .bind(destination)
                .bind(&**relay)
                .execute(pool)
                .await
        }
    };
    match recorded {
        Ok(_) => Ok(()),
        Err(error) => Err(schema::explain(pool, "record a circuit", error).await),
    }
}
