//! What one leased lane gives, steps 2 to 6 of the design's flow. The line is read first; what is due of keys that waited is
//! read from `waiting` afterwards, and only up to the frontier of the first read, so that no retry overtakes an earlier message
//! of its key that the limits hid.

use std::collections::HashSet;

use outbox_message::{Lane, LaneToken, OrderingKey, Position};
use outbox_store::{Entry, LaneLease, ReadOn};

use super::{Claiming, Room};
use crate::{
    blocks::{Block, NEVER, Reason},
    state::Row,
};

/// How many runnable rows a claim looks at though it has room for fewer, so that a claim of one message can tell a busy key.
const FEWEST_LOOKED_AT: usize = 4;

/// What a holder that reads on leaves out.
#[derive(Default)]
struct LeftOut<'a> {
    in_hand: HashSet<Position>,
    closed: HashSet<&'a OrderingKey>,
}

impl<'a> LeftOut<'a> {
    fn of(held: &'a ReadOn) -> Self {
        Self {
            in_hand: held.in_hand.iter().copied().collect(),
            closed: held.closed.iter().collect(),
        }
    }
}

/// What was read of a lane's line.
#[derive(Default)]
struct Window {
    /// What can be handed out.
    runnable: Vec<Position>,
    /// What is to be set aside, because its key is blocked or its topic is stopped.
    blocked: Vec<Position>,
    /// Why the line was not read to its end.
    cut: Option<Cut>,
    /// The last row looked at, if any.
    last: Option<Position>,
}

/// What a lane gave.
struct Found {
    entries: Vec<Entry>,
    /// How many rows were moved, and how many blocks removed.
    moved: usize,
    /// Nothing was handed out, only because there was no room.
    no_room: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    Messages,
    Bytes,
    Looks,
}

