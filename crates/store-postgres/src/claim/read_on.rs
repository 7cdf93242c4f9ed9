//! The lanes that their holder reads on: locked and checked like those that are leased, and left out of what is in hand.

use std::sync::Arc;

use outbox_store::{ClaimRequest, ReadOn};

use crate::{
    failure::Failure, procedure::query, session::Session, statements::Statements, value::Value,
};

use super::{LaneWork, lanes::LaneSeen};

/// Locks the lanes that the request reads on and that are still held as it says, each with its place in the request. One that somebody else has
/// locked is left out: this claim has locks by now, and waits for no other.
pub(super) async fn hold<S: Session>(
    session: &mut S,
    statements: &Statements,
    request: &ClaimRequest,
) -> Result<Vec<(usize, LaneSeen)>, Failure<S::Error>> {
    let tokens = || request.read_on.iter().map(|held| &held.token);
    let lanes: Vec<i64> = tokens().map(|token| i64::from(token.lane.0)).collect();
    let epochs: Vec<i64> = tokens().map(|token| token.epoch).collect();
    let holders: Vec<_> = tokens().map(|token| Some(&*token.holder)).collect();
    let values = [
        Value::Ints(&lanes),
        Value::Ints(&epochs),
        Value::Texts(&holders),
    ];
    let mut held = Vec::new();
    for mut row in query(session, &statements.read_on, &values).await? {
        let lane = row.lane()?;
        let (scheduled_due, blocked_due, next_due) = (row.flag()?, row.flag()?, row.maybe_int()?);
        let mut asked = request.read_on.iter().enumerate();
        if let Some((at, ReadOn { token, .. })) = asked.find(|(_, it)| it.token.lane.0 == lane) {
            let seen = LaneSeen {
                lane,
                epoch: token.epoch,
                holder: Arc::clone(&token.holder),
                careful: false,
                turn: 0,
                scheduled_due,
                blocked_due,
                next_due,
            };
            held.push((at, seen));
        }
    }
    Ok(held)
}

/// What the lanes that are read on leave out, as statements take it: positions in hand, and closed keys. Positions are of one lane only, and so are keys.
#[derive(Default)]
pub(super) struct LeftOut<'a> {
    pub(super) positions: Vec<i64>,
    pub(super) topics: Vec<Option<&'a str>>,
    pub(super) keys: Vec<Option<&'a str>>,
}

impl<'a> LeftOut<'a> {
    pub(super) fn of(request: &'a ClaimRequest, lanes: &[LaneWork]) -> Self {
        let mut all = Self::default();
        for held in lanes.iter().filter_map(|lane| lane.left_out) {
            let held = &request.read_on[held];
            all.positions
                .extend(held.in_hand.iter().map(|position| position.0));
            for key in &held.closed {
                all.topics.push(Some(key.topic.as_str()));
                all.keys.push(Some(key.key.as_str()));
            }
        }
        all
    }
}
