//! Random interleavings of a lane, judged by a referee that knows only the promises and keeps its
//! own books.

use proptest::prelude::*;

use super::*;

type Key = u8;

#[derive(Debug, Clone, Copy)]
enum Action {
    Start {
        max: usize,
    },
    Complete {
        pick: usize,
        confirmed: usize,
        verdict: Option<Verdict>,
    },
    Settle {
        pick: usize,
    },
    /// The holder reads on: some of what came later, or came back.
    Admit {
        pick: usize,
        count: usize,
    },
    Release,
}

fn verdict() -> impl Strategy<Value = Option<Verdict>> {
    prop_oneof![
        4 => Just(None),
        2 => Just(Some(Verdict::Retry)),
        2 => Just(Some(Verdict::Dead(AfterDeath::Skip))),
        1 => Just(Some(Verdict::Dead(AfterDeath::Hold))),
        1 => Just(Some(Verdict::Release)),
    ]
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        20 => (0..5_usize).prop_map(|max| Action::Start { max }),
        20 => (any::<usize>(), 0..6_usize, verdict())
            .prop_map(|(pick, confirmed, verdict)| Action::Complete { pick, confirmed, verdict }),
        15 => any::<usize>().prop_map(|pick| Action::Settle { pick }),
        8 => (any::<usize>(), 1..6_usize)
            .prop_map(|(pick, count)| Action::Admit { pick, count }),
        1 => Just(Action::Release),
    ]
}

fn entries() -> impl Strategy<Value = Vec<Entry<Key, usize>>> {
    let entry = (
        prop::option::weighted(0.8, 0..4_u8),
        prop::bool::weighted(0.1),
    );
    prop::collection::vec(entry, 0..30).prop_map(|entries| {
        let entries = entries.into_iter().enumerate();
        entries
            .map(|(position, (key, unreadable))| {
                let kind = if unreadable {
                    EntryKind::Unreadable
                } else {
                    EntryKind::Message
                };
                Entry {
                    position,
                    key,
                    kind,
                }
            })
            .collect()
    })
}

/// What the referee knows of one entry.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Seen {
    /// In the store, not in the lane: it came later, or it was given back.
    Away,
    Nothing,
    Started,
    Confirmed,
    Retried,
    Released,
    Dying(AfterDeath),
    Buried,
}

struct Referee {
    entries: Vec<Entry<Key, usize>>,
    seen: Vec<Seen>,
    unsettled: Vec<usize>,
    runs: Vec<Run<usize>>,
    released: bool,
}

