//! The state machine of one claimed lane: which messages may be handed to the broker next, and
//! which outcome each of them gets. It leaves out the lease, every clock and every count: the
//! engine asks, publishes, settles and reports back.

mod entry;
mod key;

pub use entry::{Entry, EntryKind, Outcome, Run, RunId, Verdict};

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;

use crate::state::AfterDeath;
use key::KeyLine;

/// One claimed lane on its way through a relay.
///
/// `K` is the type of ordering keys, `P` that of positions. The lane keeps these promises, whatever
/// the order and the results in which runs are completed:
///
/// 1. Two runs of one ordering key are never in flight at the same time (O3, O4).
/// 2. A message becomes runnable only after every earlier one of its key in this lane was confirmed,
///    or its death was [settled](Lane::settled) under [`AfterDeath::Skip`] (O5).
/// 3. After a retry or a release nothing of that key that was claimed with it runs any more: the rest of the key
///    is handed back (O5, O6). The same holds after a death under [`AfterDeath::Hold`] (O9).
/// 4. Other keys and unkeyed messages are never delayed by it (O7).
/// 5. Every entry gets exactly one outcome.
/// 6. The lowest runnable position comes first, so equal calls give equal answers.
/// 7. What is [admitted later](Lane::admit_more) takes its place by position among what has not started. It never
///    starts while something of its key was given up on or handed back and that is not settled.
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
    /// Every entry whose outcome is not settled.
    slots: BTreeMap<P, Slot>,
    keys: Vec<KeyLine<P>>,
    /// The index in `keys` of each ordering key. Only looked up, never walked.
    names: HashMap<K, usize>,
    /// The entries that may start now: the heads of idle keys, and unkeyed messages.
    runnable: BTreeSet<P>,
    in_flight: BTreeMap<RunId, Vec<P>>,
    next_id: u64,
    released: bool,
}

#[derive(Debug, Clone)]
struct Slot {
    key: Option<usize>,
    kind: EntryKind,
    stage: Stage,
}

/// How far one entry has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Idle,
    InFlight,
    /// `ends`: its key takes nothing more until the outcome is settled.
    Decided {
        ends: bool,
    },
}

impl<K: Eq + Hash, P: Copy + Ord> Lane<K, P> {
    /// Admits what a claim handed out of one lane.
    ///
    /// Entries may come in any order and are served by position. Of two entries with one position
    /// only the first is admitted: a store that hands out a message twice in one claim must not
    /// make a relay publish it twice.
    #[must_use]
    pub fn admit(entries: impl IntoIterator<Item = Entry<K, P>>) -> Self {
        let mut lane = Self {
            slots: BTreeMap::new(),
            keys: Vec::new(),
            names: HashMap::new(),
            runnable: BTreeSet::new(),
            in_flight: BTreeMap::new(),
            next_id: 0,
            released: false,
        };
        lane.admit_more(entries);
        lane
    }

    /// Admits what the holder of the lane read on, while runs may be in flight, and returns what is handed back of it at once.
    ///
    /// An entry [known](Self::knows) already is ignored. What is admitted joins its key by position, behind whatever of the key
    /// is in flight. It is handed back if the lane was [released](Self::release), or if something of its key was retried,
    /// released or held by a death and that is not settled yet: it was read before, so it may overtake that.
    pub fn admit_more(
        &mut self,
        entries: impl IntoIterator<Item = Entry<K, P>>,
    ) -> Vec<(P, Outcome)> {
        let mut entries: Vec<_> = entries.into_iter().collect();
        entries.sort_by_key(|entry| entry.position);
        let mut back = Vec::new();
        for Entry {
            position,
            key,
            kind,
        } in entries
        {
            if self.knows(position) {
                continue;
            }
            let key = key.map(|key| self.line_of(key));
            let stage = Stage::Idle;
            self.slots.insert(position, Slot { key, kind, stage });
            let ended = key.is_some_and(|key| self.keys[key].ended > 0);
            if self.released || ended {
                back.push(position);
            } else if let Some(key) = key {
                self.join(key, position);
            } else {
                self.runnable.insert(position);
            }
        }
        self.decide(&back, Outcome::Release)
    }

    fn line_of(&mut self, key: K) -> usize {
        *self.names.entry(key).or_insert_with(|| {
            self.keys.push(KeyLine::new());
            self.keys.len() - 1
        })
    }

    /// Puts an entry into the queue of its key, whose head it may become.
    fn join(&mut self, key: usize, position: P) {
        let line = &mut self.keys[key];
        let before = line.head();
        line.push(position);
        let after = line.head();
        if before != after {
            if let Some(before) = before {
                self.runnable.remove(&before);
            }
            self.runnable.extend(after);
        }
    }

    /// Whether the entry at this position was admitted and its outcome is not settled.
    #[must_use]
    pub fn knows(&self, position: P) -> bool {
        self.slots.contains_key(&position)
    }

    /// The position that the next run would begin with.
    #[must_use]
    pub fn head(&self) -> Option<P> {
        self.runnable.first().copied()
    }

