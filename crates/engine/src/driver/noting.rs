//! The small calls of the store that nothing waits for: changes of circuits, and upkeep.

use std::{error::Error, future::Future, sync::Arc, time::Duration};

use outbox_store::StoreError;
use tokio::time::Instant;
use tracing::{debug, warn};

use super::{Driver, Event, Mode};

/// What a small call of the store was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Note {
    Circuit,
    Upkeep,
}

pub(super) const UPKEEP: Duration = Duration::from_mins(1);
/// How soon upkeep goes on when a step found something: each step is bounded, and what it removes may come faster.
const UPKEEP_GOES_ON: Duration = Duration::from_secs(1);

impl Driver {
    /// Starts the next small call of the store that nothing waits for. One at a time: a change of a circuit must not
    /// overtake the one before. A call that fails is done again at its next occasion.
    pub(super) fn start_note(&mut self) {
        if self.noting {
            return;
        }
        let store = Arc::clone(&self.store);
        if let Some((_, change)) = self.changes.pop_first() {
            self.note(Note::Circuit, async move {
                store.record_circuit(&change).await.map(|()| 0)
            });
        } else if self.keeps_up() && self.next_upkeep <= Instant::now() {
            self.next_upkeep = Instant::now() + UPKEEP;
            self.note(Note::Upkeep, async move { store.maintain().await });
        }
    }

    /// Whether upkeep is this relay's business: not of one that is about to end.
    pub(super) fn keeps_up(&self) -> bool {
        self.mode == Mode::Run && self.stopping.is_none()
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
        match result {
            Ok(0) => {}
            Ok(_) => self.next_upkeep = self.next_upkeep.min(Instant::now() + UPKEEP_GOES_ON),
            Err(error) => {
                let (relay, error) = (&self.config.name, &error as &dyn Error);
                match note {
                    Note::Upkeep => warn!(%relay, error, "the upkeep of the store failed"),
                    Note::Circuit => {
                        debug!(%relay, error, "the change of a circuit was not recorded");
                    }
                }
            }
        }
        self.start_note();
    }
}