impl Referee {
    fn earlier_of_key(&self, position: usize) -> impl Iterator<Item = Seen> + '_ {
        let key = self.entries[position].key;
        let earlier = (0..position).filter(move |at| key.is_some() && self.entries[*at].key == key);
        earlier.map(|at| self.seen[at])
    }

    fn of_key(&self, position: usize) -> impl Iterator<Item = Seen> + '_ {
        let key = self.entries[position].key;
        let of_key =
            (0..self.entries.len()).filter(move |at| key.is_some() && self.entries[*at].key == key);
        of_key.map(|at| self.seen[at])
    }

    /// What the promises allow to start: nothing of its key is in flight or not settled well, and it is the first of those that
    /// are there and have not started.
    fn may_start(&self, position: usize) -> bool {
        let through = |seen| matches!(seen, Seen::Away | Seen::Confirmed | Seen::Buried);
        let idle = |seen| seen == Seen::Nothing || through(seen);
        !self.released
            && self.seen[position] == Seen::Nothing
            && self.earlier_of_key(position).all(through)
            && self.of_key(position).all(idle)
    }

    /// Whether something of its key was given up on or given back, and that is not settled.
    fn has_ended(&self, position: usize) -> bool {
        self.of_key(position).any(|seen| {
            matches!(
                seen,
                Seen::Retried | Seen::Released | Seen::Dying(AfterDeath::Hold)
            )
        })
    }

    fn started(&mut self, run: Run<usize>, max: usize) -> Result<(), TestCaseError> {
        let head = run.positions[0];
        prop_assert!(run.positions.len() <= max.max(1));
        prop_assert!(
            self.may_start(head),
            "{head} may not start: {:?}",
            self.seen
        );
        prop_assert!(
            (0..head).all(|lower| !self.may_start(lower)),
            "{head} is not the lowest"
        );
        for (at, position) in run.positions.iter().enumerate() {
            let entry = &self.entries[*position];
            prop_assert_eq!(entry.kind, run.kind);
            prop_assert_eq!(entry.key, self.entries[head].key);
            prop_assert!(at == 0 || (entry.key.is_some() && entry.kind == EntryKind::Message));
            // Everything of the key before it is through or goes with it.
            let open = self
                .earlier_of_key(*position)
                .filter(|seen| *seen == Seen::Started);
            prop_assert_eq!(open.count(), at);
            let passed = self
                .earlier_of_key(*position)
                .any(|seen| seen == Seen::Nothing);
            prop_assert!(!passed, "{position} goes before one of its key");
            prop_assert_eq!(self.seen[*position], Seen::Nothing);
            self.seen[*position] = Seen::Started;
        }
        self.runs.push(run);
        Ok(())
    }

    fn decided(&mut self, position: usize, seen: Seen) -> Result<(), TestCaseError> {
        prop_assert!(
            matches!(self.seen[position], Seen::Started | Seen::Nothing),
            "{position} got a second outcome"
        );
        self.seen[position] = seen;
        self.unsettled.push(position);
        Ok(())
    }

    fn completed(
        &mut self,
        run: &Run<usize>,
        confirmed: usize,
        verdict: Option<Verdict>,
        outcomes: &[(usize, Outcome)],
    ) -> Result<(), TestCaseError> {
        prop_assert!(outcomes.is_sorted_by_key(|(position, _)| *position));
        let judged = run.positions.get(confirmed).copied();
        for (at, position) in run.positions.iter().enumerate() {
            let outcome = outcomes
                .iter()
                .find(|(of, _)| of == position)
                .map(|(_, outcome)| *outcome);
            match at.cmp(&confirmed) {
                std::cmp::Ordering::Less => prop_assert_eq!(outcome, Some(Outcome::Published)),
                std::cmp::Ordering::Equal => {
                    let verdict = verdict.unwrap_or(Verdict::Release);
                    prop_assert_eq!(outcome, Some(verdict.outcome()));
                }
                // It was not tried, so it may start again; or it is handed back below.
                std::cmp::Ordering::Greater => self.seen[*position] = Seen::Nothing,
            }
        }
        for (position, outcome) in outcomes {
            let seen = match (outcome, verdict) {
                (Outcome::Published, _) => Seen::Confirmed,
                (Outcome::Retry, _) => Seen::Retried,
                (Outcome::Dead, Some(Verdict::Dead(after))) => Seen::Dying(after),
                (Outcome::Dead, _) => return Err(TestCaseError::fail("a death without a verdict")),
                (Outcome::Release, _) => Seen::Released,
            };
            let of_run = run.positions.contains(position);
            let of_key = self.entries[*position].key == self.entries[run.positions[0]].key;
            prop_assert!(of_run || (of_key && self.entries[*position].key.is_some()));
            self.decided(*position, seen)?;
        }
        if let Some(judged) = judged
            && self.seen[judged] != Seen::Dying(AfterDeath::Skip)
        {
            prop_assert!(!self.of_key(judged).any(|seen| seen == Seen::Nothing));
        }
        Ok(())
    }

    fn settle(&mut self, lane: &mut Lane<Key, usize>, at: usize) {
        let position = self.unsettled.swap_remove(at);
        self.seen[position] = match self.seen[position] {
            Seen::Dying(AfterDeath::Skip) => Seen::Buried,
            Seen::Confirmed => Seen::Confirmed,
            // The store may hand it out again, in its time.
            _ => Seen::Away,
        };
        lane.settled(position);
    }

    fn take(&mut self, lane: &mut Lane<Key, usize>, action: Action) -> Result<(), TestCaseError> {
        match action {
            Action::Start { max } => {
                if let Some(run) = lane.next_run(max) {
                    self.started(run, max)?;
                } else {
                    let idle = (0..self.entries.len()).find(|at| self.may_start(*at));
                    prop_assert_eq!(idle, None, "nothing was started");
                }
            }
            Action::Complete {
                pick,
                confirmed,
                verdict,
            } if !self.runs.is_empty() => {
                let run = self.runs.swap_remove(pick % self.runs.len());
                let outcomes = lane.complete(run.id, confirmed, verdict);
                self.completed(&run, confirmed, verdict, &outcomes)?;
            }
            Action::Settle { pick } if !self.unsettled.is_empty() => {
                self.settle(lane, pick % self.unsettled.len());
            }
            Action::Release => {
                self.released = true;
                for (position, outcome) in lane.release() {
                    prop_assert_eq!(outcome, Outcome::Release);
                    prop_assert_eq!(self.seen[position], Seen::Nothing);
                    self.decided(position, Seen::Released)?;
                }
            }
            Action::Admit { pick, count } if !self.entries.is_empty() => {
                let len = self.entries.len();
                let picked = (0..count).map(|at| (pick % len + at * 7) % len);
                let gone = |at: &usize| {
                    matches!(self.seen[*at], Seen::Confirmed | Seen::Buried)
                        && !self.unsettled.contains(at)
                };
                let picked: Vec<usize> = picked.filter(|at| !gone(at)).collect();
                let entries = picked.iter().map(|at| self.entries[*at].clone());
                let back = lane.admit_more(entries.collect::<Vec<_>>());
                let mut fresh: Vec<usize> = picked
                    .into_iter()
                    .filter(|at| self.seen[*at] == Seen::Away)
                    .collect();
                fresh.sort_unstable();
                fresh.dedup();
                let ended: Vec<usize> = fresh
                    .iter()
                    .copied()
                    .filter(|at| self.released || self.has_ended(*at))
                    .collect();
                for at in fresh {
                    self.seen[at] = Seen::Nothing;
                }
                let expected: Vec<_> = ended.iter().map(|at| (*at, Outcome::Release)).collect();
                prop_assert_eq!(back, expected);
                for at in ended {
                    self.decided(at, Seen::Released)?;
                }
            }
            Action::Complete { .. } | Action::Settle { .. } | Action::Admit { .. } => {}
        }
        let open = self
            .seen
            .iter()
            .filter(|seen| matches!(seen, Seen::Nothing | Seen::Started));
        prop_assert_eq!(lane.is_done(), open.count() + self.unsettled.len() == 0);
        prop_assert_eq!(lane.in_flight(), self.runs.len());
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// O3, O4, O5, O6, O9: nothing starts that may not, what may start does, and after any
    /// beginning the lane can be driven to its end, each entry with exactly one outcome each time it was admitted.
    #[test]
    fn o5_a_lane_keeps_its_promises_in_every_interleaving(
        entries in entries(),
        late in prop::collection::vec(prop::bool::weighted(0.3), 30),
        actions in prop::collection::vec(action(), 0..80),
    ) {
        let seen: Vec<Seen> = entries
            .iter()
            .zip(late)
            .map(|(_, late)| if late { Seen::Away } else { Seen::Nothing })
            .collect();
        let there = entries.iter().zip(&seen).filter(|(_, seen)| **seen == Seen::Nothing);
        let mut lane = Lane::admit(there.map(|(entry, _)| entry.clone()));
        let mut referee =
            Referee { entries, seen, unsettled: Vec::new(), runs: Vec::new(), released: false };
        for action in actions {
            referee.take(&mut lane, action)?;
        }
        // Each entry needs at most one start, one completion and one settlement, and one of the
        // three is always possible.
        for _ in 0..3 * referee.entries.len() {
            for action in [
                Action::Start { max: 1 },
                Action::Complete { pick: 0, confirmed: 9, verdict: None },
                Action::Settle { pick: 0 },
            ] {
                referee.take(&mut lane, action)?;
            }
        }
        prop_assert!(lane.is_done(), "{:?}", referee.seen);
    }
}