    /// The positions that runs could begin with now, the lowest first.
    pub fn heads(&self) -> impl Iterator<Item = P> {
        self.runnable.iter().copied()
    }

    /// How many runs could start now.
    #[must_use]
    pub fn startable(&self) -> usize {
        self.runnable.len()
    }

    /// Starts the next run: of all that may start now, the one with the lowest position.
    ///
    /// A run of an ordering key has at most `max` messages, but always one. `None` means that
    /// nothing can start before a run completes, a death is settled or more is admitted, or ever again.
    pub fn next_run(&mut self, max: usize) -> Option<Run<P>> {
        let head = self.runnable.pop_first()?;
        let Slot { key, kind, .. } = self.slots[&head];
        let positions = match (key, kind) {
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
                    .take_while(|position| self.slots[*position].kind == EntryKind::Message)
                    .count();
                queue.drain(..len).collect()
            }
        };
        if let Some(key) = key {
            self.keys[key].runs = true;
        }
        for position in &positions {
            self.stage(*position, Stage::InFlight);
        }
        let id = RunId(self.next_id);
        self.next_id += 1;
        self.in_flight.insert(id, positions.clone());
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
        let Some(positions) = self.in_flight.remove(&run) else {
            return Vec::new();
        };
        let key = self.slots[&positions[0]].key;
        let (published, rest) = positions.split_at(confirmed.min(positions.len()));
        let mut outcomes = self.decide(published, Outcome::Published);
        if let Some(key) = key {
            self.keys[key].runs = false;
        }
        if let Some((judged, tail)) = rest.split_first() {
            let verdict = verdict.unwrap_or(Verdict::Release);
            if let Some(key) = key {
                // The tail was not tried: it is in its key's line again.
                for position in tail {
                    self.stage(*position, Stage::Idle);
                    self.keys[key].push(*position);
                }
                if verdict == Verdict::Dead(AfterDeath::Skip) {
                    self.keys[key].burying = Some(*judged);
                }
            }
            outcomes.extend(self.decide(&[*judged], verdict.outcome()));
            if let Some(key) = key
                && self.keys[key].burying.is_none()
            {
                outcomes.extend(self.hand_back(key));
            }
        }
        if let Some(key) = key {
            if self.released {
                outcomes.extend(self.hand_back(key));
            }
            self.wake(key);
        }
        // What joined the key meanwhile may stand before the run's own tail.
        outcomes.sort_by_key(|(position, _)| *position);
        outcomes
    }

    /// Takes in that the outcome of this message is recorded in the store. The next message of a
    /// key whose message died becomes runnable by it. The lane forgets the message: the store may hand it out anew.
    pub fn settled(&mut self, position: P) {
        let Some(Slot {
            key,
            stage: Stage::Decided { ends },
            ..
        }) = self.slots.get(&position)
        else {
            return;
        };
        let (key, ends) = (*key, *ends);
        self.slots.remove(&position);
        let Some(key) = key else {
            return;
        };
        let line = &mut self.keys[key];
        line.ended -= usize::from(ends);
        if line.burying == Some(position) {
            line.burying = None;
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
        let idle: Vec<P> = self
            .slots
            .iter()
            .filter(|(_, slot)| slot.stage == Stage::Idle)
            .map(|(position, _)| *position)
            .collect();
        self.decide(&idle, Outcome::Release)
    }

    /// Whether everything was handed back that had not started: nothing starts any more.
    #[must_use]
    pub fn is_released(&self) -> bool {
        self.released
    }

    /// Whether every entry has an outcome and every outcome is settled.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.slots.is_empty()
    }

    /// The number of runs in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    fn stage(&mut self, position: P, stage: Stage) {
        if let Some(slot) = self.slots.get_mut(&position) {
            slot.stage = stage;
        }
    }

    fn decide(&mut self, positions: &[P], outcome: Outcome) -> Vec<(P, Outcome)> {
        for position in positions {
            let Some(slot) = self.slots.get_mut(position) else {
                continue;
            };
            let line = slot.key.map(|key| &mut self.keys[key]);
            let ends = outcome != Outcome::Published
                && line
                    .as_ref()
                    .is_some_and(|it| it.burying != Some(*position));
            slot.stage = Stage::Decided { ends };
            if let Some(line) = line {
                line.ended += usize::from(ends);
            }
        }
        positions
            .iter()
            .map(|position| (*position, outcome))
            .collect()
    }

    /// Releases what is left of a key, which ends the key until that is settled.
    fn hand_back(&mut self, key: usize) -> Vec<(P, Outcome)> {
        let rest: Vec<P> = self.keys[key].queue.drain(..).collect();
        self.decide(&rest, Outcome::Release)
    }

    /// Makes the head of an idle key runnable.
    fn wake(&mut self, key: usize) {
        self.runnable.extend(self.keys[key].head());
    }
}

#[cfg(test)]
mod props;
#[cfg(test)]
mod tests;
