//! The tables, and the few moves between them that claims, settlements and operators share. All of it stands behind one mutex.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use outbox_message::{Delivery, Lane, LaneToken, Lanes, Message, OrderingKey, Position};
use outbox_store::{AfterDeath, Circuit, Entry, Unreadable};

use crate::{
    audit::Audit,
    blocks::{Block, Blocks, Reason},
    clock::{Clock, until},
    damage::Damage,
    hints::Hints,
    inbox::Inbox,
    line::Line,
    locks::{Locks, TxId},
    published::Published,
    saved_ids::SavedIds,
    stops::{SET_ASIDE, Stops},
};

/// A message in one of the tables.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) message: Message,
    /// Its ordering key, made once. `None` also if it cannot be read, or belongs to another lane.
    pub(crate) key: Option<OrderingKey>,
    pub(crate) attempts: u32,
    pub(crate) tries: u32,
    pub(crate) last_error: Option<String>,
    pub(crate) saved_at: i64,
    /// What keeps it from being read as a message (F7).
    pub(crate) damage: Option<Damage>,
}

/// A message that was given up on.
#[derive(Debug)]
pub(crate) struct DeadRow {
    pub(crate) row: Row,
    pub(crate) reason: &'static str,
    pub(crate) error: String,
    pub(crate) after: AfterDeath,
    pub(crate) died_at: i64,
}

/// The lane row is the mutex of its lane: whoever holds it may hand out what the lane has.
#[derive(Debug, Default)]
pub(crate) struct LaneRow {
    pub(crate) epoch: i64,
    pub(crate) holder: Option<Holder>,
    pub(crate) lease_until: i64,
    /// When it was served last, as a number that grows over all lanes.
    pub(crate) turn: u64,
    /// How many messages must still complete before it is served as usual (F6).
    pub(crate) careful: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct Holder {
    /// The random part of the token.
    pub(crate) drawn: Arc<str>,
    pub(crate) relay: Arc<str>,
}

impl LaneRow {
    pub(crate) fn is_leased(&self, now: i64) -> bool {
        self.holder.is_some() && self.lease_until > now
    }

    /// Its lease ran out on a holder.
    pub(crate) fn has_lapsed(&self, now: i64) -> bool {
        self.holder.is_some() && self.lease_until <= now
    }

    /// To be served one message at a time.
    pub(crate) fn needs_care(&self, now: i64) -> bool {
        self.careful > 0 || self.has_lapsed(now)
    }

    /// Gives the lane back. The token changes with it, so that nothing sent late can touch the lane again.
    pub(crate) fn release(&mut self) {
        if self.holder.take().is_some() {
            self.epoch += 1;
            self.lease_until = 0;
        }
    }
}

/// An open circuit of one relay.
#[derive(Debug)]
pub(crate) struct OpenCircuit {
    pub(crate) since: i64,
    pub(crate) next_probe: i64,
    pub(crate) error: String,
}

impl OpenCircuit {
    /// Whether its relay has been silent for so long that it counts as gone.
    pub(crate) fn is_forgotten(&self, now: i64) -> bool {
        until(now, self.next_probe) > Circuit::FORGOTTEN_AFTER
    }
}

/// How long what is over is kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Retain {
    pub(crate) published: Option<Duration>,
    pub(crate) inbox: Option<Duration>,
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) clock: Clock,
    pub(crate) hints: Hints,
    pub(crate) locks: Locks,
    pub(crate) lanes: Vec<LaneRow>,
    /// The ready line: runnable messages.
    pub(crate) line: Line,
    /// Scheduled and never tried messages, and retries of unkeyed ones, by due time: they block nobody. Also unkeyed ones of stopped topics.
    pub(crate) scheduled: BTreeMap<(Lane, i64, Position), Row>,
    /// Every message of a key whose head waits, as far as it was set aside. Each key here has its block.
    pub(crate) waiting: BTreeMap<OrderingKey, BTreeMap<Position, Row>>,
    pub(crate) blocks: Blocks,
    pub(crate) stops: Stops,
    pub(crate) dead: BTreeMap<Position, DeadRow>,
    pub(crate) published: Published,
    pub(crate) saved_ids: SavedIds,
    pub(crate) audit: Audit,
    pub(crate) inbox: Inbox,
    /// Recorded starts in careful service, by the holder who recorded them (F6).
    pub(crate) starts: BTreeMap<(Lane, Position), BTreeSet<Arc<str>>>,
    /// By destination and relay.
    pub(crate) circuits: BTreeMap<(String, Arc<str>), OpenCircuit>,
    /// How many lanes there are.
    pub(crate) number: Lanes,
    last_position: i64,
    last_tx: TxId,
    last_turn: u64,
}

impl State {
    pub(crate) fn new(lanes: Lanes, clock: Clock, retain: Retain) -> Self {
        Self {
            clock,
            hints: Hints::default(),
            locks: Locks::default(),
            lanes: (0..lanes.get()).map(|_| LaneRow::default()).collect(),
            line: Line::default(),
            scheduled: BTreeMap::new(),
            waiting: BTreeMap::new(),
            blocks: Blocks::default(),
            stops: Stops::default(),
            dead: BTreeMap::new(),
            published: Published::new(retain.published),
            saved_ids: SavedIds::default(),
            audit: Audit::default(),
            inbox: Inbox::new(retain.inbox),
            starts: BTreeMap::new(),
            circuits: BTreeMap::new(),
            number: lanes,
            last_position: 0,
            last_tx: 0,
            last_turn: 0,
        }
    }

