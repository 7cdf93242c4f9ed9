//! The state of the store as `status` shows it. It counts everything; nothing else reads it.

use std::collections::BTreeMap;

use outbox_message::OrderingKey;
use outbox_store::{BlockReason, BlockedKey, Circuit, LaneHolder, Status, StopCause, TopicBacklog};

use crate::{
    blocks::{Block, Reason},
    clock::until,
    state::{Row, State},
    stops::SET_ASIDE,
};

/// How many blocked keys are shown.
const BLOCKED_KEYS_SHOWN: usize = 10;

impl State {
    pub(crate) fn status(&self, now: i64) -> Status {
        let mut status = Status {
            line: count(self.line.len()),
            waiting: count(self.waiting.values().map(BTreeMap::len).sum()),
            scheduled: count(self.scheduled.len()),
            dead: count(self.dead.len()),
            blocked_keys: self.blocked_keys(now),
            circuits: self.open_circuits(now),
            topics: self.topics(),
            lanes: self.holders(now),
            stopped: self.stops.shown(now),
            ..Status::default()
        };
        let blocked = self
            .blocks
            .iter()
            .filter(|(_, block)| shown(block).is_some());
        status.blocked = count(blocked.count());
        let next = self
            .all_lanes()
            .filter_map(|lane| self.next_due_of(lane, now));
        status.next_due = next.min().map(|due| until(due, now));

        for ((_, due, _), row) in &self.scheduled {
            let cause = self.stops.cause(&row.message.topic, now);
            if cause == Some(StopCause::Paused) {
                status.paused += 1;
            } else if *due > now {
                status.later += u64::from(row.tries == 0 && *due != SET_ASIDE);
            } else {
                self.count_runnable(row, *due, now, &mut status);
            }
        }
        let in_line = self.line.iter().map(|(_, row)| row);
        for row in in_line.chain(self.waiting.values().flat_map(BTreeMap::values)) {
            self.count_runnable(row, row.saved_at, now, &mut status);
        }
        status
    }

    /// Counts a message that has joined the line or may, as paused, as held or as ready (since when), by what its topic and its key do.
    fn count_runnable(&self, row: &Row, since: i64, now: i64, status: &mut Status) {
        let block = row.key.as_ref().and_then(|key| self.blocks.get(key));
        let stopped = self.stops.cause(&row.message.topic, now);
        match block {
            _ if stopped == Some(StopCause::Paused) => status.paused += 1,
            Some(block) if block.reason == Reason::Dead => status.held += 1,
            Some(block) if block.until > now => {}
            _ if stopped.is_some() => {}
            _ => {
                status.ready += 1;
                status.oldest_ready = status.oldest_ready.max(Some(until(now, since)));
            }
        }
    }

    fn blocked_keys(&self, now: i64) -> Vec<BlockedKey> {
        let blocks = self.blocks.iter();
        let mut blocks: Vec<(&OrderingKey, &Block, BlockReason)> = blocks
            .filter_map(|(key, block)| Some((key, block, shown(block)?)))
            .collect();
        blocks.sort_by_key(|(_, block, _)| block.position);
        blocks.truncate(BLOCKED_KEYS_SHOWN);
        let shown = blocks.into_iter().map(|(key, block, reason)| {
            let waiting = self.waiting.get(key);
            let head = waiting.and_then(|rows| rows.get(&block.position));
            let dead = self.dead.get(&block.position);
            BlockedKey {
                topic: key.topic.to_string(),
                key: key.key.to_string(),
                reason,
                position: block.position.0,
                next_try: (reason != BlockReason::Dead).then(|| until(block.until, now)),
                waiting: count(waiting.map_or(0, BTreeMap::len)),
                error: match reason {
                    BlockReason::Dead => dead.map(|dead| dead.error.clone()),
                    _ => head.and_then(|row| row.last_error.clone()),
                },
            }
        });
        shown.collect()
    }

    fn open_circuits(&self, now: i64) -> Vec<Circuit> {
        let circuits = self.circuits.iter();
        let shown = circuits.filter(|(_, circuit)| !circuit.is_forgotten(now));
        let circuits = shown.map(|((destination, relay), circuit)| Circuit {
            destination: destination.clone(),
            relay: relay.to_string(),
            open_for: until(now, circuit.since),
            next_probe: until(circuit.next_probe, now),
            error: circuit.error.clone(),
        });
        circuits.collect()
    }

    fn topics(&self) -> Vec<TopicBacklog> {
        let mut topics: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for (_, row) in self.pending() {
            topics.entry(row.message.topic.as_str()).or_default().0 += 1;
        }
        for dead in self.dead.values() {
            topics.entry(dead.row.message.topic.as_str()).or_default().1 += 1;
        }
        let topics = topics
            .into_iter()
            .map(|(topic, (pending, dead))| TopicBacklog {
                topic: topic.to_owned(),
                pending,
                dead,
            });
        topics.collect()
    }

    fn holders(&self, now: i64) -> Vec<LaneHolder> {
        let lanes = self.all_lanes().map(|lane| (lane, self.lane(lane)));
        let lanes = lanes.filter(|(_, row)| row.holder.is_some() || row.careful > 0);
        let holders = lanes.map(|(lane, row)| LaneHolder {
            lane,
            relay: row.holder.as_ref().map(|holder| holder.relay.to_string()),
            lease: until(row.lease_until, now),
            careful: row.careful,
        });
        holders.collect()
    }
}

/// The reason that people are shown; neither a busy key is blocked nor one whose topic is stopped.
fn shown(block: &Block) -> Option<BlockReason> {
    match block.reason {
        Reason::Retry => Some(BlockReason::Retry),
        Reason::Dead => Some(BlockReason::Dead),
        Reason::Busy | Reason::Topic => None,
    }
}

fn count(rows: usize) -> u64 {
    u64::try_from(rows).unwrap_or(u64::MAX)
}
