//! The transaction: saves are kept in it and become visible together, at its commit, or never.

use std::{collections::BTreeMap, fmt};

use outbox_message::{Lane, Message, MessageId, Position};
use outbox_store::{Due, MAX_DELAY, Save, Saved};

use crate::{
    MemoryStore,
    clock::millis,
    inbox::HandledId,
    locks::TxId,
    state::{Row, State},
    stops::SET_ASIDE,
};

/// An open transaction of a [`MemoryStore`]. Dropping it rolls it back.
///
/// Positions are drawn at each save, so transactions can commit in another order than they saved, as in a database.
pub struct MemoryTx {
    pub(crate) store: MemoryStore,
    pub(crate) id: TxId,
    open: bool,
    saves: Vec<NewRow>,
    /// The ids of its own idempotent saves, with their expiry.
    ids: BTreeMap<MessageId, i64>,
    /// What it handled, with the time, or forgot.
    pub(crate) inbox: BTreeMap<HandledId, Option<i64>>,
}

struct NewRow {
    lane: Lane,
    position: Position,
    /// When it falls due, if that is later than the save.
    due: Option<i64>,
    row: Row,
}

impl MemoryTx {
    pub(crate) fn new(store: MemoryStore) -> Self {
        let id = store.with(State::draw_tx);
        Self {
            store,
            id,
            open: true,
            saves: Vec::new(),
            ids: BTreeMap::new(),
            inbox: BTreeMap::new(),
        }
    }

    /// Makes everything saved in it visible, and ends it. Does nothing if it has ended already.
    pub fn commit(&mut self) {
        let saves = std::mem::take(&mut self.saves);
        let ids = std::mem::take(&mut self.ids);
        let inbox = std::mem::take(&mut self.inbox);
        let saved_nothing = saves.is_empty();
        let apply = |state: &mut State| {
            for NewRow {
                lane,
                position,
                due,
                row,
            } in saves
            {
                match due {
                    Some(due) => {
                        state.scheduled.insert((lane, due, position), row);
                    }
                    None => state.line.insert(lane, position, row),
                }
            }
            for (id, expires) in ids {
                state.saved_ids.remember(id, expires);
            }
            for (id, handled) in inbox {
                match handled {
                    Some(at) => state.inbox.record(id, at),
                    None => state.inbox.forget(&id),
                }
            }
        };
        if saved_nothing {
            self.store.with(apply);
        } else {
            self.store.with_hint(apply);
        }
        self.end();
    }

    /// Forgets everything saved in it, and ends it. Does nothing if it has ended already.
    pub fn rollback(&mut self) {
        self.end();
    }

    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    fn end(&mut self) {
        self.saves.clear();
        self.ids.clear();
        self.inbox.clear();
        if std::mem::take(&mut self.open) {
            let waiting = self.store.with(|state| state.locks.release(self.id));
            waiting.into_iter().for_each(std::task::Waker::wake);
        }
    }

    /// Adds one save to those of this transaction. The caller holds its locks.
    pub(crate) fn add(&mut self, state: &mut State, save: Save<'_>) -> Saved {
        let now = state.clock.now_ms();
        if let Some(time) = save.once {
            let id = &save.message.id;
            let own = self.ids.get(id).is_some_and(|expires| *expires > now);
            if own || state.saved_ids.remembers(id, now) {
                return Saved::Duplicate;
            }
            self.ids
                .insert(id.clone(), now.saturating_add(millis(time)));
        }
        let position = state.draw_position();
        let row = Row::new(save.message.clone(), now);
        let due = save.due.map(|due| match due {
            Due::After(delay) => now.saturating_add(millis(delay.min(MAX_DELAY))),
            Due::AtUnixMs(due) => due.min(SET_ASIDE - 1),
        });
        self.saves.push(NewRow {
            lane: state.lane_of(row.key.as_ref(), position),
            position,
            due: due.filter(|due| *due > now),
            row,
        });
        Saved::New(position)
    }

    /// Whether the message was handled, as far as this transaction sees.
    pub(crate) fn has_handled(&self, state: &State, id: &HandledId) -> bool {
        let own = self.inbox.get(id);
        own.map_or_else(|| state.inbox.contains(id), Option::is_some)
    }

    /// The pending messages this transaction sees, by position.
    pub(crate) fn sees(&self, state: &State) -> Vec<Message> {
        let own = self.saves.iter().map(|new| (new.position, &new.row));
        let mut seen: Vec<(Position, &Row)> = state.pending().chain(own).collect();
        seen.sort_by_key(|(position, _)| *position);
        seen.into_iter()
            .map(|(_, row)| row.message.clone())
            .collect()
    }
}

impl Drop for MemoryTx {
    fn drop(&mut self) {
        self.end();
    }
}

impl fmt::Debug for MemoryTx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryTx")
            .field("id", &self.id)
            .field("open", &self.open)
            .field("saves", &self.saves.len())
            .finish_non_exhaustive()
    }
}
