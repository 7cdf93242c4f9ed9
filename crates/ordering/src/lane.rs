//! The state machine of one claimed lane: which messages may be handed to the broker next, and
//! which outcome each of them gets. It leaves out the lease, every clock and every count: the
//! engine asks, publishes, settles and reports back.

mod entry;

pub use entry::{Entry, EntryKind, Outcome, Run, RunId, Verdict};

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::hash::Hash;

use crate::state::AfterDeath;

/// One claimed lane on its way through a relay.
///
/// `K` is the type of ordering keys, `P` that of positions. The lane keeps these promises, whatever
/// the order and the results in which runs are completed:
///
/// 1. Two runs of one ordering key are never in flight at the same time (O3, O4).
/// 2. A message becomes runnable only after every earlier one of its key in this lane was confirmed,
///    or its death was [settled](Lane::settled) under [`AfterDeath::Skip`] (O5).
/// 3. After a retry or a release nothing of that key runs in this claim any more: the rest of the key
///    is handed back (O5, O6). The same holds after a death under [`AfterDeath::Hold`] (O9).
/// 4. Other keys and unkeyed messages are never delayed by it (O7).
/// 5. Every entry gets exactly one outcome.
/// 6. The lowest runnable position comes first, so equal calls give equal answers.
///
/// ```
/// use outbox_ordering::AfterDeath;
/// use outbox_ordering::lane::{Entry, Lane, Outcome, Verdict};
///
/// // Positions 1, 2 and 4 are of one key, 3 has none.
/// let mut lane = Lane::admit([
///     Entry::message(1, Some("order-1")),
///     Entry::message(2, Some("order-1")),
///     Entry::message(3, None),
///     Entry::message(4, Some("order-1")),
/// ]);
///
/// let run = lane.next_run(2).expect("the head of order-1 is runnable");
/// assert_eq!(run.positions, [1, 2]);
/// assert_eq!(lane.next_run(2).expect("an unkeyed message is a run of one").positions, [3]);
/// assert!(lane.next_run(2).is_none(), "order-1 is in flight");
///
/// // The broker confirmed 1 and refused 2 for good: 4 waits until that death is recorded.
/// let outcomes = lane.complete(run.id, 1, Some(Verdict::Dead(AfterDeath::Skip)));
/// assert_eq!(outcomes, [(1, Outcome::Published), (2, Outcome::Dead)]);
/// assert!(lane.next_run(2).is_none());
/// lane.settled(2);
/// assert_eq!(lane.next_run(2).expect("order-1 goes on").positions, [4]);
/// ```
#[derive(Debug, Clone)]
pub struct Lane<K, P> {
    /// In position order; everything else refers to an entry by its index here.
    slots: Vec<Slot<P>>,
    keys: Vec<KeyLine>,
    /// The index in `keys` of each ordering key. Only looked up, never walked.
    names: HashMap<K, usize>,
    /// The entries that may start now: the heads of idle keys, and unkeyed messages.
    runnable: BTreeSet<usize>,
    in_flight: BTreeMap<RunId, Vec<usize>>,
    next_id: u64,
    unsettled: usize,
    released: bool,
}

#[derive(Debug, Clone)]
struct Slot<P> {
    position: P,
    key: Option<usize>,
    kind: EntryKind,
    stage: Stage,
}

/// How far one entry has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Idle,
    InFlight,
    Decided,
    Settled,
}

/// What is left of one ordering key in this lane.
#[derive(Debug, Clone)]
struct KeyLine {
    /// Entries that have not started, in position order.
    queue: VecDeque<usize>,
    /// The death that must be settled before the queue may go on.
    burying: Option<usize>,
}

impl<K: Eq + Hash, P: Copy + Ord> Lane<K, P> {
    /// Admits what a claim handed out of one lane.
    ///
    /// Entries may come in any order and are served by position. Of two entries with one position
    /// only the first is admitted: a store that hands out a message twice in one claim must not
    /// make a relay publish it twice.
    #[must_use]
    pub fn admit(entries: impl IntoIterator<Item = Entry<K, P>>) -> Self {
        let mut entries: Vec<_> = entries.into_iter().collect();
        entries.sort_by_key(|entry| entry.position);
        entries.dedup_by_key(|entry| entry.position);
        let mut lane = Self {
            slots: Vec::with_capacity(entries.len()),
            keys: Vec::new(),
            names: HashMap::new(),
            runnable: BTreeSet::new(),
            in_flight: BTreeMap::new(),
            next_id: 0,
            unsettled: entries.len(),
            released: false,
        };
        for (index, entry) in entries.into_iter().enumerate() {
            let key = entry.key.map(|key| lane.line_of(key));
            let is_head = key.is_none_or(|key| lane.keys[key].queue.is_empty());
            if is_head {
                lane.runnable.insert(index);
            }
            if let Some(key) = key {
                lane.keys[key].queue.push_back(index);
            }
            let Entry { position, kind, .. } = entry;
            lane.slots.push(Slot {
                position,
                key,
                kind,
                stage: Stage::Idle,
            });
        }
        lane
    }

    fn line_of(&mut self, key: K) -> usize {
        *self.names.entry(key).or_insert_with(|| {
            self.keys.push(KeyLine {
                queue: VecDeque::new(),
                burying: None,
            });
            self.keys.len() - 1
        })
    }

    /// The position that the next run would begin with.
    #[must_use]
    pub fn head(&self) -> Option<P> {
        let head = self.runnable.first()?;
        Some(self.slots[*head].position)
    }

