//! The notices of the deaths that were just recorded: of rows that had the tries they were claimed with, under the lock of their lane. So a settlement
//! sent again finds no such row and saves nothing, and one that is rolled back takes its notices with it.
//!
//! They go the way of every save: positions come from the sequence, and no other lane is locked, so that nothing is added to the order of locks. The transaction
//! has had its number since it locked the lanes, before it draws, as `lane.floor` wants it.

use outbox_message::Message;
use outbox_store::adapter::{Failed, encode_headers};

use crate::{
    config::PostgresConfig,
    failure::Failure,
    procedure::query,
    save::{MAX_STATEMENT_BYTES, lane_for, notifies},
    session::Session,
    statements::Statements,
    value::Value,
};

use super::statements::column;

/// Saves the notices of these deaths, in the order of the outcomes: one statement for all of them, and one more for every 128 MiB.
pub(super) async fn save<S: Session>(
    session: &mut S,
    statements: &Statements,
    config: &PostgresConfig,
    dead: &[&Failed<'_>],
) -> Result<(), Failure<S::Error>> {
    let notices: Vec<&Message> = dead.iter().filter_map(|failed| failed.notice).collect();
    let mut rest = &notices[..];
    while !rest.is_empty() {
        let (batch, others) = rest.split_at(together(rest));
        insert(session, statements, config, batch).await?;
        rest = others;
    }
    Ok(())
}

/// How many of them go into one statement: at least one.
fn together(notices: &[&Message]) -> usize {
    let weights = notices.iter().scan(0, |sum: &mut usize, notice| {
        *sum += notice.weight();
        Some(*sum)
    });
    weights
        .take_while(|sum| *sum <= MAX_STATEMENT_BYTES)
        .count()
        .max(1)
}

async fn insert<S: Session>(
    session: &mut S,
    statements: &Statements,
    config: &PostgresConfig,
    batch: &[&Message],
) -> Result<(), Failure<S::Error>> {
    let headers: Vec<_> = column(batch, |it| encode_headers(&it.headers));
    let values = [
        Value::MaybeInts(&column(batch, |it| lane_for(it))),
        Value::Texts(&column(batch, |it| Some(it.id.as_str()))),
        Value::Texts(&column(batch, |it| Some(it.topic.as_str()))),
        Value::Texts(&column(batch, |it| it.key.as_ref().map(AsRef::as_ref))),
        Value::Texts(&column(batch, |it| {
            it.content_type.as_ref().map(AsRef::as_ref)
        })),
        Value::Texts(&column(&headers, Option::as_deref)),
        Value::ManyBytes(&column(batch, |it| &it.payload[..])),
        Value::Flag(notifies(config)),
        Value::Text(Some(config.schema.as_str())),
    ];
    query(session, &statements.save_now, &values).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_takes_what_fits_and_at_least_one() {
        let small = Message::new("t.dlq", vec![0; 10]).unwrap();
        let half = Message::new("t.dlq", vec![0; MAX_STATEMENT_BYTES / 2]).unwrap();
        assert_eq!(together(&[&small, &half, &half]), 2);
        assert_eq!(together(&[&small; 5]), 5);
        let large = Message::new("t.dlq", vec![0; MAX_STATEMENT_BYTES + 1]).unwrap();
        assert_eq!(together(&[&large, &small]), 1);
    }
}