impl Claiming<'_> {
    /// Leases a lane and hands out what it has room for; a lane that gives nothing is released at once.
    pub(super) fn lane(&mut self, lane: Lane) {
        let token = self.state.lease(lane, self.now, self.request, self.drawn);
        let careful = self.state.lane(lane).careful > 0;
        let room = Room {
            messages: if careful {
                1
            } else {
                self.share.messages.min(self.left.messages)
            },
            bytes: self.share.bytes.min(self.left.bytes),
        };

        let Found {
            entries,
            moved,
            no_room,
        } = self.find(&token, room, &LeftOut::default());
        if !no_room && (moved > 0 || !entries.is_empty()) {
            self.state.lane_mut(lane).turn = self.state.draw_turn();
        }
        if entries.is_empty() {
            self.state.lane_mut(lane).release();
        } else {
            self.claim.lanes.push(LaneLease { token, careful });
        }
        self.claim.moved += moved;
        self.claim.entries.extend(entries);
    }

    /// Hands out what else can run of a lane that is held: all of it is read anew.
    pub(super) fn read_on(&mut self, held: &ReadOn) {
        let room = Room {
            messages: self.share.messages.min(self.left.messages),
            bytes: self.share.bytes.min(self.left.bytes),
        };
        let found = self.find(&held.token, room, &LeftOut::of(held));
        self.claim.moved += found.moved;
        self.claim.entries.extend(found.entries);
    }

    /// Steps 2 to 6.
    fn find(&mut self, token: &LaneToken, room: Room, left_out: &LeftOut<'_>) -> Found {
        let lane = token.lane;
        let mut moved = self.promote(lane);
        let mut window = self.read_line(lane, room, left_out);
        moved += self.set_aside(lane, &window.blocked);
        let careful = self.state.lane(lane).careful > 0;
        if !careful && let Some(key) = self.busy_key(lane, &window) {
            moved += self.set_busy_aside(lane, &key, &window.runnable);
            window.runnable.clear();
        }
        moved += self.stop_due_keys(lane, left_out);
        let (waiting, unblocked) = self.read_waiting(lane, room, &window, left_out);
        moved += unblocked;
        let (entries, no_room) = self.hand_out(token, room, &window.runnable, &waiting);
        // A lane whose head only found no room keeps its turn: it comes first next time, and then its head is taken.
        let no_room = entries.is_empty() && (no_room || window.cut == Some(Cut::Bytes));
        Found {
            entries,
            moved,
            no_room,
        }
    }

    /// Step 2: what fell due joins the line, at its place by position.
    fn promote(&mut self, lane: Lane) -> usize {
        let first = (lane, i64::MIN, Position(i64::MIN));
        let last = (lane, self.now, Position(i64::MAX));
        let due = self.state.scheduled.range(first..=last);
        let due: Vec<_> = due.map(|(at, _)| *at).take(self.promotions_left).collect();
        self.promotions_left -= due.len();
        for at in &due {
            if let Some(row) = self.state.scheduled.remove(at) {
                self.state.line.insert(lane, at.2, row);
            }
        }
        due.len()
    }

    /// Step 3: reads the line by position. Rows that must stay take no room, so that a long run of them is passed in few claims.
    fn read_line(&mut self, lane: Lane, room: Room, left_out: &LeftOut<'_>) -> Window {
        let mut window = Window::default();
        let most = room.messages.max(FEWEST_LOOKED_AT);
        let mut bytes = 0;
        for (position, row) in self.state.line.of(lane) {
            let left_out = self.is_left_out(position, row, left_out);
            if left_out || self.must_stay(position, row) {
                if self.looks_left == 0 {
                    window.cut = Some(Cut::Looks);
                    break;
                }
                self.looks_left -= 1;
                if !left_out {
                    window.blocked.push(position);
                }
            } else {
                let first = self.claim.entries.is_empty() && window.runnable.is_empty();
                bytes += row.message.weight();
                if window.runnable.len() == most {
                    window.cut = Some(Cut::Messages);
                    break;
                }
                if bytes > room.bytes && !first {
                    window.cut = Some(Cut::Bytes);
                    break;
                }
                window.runnable.push(position);
            }
            window.last = Some(position);
        }
        window
    }

    /// Whether a holder that reads on leaves this row where it is. What is not in hand of a key that waits anyway is set aside as ever.
    fn is_left_out(&self, position: Position, row: &Row, left_out: &LeftOut<'_>) -> bool {
        let is_closed = |key: &OrderingKey| {
            left_out.closed.contains(key) && self.state.blocks.get(key).is_none()
        };
        left_out.in_hand.contains(&position) || row.key.as_ref().is_some_and(is_closed)
    }

    /// Whether a row's key is blocked or its topic is stopped. A row that cannot be read is never set aside.
    fn must_stay(&self, position: Position, row: &Row) -> bool {
        let state = &self.state;
        let key = row.key.as_ref();
        row.damage.is_none()
            && (key.is_some_and(|key| state.blocks.get(key).is_some())
                || state.stops.keeps(&row.message.topic, position, self.now))
    }

    /// Step 4: sets aside what cannot run, once each (P3).
    fn set_aside(&mut self, lane: Lane, positions: &[Position]) -> usize {
        for position in positions {
            let Some(row) = self.state.line.remove(lane, *position) else {
                continue;
            };
            if let Some(key) = row
                .key
                .as_ref()
                .filter(|key| self.state.blocks.get(key).is_none())
            {
                let block = Block {
                    lane,
                    reason: Reason::Topic,
                    until: NEVER,
                    position: *position,
                };
                self.state.blocks.set(key.clone(), block);
            }
            self.state.set_aside(lane, *position, row);
        }
        positions.len()
    }

    /// Before step 5: due keys whose topic is stopped wait for it from now on, once each, whatever they waited for. One whose head is let
    /// through is left due.
    fn stop_due_keys(&mut self, lane: Lane, left_out: &LeftOut<'_>) -> usize {
        let state = &mut *self.state;
        let due = state.blocks.due(lane, self.now);
        let open = due.filter(|key| !left_out.closed.contains(key));
        let stopped = open.filter(|key| {
            let waiting = state.waiting.get(key);
            let head = waiting.and_then(|rows| rows.keys().next());
            head.is_some_and(|head| state.stops.keeps(&key.topic, *head, self.now))
        });
        let stopped: Vec<OrderingKey> = stopped.cloned().collect();
        for key in &stopped {
            if let Some(block) = state.blocks.get(key) {
                let block = Block {
                    reason: Reason::Topic,
                    until: NEVER,
                    ..block
                };
                state.blocks.set(key.clone(), block);
            }
        }
        stopped.len()
    }

    /// The key that fills a lane's share though others stand in the lane, too.
    fn busy_key(&self, lane: Lane, window: &Window) -> Option<OrderingKey> {
        let full = matches!(window.cut, Some(Cut::Messages | Cut::Bytes));
        let mut rows = window.runnable.iter().map(|position| {
            let row = self.state.line.get(lane, *position)?;
            row.key.as_ref().filter(|_| row.damage.is_none())
        });
        let key = rows.next().filter(|_| full)??;
        let fills = rows.all(|other| other == Some(key));
        (fills && self.state.line.has_beside(lane, key)).then(|| key.clone())
    }

    /// Sets aside a busy key, due at once: the line flows on, and the key is served a bounded run each claim (O7).
    fn set_busy_aside(&mut self, lane: Lane, key: &OrderingKey, positions: &[Position]) -> usize {
        if let Some(head) = positions.first() {
            let block = Block {
                lane,
                reason: Reason::Busy,
                until: self.now,
                position: *head,
            };
            self.state.block(key, block);
        }
        self.set_aside(lane, positions)
    }

    /// Steps 5 and 6: reads what is due of keys that waited, longest due first, a bounded run of each unless nothing else can
    /// run; removes due blocks behind which nothing waits any more, and says how many.
    fn read_waiting(
        &mut self,
        lane: Lane,
        room: Room,
        window: &Window,
        left_out: &LeftOut<'_>,
    ) -> (Vec<(Position, OrderingKey)>, usize) {
        let frontier = match window.cut {
            None => Position(i64::MAX),
            Some(_) => window.last.unwrap_or(Position(i64::MIN)),
        };
        let is_open = |key: &&OrderingKey| !left_out.closed.contains(key);
        let due = || self.state.blocks.due(lane, self.now).filter(is_open);
        let alone = window.runnable.is_empty() && window.cut.is_none() && due().nth(1).is_none();
        let run = if alone {
            room.messages
        } else {
            (room.messages / 4).max(1)
        };
        let (mut found, mut empty) = (Vec::new(), Vec::new());
        for key in due() {
            let Some(rows) = self.state.waiting.get(key) else {
                empty.push(key.clone());
                continue;
            };
            // Of a topic that is stopped only the one message that is let through.
            let stopped = self.state.stops.cause(&key.topic, self.now).is_some();
            let run = if stopped { 1 } else { run };
            let run = run.min(room.messages - found.len());
            let rows = rows.range(..=frontier);
            let rows = rows.filter(|(position, _)| !left_out.in_hand.contains(position));
            let rows = rows.take(run);
            found.extend(rows.map(|(position, _)| (*position, key.clone())));
            if found.len() == room.messages {
                break;
            }
        }
        for key in &empty {
            self.state.blocks.remove(key);
        }
        (found, empty.len())
    }

    /// Takes from both reads in turn while there is room, so that neither starves the other, and puts what was taken in order.
    /// Of each it takes a first part: a key stands in one of the two only, so its messages stay in order. Also says whether
    /// something was left out.
    fn hand_out(
        &mut self,
        token: &LaneToken,
        room: Room,
        runnable: &[Position],
        waiting: &[(Position, OrderingKey)],
    ) -> (Vec<Entry>, bool) {
        let state = &*self.state;
        let in_line = runnable.iter().filter_map(|position| {
            let row = state.line.get(token.lane, *position)?;
            Some((*position, row))
        });
        let waiting = waiting.iter().filter_map(|(position, key)| {
            let row = state.waiting.get(key)?.get(position)?;
            Some((*position, row))
        });
        let (in_line, waiting): (Vec<_>, Vec<_>) = (in_line.collect(), waiting.collect());
        let line_comes_first = if self.state.lane(token.lane).careful > 0 {
            // Always the first of all, or a message that ends its process would be saved by its neighbors (F6).
            let first = |rows: &[(Position, &Row)]| rows.first().map(|(position, _)| *position);
            waiting.is_empty() || first(&in_line).is_some_and(|it| Some(it) < first(&waiting))
        } else {
            // The epoch grows by two from lease to lease, so that each of the two comes first every other time.
            token.epoch & 2 == 0
        };
        let sources = if line_comes_first {
            [&in_line[..], &waiting[..]]
        } else {
            [&waiting[..], &in_line[..]]
        };
        let found = take_in_turn(sources, room, self.claim.entries.is_empty());
        let bytes = found.iter().map(|(_, row)| row.message.weight()).sum();
        self.left.messages -= found.len();
        self.left.bytes = self.left.bytes.saturating_sub(bytes);
        let no_room = found.len() < in_line.len() + waiting.len();
        let entries = found.into_iter();
        let entries = entries.map(|(position, row)| state.entry(token.lane, position, row));
        (entries.collect(), no_room)
    }
}

/// Takes one of each source in turn while there is room, and puts what was taken in order. What does not fit ends its source.
/// With `at_least_one` the first is taken whatever its size (P4).
fn take_in_turn<'a>(
    mut sources: [&[(Position, &'a Row)]; 2],
    mut left: Room,
    at_least_one: bool,
) -> Vec<(Position, &'a Row)> {
    let mut found = Vec::new();
    let mut turn = 0;
    while left.messages > 0 && sources.iter().any(|source| !source.is_empty()) {
        if let Some((next, behind)) = sources[turn].split_first() {
            let weight = next.1.message.weight();
            let fits = weight <= left.bytes || (at_least_one && found.is_empty());
            sources[turn] = if fits { behind } else { &[] };
            if fits {
                found.push(*next);
                left.messages -= 1;
                left.bytes = left.bytes.saturating_sub(weight);
            }
        }
        turn = 1 - turn;
    }
    found.sort_by_key(|(position, _)| *position);
    found
}
