//! The status as one JSON object; its members and their units are what a script relies on.

use outbox::store::Status;
use serde::Serialize;

use super::retrying;
use crate::{
    command::topics::{Topic, topics},
    table::millis,
};

#[derive(Serialize)]
pub(super) struct Shown<'a> {
    pending: Pending,
    dead: u64,
    oldest_ready_ms: Option<u64>,
    next_due_ms: Option<u64>,
    blocked_keys: Blocked<'a>,
    circuits: Vec<Circuit<'a>>,
    topics: Vec<Topic<'a>>,
    lanes: Vec<Lane<'a>>,
    horizon: Option<Horizon<'a>>,
}

#[derive(Serialize)]
struct Pending {
    total: u64,
    line: u64,
    waiting: u64,
    scheduled: u64,
    ready: u64,
    retry: u64,
    held: u64,
    paused: u64,
    later: u64,
}

#[derive(Serialize)]
struct Blocked<'a> {
    count: u64,
    oldest: Vec<BlockedKey<'a>>,
}

#[derive(Serialize)]
struct BlockedKey<'a> {
    topic: &'a str,
    key: &'a str,
    reason: &'static str,
    position: i64,
    next_try_ms: Option<u64>,
    waiting: u64,
    error: Option<&'a str>,
}

#[derive(Serialize)]
struct Circuit<'a> {
    destination: &'a str,
    relay: &'a str,
    open_for_ms: u64,
    next_probe_ms: u64,
    error: &'a str,
}

#[derive(Serialize)]
struct Lane<'a> {
    #[serde(rename = "lane")]
    number: u16,
    relay: Option<&'a str>,
    lease_ms: u64,
    careful: u64,
}

#[derive(Serialize)]
struct Horizon<'a> {
    holder: &'static str,
    name: &'a str,
    application: Option<&'a str>,
    role: Option<&'a str>,
    state: Option<&'a str>,
    open_for_ms: Option<u64>,
    transactions: u64,
}

impl<'a> From<&'a outbox::store::Horizon> for Horizon<'a> {
    fn from(horizon: &'a outbox::store::Horizon) -> Self {
        Self {
            holder: horizon.holder.as_str(),
            name: &horizon.name,
            application: horizon.application.as_deref(),
            role: horizon.role.as_deref(),
            state: horizon.state.as_deref(),
            open_for_ms: horizon.open_for.map(millis),
            transactions: horizon.transactions,
        }
    }
}

impl<'a> From<&'a Status> for Shown<'a> {
    fn from(status: &'a Status) -> Self {
        Self {
            pending: Pending {
                total: status.pending(),
                line: status.line,
                waiting: status.waiting,
                scheduled: status.scheduled,
                ready: status.ready,
                retry: retrying(status),
                held: status.held,
                paused: status.paused,
                later: status.later,
            },
            dead: status.dead,
            oldest_ready_ms: status.oldest_ready.map(millis),
            next_due_ms: status.next_due.map(millis),
            blocked_keys: Blocked {
                count: status.blocked,
                oldest: status
                    .blocked_keys
                    .iter()
                    .map(|key| BlockedKey {
                        topic: &key.topic,
                        key: &key.key,
                        reason: key.reason.as_str(),
                        position: key.position,
                        next_try_ms: key.next_try.map(millis),
                        waiting: key.waiting,
                        error: key.error.as_deref(),
                    })
                    .collect(),
            },
            circuits: status
                .circuits
                .iter()
                .map(|circuit| Circuit {
                    destination: &circuit.destination,
                    relay: &circuit.relay,
                    open_for_ms: millis(circuit.open_for),
                    next_probe_ms: millis(circuit.next_probe),
                    error: &circuit.error,
                })
                .collect(),
            topics: topics(status),
            lanes: status
                .lanes
                .iter()
                .map(|lane| Lane {
                    number: lane.lane.0,
                    relay: lane.relay.as_deref(),
                    lease_ms: millis(lane.lease),
                    careful: lane.careful,
                })
                .collect(),
            horizon: status.horizon.as_ref().map(Horizon::from),
        }
    }
}