    /// The positions that runs could begin with now, the lowest first.
    pub fn heads(&self) -> impl Iterator<Item = P> {
        let heads = self.runnable.iter();
        heads.map(|head| self.slots[*head].position)
    }

    /// How many runs could start now.
    #[must_use]
    pub fn startable(&self) -> usize {
        self.runnable.len()
    }

    /// Starts the next run: of all that may start now, the one with the lowest position.
    ///
    /// A run of an ordering key has at most `max` messages, but always one. `None` means that
    /// nothing can start before a run completes or a death is settled, or ever again.
    pub fn next_run(&mut self, max: usize) -> Option<Run<P>> {
        let head = self.runnable.pop_first()?;
        let kind = self.slots[head].kind;
        let indexes = match (self.slots[head].key, kind) {
            (None, _) => vec![head],
            (Some(key), EntryKind::Unreadable) => {
                self.keys[key].queue.pop_front();
                vec![head]
            }
            (Some(key), EntryKind::Message) => {
                let queue = &mut self.keys[key].queue;
                let len = queue
                    .iter()
                    .take(max.max(1))
                    .take_while(|index| self.slots[**index].kind == EntryKind::Message)
                    .count();
                queue.drain(..len).collect()
            }
        };
        for index in &indexes {
            self.slots[*index].stage = Stage::InFlight;
        }
        let id = RunId(self.next_id);
        self.next_id += 1;
        let positions = self.positions(&indexes);
        self.in_flight.insert(id, indexes);
        Some(Run {
            id,
            kind,
            positions,
        })
    }

    /// Takes in how a run ended and returns what is to be settled, in position order.
    ///
    /// The first `confirmed` messages are published. `verdict` judges the one after them, and is
    /// ignored when there is none. A run that ended early without a verdict was interrupted: that
    /// message is released. A run completes once; for an id that is not in flight nothing changes
    /// and nothing is returned.
    pub fn complete(
        &mut self,
        run: RunId,
        confirmed: usize,
        verdict: Option<Verdict>,
    ) -> Vec<(P, Outcome)> {
        let Some(indexes) = self.in_flight.remove(&run) else {
            return Vec::new();
        };
        let key = self.slots[indexes[0]].key;
        let (published, rest) = indexes.split_at(confirmed.min(indexes.len()));
        let mut outcomes = self.decide(published, Outcome::Published);
        if let Some((judged, tail)) = rest.split_first() {
            let verdict = verdict.unwrap_or(Verdict::Release);
            outcomes.extend(self.decide(&[*judged], verdict.outcome()));
            if let Some(key) = key {
                // The tail was not tried: it is the front of its key's line again.
                for index in tail.iter().rev() {
                    self.slots[*index].stage = Stage::Idle;
                    self.keys[key].queue.push_front(*index);
                }
                if verdict == Verdict::Dead(AfterDeath::Skip) {
                    self.keys[key].burying = Some(*judged);
                } else {
                    outcomes.extend(self.hand_back(key));
                }
            }
        }
        if let Some(key) = key {
            if self.released {
                outcomes.extend(self.hand_back(key));
            }
            self.wake(key);
        }
        outcomes
    }

    /// Takes in that the outcome of this message is recorded in the store. The next message of a
    /// key whose message died becomes runnable by it.
    pub fn settled(&mut self, position: P) {
        let Ok(index) = self
            .slots
            .binary_search_by_key(&position, |slot| slot.position)
        else {
            return;
        };
        if self.slots[index].stage != Stage::Decided {
            return;
        }
        self.slots[index].stage = Stage::Settled;
        self.unsettled -= 1;
        if let Some(key) = self.slots[index].key
            && self.keys[key].burying == Some(index)
        {
            self.keys[key].burying = None;
            self.wake(key);
        }
    }

    /// Hands back everything that has not started, in position order: the relay stops, or its lease
    /// is lost. No run starts after it; runs in flight still complete, and their tails are released.
    pub fn release(&mut self) -> Vec<(P, Outcome)> {
        self.released = true;
        self.runnable.clear();
        for line in &mut self.keys {
            line.queue.clear();
        }
        let idle: Vec<usize> = (0..self.slots.len())
            .filter(|index| self.slots[*index].stage == Stage::Idle)
            .collect();
        self.decide(&idle, Outcome::Release)
    }

    /// Whether every entry has an outcome and every outcome is settled.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.unsettled == 0
    }

    /// The number of runs in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    fn decide(&mut self, indexes: &[usize], outcome: Outcome) -> Vec<(P, Outcome)> {
        for index in indexes {
            self.slots[*index].stage = Stage::Decided;
        }
        self.positions(indexes)
            .into_iter()
            .map(|position| (position, outcome))
            .collect()
    }

    /// Releases what is left of a key, which ends the key for this claim.
    fn hand_back(&mut self, key: usize) -> Vec<(P, Outcome)> {
        let rest: Vec<usize> = self.keys[key].queue.drain(..).collect();
        self.decide(&rest, Outcome::Release)
    }

    /// Makes the head of an idle key runnable.
    fn wake(&mut self, key: usize) {
        let line = &self.keys[key];
        if let (None, Some(head)) = (line.burying, line.queue.front()) {
            self.runnable.insert(*head);
        }
    }

    fn positions(&self, indexes: &[usize]) -> Vec<P> {
        indexes
            .iter()
            .map(|index| self.slots[*index].position)
            .collect()
    }
}

#[cfg(test)]
mod props;
#[cfg(test)]
mod tests;