    pub(crate) fn last_position(&self) -> Position {
        Position(self.last_position)
    }

    pub(crate) fn draw_position(&mut self) -> Position {
        self.last_position += 1;
        Position(self.last_position)
    }

    pub(crate) fn draw_tx(&mut self) -> TxId {
        self.last_tx += 1;
        self.last_tx
    }

    pub(crate) fn draw_turn(&mut self) -> u64 {
        self.last_turn += 1;
        self.last_turn
    }

    /// Puts a new message into the line, at the tail.
    pub(crate) fn save(&mut self, message: Message, now: i64) {
        let position = self.draw_position();
        let row = Row::new(message, now);
        let lane = self.lane_of(row.key.as_ref(), position);
        self.line.insert(lane, position, row);
    }

    /// The lane of a message: by its ordering key, or, without one, spread evenly by its position.
    pub(crate) fn lane_of(&self, key: Option<&OrderingKey>, position: Position) -> Lane {
        let spread = || position.0.rem_euclid(i64::from(self.number.get()));
        key.map_or_else(
            || Lane(u16::try_from(spread()).expect("it is less than the number of lanes")),
            |key| key.lane(self.number),
        )
    }

    pub(crate) fn lane(&self, lane: Lane) -> &LaneRow {
        &self.lanes[usize::from(lane.0)]
    }

    pub(crate) fn lane_mut(&mut self, lane: Lane) -> &mut LaneRow {
        &mut self.lanes[usize::from(lane.0)]
    }

    pub(crate) fn all_lanes(&self) -> impl Iterator<Item = Lane> + use<> {
        (0..self.number.get()).map(Lane)
    }

    /// Whether the token's lane is still leased with it. A lease that ran out and was not taken over still is.
    pub(crate) fn holds(&self, token: &LaneToken) -> bool {
        let lane = self.lanes.get(usize::from(token.lane.0));
        lane.is_some_and(|lane| {
            let holder = lane.holder.as_ref();
            lane.epoch == token.epoch && holder.is_some_and(|holder| holder.drawn == token.holder)
        })
    }

    /// Blocks a key, unless a dead letter holds it: only an operator ends that.
    pub(crate) fn block(&mut self, key: &OrderingKey, block: Block) {
        let old = self.blocks.get(key);
        if old.is_none_or(|old| old.reason != Reason::Dead) {
            self.blocks.set(key.clone(), block);
        }
    }

    /// Lets a key go on whose head no longer waits: with nothing behind it the block ends, else it is served from `waiting` at once.
    pub(crate) fn go_on(&mut self, key: &OrderingKey, now: i64) {
        let block = self.blocks.get(key);
        let Some(block) = block.filter(|block| block.reason != Reason::Dead) else {
            return;
        };
        let head = self.waiting.get(key).and_then(|rows| rows.keys().next());
        match head {
            None => self.blocks.remove(key),
            Some(head) => self.blocks.set(
                key.clone(),
                Block {
                    reason: Reason::Busy,
                    until: now,
                    position: *head,
                    ..block
                },
            ),
        }
    }

    /// Puts a row behind the block of its key; one without a key, whose topic is stopped, among the scheduled ones, where nothing makes it due.
    pub(crate) fn set_aside(&mut self, lane: Lane, position: Position, row: Row) {
        match row.key.clone() {
            Some(key) => {
                self.waiting.entry(key).or_default().insert(position, row);
            }
            None => {
                self.scheduled.insert((lane, SET_ASIDE, position), row);
            }
        }
    }

    pub(crate) fn take_waiting(&mut self, key: &OrderingKey, position: Position) -> Option<Row> {
        let rows = self.waiting.get_mut(key)?;
        let row = rows.remove(&position);
        if rows.is_empty() {
            self.waiting.remove(key);
        }
        row
    }

    /// What a relay is handed for a row.
    pub(crate) fn entry(&self, lane: Lane, position: Position, row: &Row) -> Entry {
        if let Some(damage) = row.damage {
            return Entry::Unreadable(Unreadable {
                lane,
                position,
                tries: row.tries,
                key: row.key.clone(),
                error: damage.as_error().to_owned(),
            });
        }
        let starts = self.starts.get(&(lane, position)).map_or(0, BTreeSet::len);
        Entry::Message(Delivery {
            lane,
            position,
            attempts: row.attempts,
            tries: row.tries,
            starts: u32::try_from(starts).unwrap_or(u32::MAX),
            message: row.message.clone(),
        })
    }

    /// Every pending message, in no order.
    pub(crate) fn pending(&self) -> impl Iterator<Item = (Position, &Row)> {
        let scheduled = self.scheduled.iter();
        let scheduled = scheduled.map(|((_, _, position), row)| (*position, row));
        let waiting = self.waiting.values().flatten();
        self.line
            .iter()
            .chain(scheduled)
            .chain(waiting.map(|(position, row)| (*position, row)))
    }
}

impl Row {
    pub(crate) fn new(message: Message, saved_at: i64) -> Self {
        Self {
            key: message.ordering_key(),
            message,
            attempts: 0,
            tries: 0,
            last_error: None,
            saved_at,
            damage: None,
        }
    }
}
