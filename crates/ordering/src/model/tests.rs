//! What the model allows, predicts and refuses, one rule at a time.

mod claims;
mod outcomes;
mod stops;

use super::*;
use crate::state::AfterDeath;

type Store = Model<&'static str, i64>;

const LEASE: u64 = 30_000;

/// Keys that begin with the same letter share a lane. Ids equal first positions.
fn store() -> Store {
    Model::new(|key: &&str| u32::from(key.as_bytes()[0]), 0)
}

fn lane(key: &str) -> u32 {
    u32::from(key.as_bytes()[0])
}

fn save(model: &mut Store, position: i64, key: Option<&'static str>) {
    let tx = model.begin();
    model.save(tx, position, position, key, None);
    model.commit(tx);
}

fn saved(keys: &[Option<&'static str>]) -> Store {
    let mut model = store();
    for (position, key) in (1..).zip(keys) {
        save(&mut model, position, *key);
    }
    model
}

fn request() -> Request {
    Request {
        limit: 100,
        max_lanes: 8,
        lease: LEASE,
        lanes: None,
    }
}

/// A claim of one lane, told with the ids and counts that the model predicts.
fn claim(model: &mut Store, lane: u32, positions: &[i64]) -> Result<LeaseId, Fault> {
    let given = positions
        .iter()
        .map(|position| match model.message(*position) {
            Some(Message {
                id,
                attempts,
                tries,
                ..
            }) => Given {
                position: *position,
                id: *id,
                attempts: *attempts,
                tries: *tries,
            },
            None => Given {
                position: *position,
                id: *position,
                attempts: 0,
                tries: 0,
            },
        })
        .collect();
    let report = Report {
        lanes: vec![Handed { lane, given }],
        moved: 0,
    };
    model.claimed(&request(), &report).map(|leases| leases[0])
}

fn settle(model: &mut Store, lease: LeaseId, outcomes: &[(i64, Outcome)]) {
    model.settle(lease, outcomes, true, false).unwrap();
}

fn retry(after: u64) -> Outcome {
    Outcome::Retry {
        after: Some(after),
        counted: true,
    }
}

fn empty_claim(model: &mut Store) -> Result<Vec<LeaseId>, Fault> {
    model.claimed(
        &request(),
        &Report {
            lanes: vec![],
            moved: 0,
        },
    )
}

fn standing(model: &Store, position: i64) -> (State, u32, u32) {
    let message = model.message(position).expect("it was committed");
    (message.state, message.attempts, message.tries)
}
