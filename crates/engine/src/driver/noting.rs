//! The small calls of the store that nothing waits for: changes of circuits, stopped topics, and upkeep.

use std::{collections::HashMap, error::Error, future::Future, sync::Arc, time::Duration};

use outbox_store::StoreError;
use tokio::{task::Id, time::Instant};
use tracing::{debug, warn};

use super::{Driver, Event, Mode, publishing::InFlight};
use crate::{circuit::Circuits, stops::Step};

/// What a small call of the store was for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Note {
    Circuit,
    Topics(Step),
    Upkeep,
}

pub(super) const UPKEEP: Duration = Duration::from_mins(1);
/// How soon upkeep goes on when a step found something: each step is bounded, and what it removes may come faster.
const UPKEEP_GOES_ON: Duration = Duration::from_secs(1);

fn may_probe(
    circuits: &Circuits,
    runs: &HashMap<Id, InFlight>,
    destination: &str,
) -> Option<Instant> {
    let next = circuits.next_probe(destination)?;
    let is_probed = runs.values().any(|run| run.goes_to(destination));
    (!is_probed).then_some(next)
}

impl Driver {
    /// Starts the next small call of the store that nothing waits for. One at a time: a change of a circuit or of a stop
    /// must not overtake the one before. A call that fails is done again at its next occasion.
    pub(super) fn start_note(&mut self) {
        if self.noting {
            return;
        }
        let (store, now) = (Arc::clone(&self.store), Instant::now());
        if let Some((_, change)) = self.changes.pop_first() {
            self.note(Note::Circuit, async move {
                store.record_circuit(&change).await.map(|()| 0)
            });
        } else if let Some(step) = self.next_step(now) {
            self.note(Note::Topics(step.clone()), async move {
                match step {
                    Step::Start(topics) => store.start_topics(&topics).await.map(|()| 0),
                    Step::Stop(stop) => store.stop_topics(&stop).await.map(|()| 0),
                    Step::Probe(_, topic) => store.probe_topic(&topic).await.map(usize::from),
                    Step::Free => store.free_topics().await,
                }
            });
        } else if self.keeps_up() && self.next_upkeep <= now {
            self.next_upkeep = now + UPKEEP;
            self.stops.free_more();
            self.note(Note::Upkeep, async move { store.maintain().await });
        }
    }

    /// When there is a note to start, if no task ends before.
    pub(super) fn note_at(&self) -> Option<Instant> {
        if self.noting {
            return None;
        }
        let step = self.stops.at(|name| self.may_probe(name));
        let upkeep = self.keeps_up().then_some(self.next_upkeep);
        step.filter(|_| self.mode != Mode::Flush)
            .into_iter()
            .chain(upkeep)
            .min()
    }

    /// Whether upkeep is this relay's business: not of one that is about to end.
    pub(super) fn keeps_up(&self) -> bool {
        self.mode == Mode::Run && self.stopping.is_none()
    }

    /// Whether this relay stops the topics whose destinations are down: only one that goes on to probe them does.
    pub(super) fn stops_topics(&self) -> bool {
        self.keeps_up() && !self.circuits.only_one()
    }

    fn next_step(&mut self, now: Instant) -> Option<Step> {
        if self.mode == Mode::Flush {
            return None;
        }
        let (circuits, runs, config) = (&self.circuits, &self.runs, &self.config);
        let next_probe = |name: &str| may_probe(circuits, runs, name);
        // Far longer than until it is told again, and than a probe and what comes of it may take.
        let lease = config.lease + config.publish_timeout + config.transient_delay;
        self.stops
            .next(now, config.transient_delay, next_probe, lease, &config.name)
    }

    /// When a message may be let through to probe a destination; none while one is on its way.
    fn may_probe(&self, destination: &str) -> Option<Instant> {
        may_probe(&self.circuits, &self.runs, destination)
    }

    /// A note says how much of its kind it has done.
    fn note(
        &mut self,
        note: Note,
        call: impl Future<Output = Result<usize, StoreError>> + Send + 'static,
    ) {
        self.noting = true;
        self.tasks
            .spawn(async move { Event::Noted(note, call.await) });
    }

    /// Takes in how a note ended. Upkeep that found something goes on soon; upkeep that keeps failing lets the database
    /// grow, which nothing else tells.
    pub(super) fn noted(&mut self, note: Note, result: Result<usize, StoreError>) {
        self.noting = false;
        match (note, result) {
            (Note::Topics(step), Ok(done)) => self.stepped(&step, done),
            (Note::Circuit, Ok(_)) | (Note::Upkeep, Ok(0)) => {}
            (Note::Upkeep, Ok(_)) => {
                self.next_upkeep = self.next_upkeep.min(Instant::now() + UPKEEP_GOES_ON);
            }
            (note, Err(error)) => self.not_noted(note, &error),
        }
        self.start_note();
    }

    fn stepped(&mut self, step: &Step, done: usize) {
        match step {
            Step::Start(_) | Step::Stop(_) => {}
            Step::Probe(destination, topic) if done == 0 => {
                self.stops
                    .nothing_to_probe(destination, topic, Instant::now());
            }
            Step::Probe(destination, topic) => {
                self.stops.let_through(destination, topic);
                self.claiming.hurry();
            }
            Step::Free => {
                self.stops.freed();
                if done > 0 {
                    self.stops.free_more();
                    self.claiming.hurry();
                }
            }
        }
    }

    fn not_noted(&mut self, note: Note, error: &StoreError) {
        let (relay, error) = (&self.config.name, error as &dyn Error);
        match note {
            Note::Upkeep => warn!(%relay, error, "the upkeep of the store failed"),
            Note::Circuit => debug!(%relay, error, "the change of a circuit was not recorded"),
            Note::Topics(Step::Free) if self.mode != Mode::Run => {
                warn!(%relay, error, "what a stopped topic set aside was not freed");
                self.stops.freed();
            }
            Note::Topics(step) => {
                warn!(%relay, error, ?step, "a stop of topics was not recorded");
                self.stops
                    .again(step, Instant::now() + self.config.transient_delay);
            }
        }
    }
}
