//! The store itself: how it is made, how a test moves its clock, and the relay side, which hands over to the state.

use std::{
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use outbox_message::{Delivery, LaneToken, Lanes, MessageId, Position, Topic};
use outbox_store::{
    CircuitChange, Claim, ClaimRequest, Command, DestinationStop, LaneSettled, LaneSettlement,
    OutboxStore, Outcome, Settlement, StoreError,
};

use crate::{
    MemoryTx,
    clock::{Clock, millis},
    hints::WakeUp,
    state::{OpenCircuit, Retain, State},
};

/// How many remembered ids, ids of the inbox, and published messages, one step of upkeep removes at most.
const REMOVED_PER_STEP: usize = 1_000;

/// A store in memory. Clones are handles of the same store; it ends with the last of them.
#[derive(Clone)]
pub struct MemoryStore {
    pub(crate) shared: Arc<Mutex<State>>,
    lanes: Lanes,
    /// On whose behalf an operator works through this handle.
    pub(crate) command: Option<Arc<Command>>,
}

/// How a [`MemoryStore`] is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryConfig {
    /// How many lanes it has: 64, as on Postgres, unless said otherwise.
    pub lanes: Lanes,
    /// Which clock it goes by.
    pub clock: MemoryClock,
    /// How long published messages are kept; `None`, the default, drops them when they are settled.
    pub retain: Option<Duration>,
    /// How long the ids of handled messages are kept; `None`, the default, keeps them until they are forgotten by hand.
    pub retain_inbox: Option<Duration>,
}

/// The clock of a [`MemoryStore`]. [`MemoryStore::advance`] moves both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MemoryClock {
    /// The host's.
    #[default]
    System,
    /// One that stands still until it is moved. It begins at a fixed time.
    Manual,
}

impl Default for MemoryConfig {
    fn default() -> Self {
        Self {
            lanes: const { Lanes::new(64).expect("64 is not zero") },
            clock: MemoryClock::default(),
            retain: None,
            retain_inbox: None,
        }
    }
}

impl MemoryStore {
    /// Makes an empty store of 64 lanes that goes by the host's clock.
    pub fn new() -> Self {
        Self::with_config(&MemoryConfig::default())
    }

    /// Makes an empty store of 64 lanes whose clock stands still until [`advance`](Self::advance) moves it.
    pub fn manual() -> Self {
        Self::with_config(&MemoryConfig {
            clock: MemoryClock::Manual,
            ..MemoryConfig::default()
        })
    }

    /// Makes an empty store.
    pub fn with_config(config: &MemoryConfig) -> Self {
        let clock = match config.clock {
            MemoryClock::System => Clock::system(),
            MemoryClock::Manual => Clock::manual(),
        };
        let retain = Retain {
            published: config.retain,
            inbox: config.retain_inbox,
        };
        Self {
            shared: Arc::new(Mutex::new(State::new(config.lanes, clock, retain))),
            lanes: config.lanes,
            command: None,
        }
    }

    /// Begins a transaction. It never waits for another; only saves that take a lock do.
    pub fn begin(&self) -> MemoryTx {
        MemoryTx::new(self.clone())
    }

    /// Moves the store's clock forward: leases run out and messages fall due as if that time had passed.
    pub fn advance(&self, by: Duration) {
        self.with_hint(|state| state.clock.advance(by));
    }

    /// The published messages that are kept, by position, with the counters they had. None without [`MemoryConfig::retain`].
    pub fn published(&self) -> Vec<Delivery> {
        self.with(|state| state.published.list())
    }

    /// The store's time, in milliseconds since 1970-01-01 UTC.
    pub fn now_unix_ms(&self) -> i64 {
        self.with(|state| state.clock.now_ms())
    }

    /// A handle through which changes are noted in the audit.
    pub(crate) fn on_behalf(&self, command: &Command) -> Self {
        Self {
            command: Some(Arc::new(command.clone())),
            ..self.clone()
        }
    }

    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self
            .shared
            .lock()
            .expect("no code panics while it holds the state");
        work(&mut state)
    }

    /// Like [`with`](Self::with), for work after which there may be something to claim.
    pub(crate) fn with_hint<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        let (done, waiters) = self.with(|state| (work(state), state.hints.give()));
        waiters.into_iter().for_each(std::task::Waker::wake);
        done
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore")
            .field("lanes", &self.lanes)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl OutboxStore for MemoryStore {
    fn lanes(&self) -> Lanes {
        self.lanes
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Claim, StoreError> {
        // A fresh UUID is as random as a token must be.
        let drawn: Arc<str> = Arc::from(MessageId::generate().as_str());
        Ok(self.with(|state| state.claim(state.clock.now_ms(), request, &drawn)))
    }

    async fn settle(&self, lanes: &[LaneSettlement]) -> Result<Vec<LaneSettled>, StoreError> {
        let settled = self.with(|state| {
            let now = state.clock.now_ms();
            lanes.iter().map(|lane| state.settle(now, lane)).collect()
        });
        let mut outcomes = lanes.iter().flat_map(|lane| &lane.outcomes);
        let notices = |it: &Settlement| matches!(&it.outcome, Outcome::Dead { notice, .. } if notice.is_some());
        if outcomes.any(notices) {
            self.with_hint(|_| ());
        }
        Ok(settled)
    }

    async fn extend(
        &self,
        tokens: &[LaneToken],
        lease: Duration,
    ) -> Result<Vec<LaneToken>, StoreError> {
        Ok(self.with(|state| {
            let lease_until = state.clock.now_ms().saturating_add(millis(lease));
            let (held, lost): (Vec<_>, Vec<_>) =
                tokens.iter().partition(|token| state.holds(token));
            for token in held {
                state.lane_mut(token.lane).lease_until = lease_until;
            }
            lost.into_iter().cloned().collect()
        }))
    }

    async fn starting(&self, token: &LaneToken, position: Position) -> Result<bool, StoreError> {
        Ok(self.with(|state| {
            let held = state.holds(token);
            if held {
                let holders = state.starts.entry((token.lane, position)).or_default();
                holders.insert(Arc::clone(&token.holder));
            }
            held
        }))
    }

    async fn record_circuit(&self, change: &CircuitChange) -> Result<(), StoreError> {
        let at = (change.destination.clone(), Arc::clone(&change.relay));
        self.with(|state| {
            let now = state.clock.now_ms();
            match &change.open {
                None => {
                    state.circuits.remove(&at);
                }
                Some((next_probe, error)) => {
                    let circuit = state.circuits.entry(at).or_insert(OpenCircuit {
                        since: now,
                        next_probe: now,
                        error: String::new(),
                    });
                    circuit.next_probe = now.saturating_add(millis(*next_probe));
                    circuit.error.clone_from(error);
                }
            }
        });
        Ok(())
    }

    async fn stop_topics(&self, stop: &DestinationStop) -> Result<(), StoreError> {
        self.with(|state| state.stops.stop(stop, state.clock.now_ms()));
        Ok(())
    }

    async fn probe_topic(&self, topic: &Topic) -> Result<bool, StoreError> {
        Ok(self.with_hint(|state| state.probe_topic(topic, state.clock.now_ms())))
    }

    async fn start_topics(&self, topics: &[Topic]) -> Result<(), StoreError> {
        self.with_hint(|state| {
            let now = state.clock.now_ms();
            for topic in topics {
                state.stops.start(topic, now);
            }
        });
        Ok(())
    }

    async fn free_topics(&self) -> Result<usize, StoreError> {
        let freed = self.with(|state| state.free_topics(state.clock.now_ms()));
        if freed > 0 {
            self.with_hint(|_| ());
        }
        Ok(freed)
    }

    async fn maintain(&self) -> Result<usize, StoreError> {
        self.with(|state| {
            let now = state.clock.now_ms();
            let circuits = state.circuits.len();
            state
                .circuits
                .retain(|_, circuit| !circuit.is_forgotten(now));
            let circuits = circuits - state.circuits.len();
            let ids = state.saved_ids.forget(now, REMOVED_PER_STEP);
            let published = state.published.purge_retained(now, REMOVED_PER_STEP);
            let removed = circuits + ids + published;
            match state.keep_inbox(now, REMOVED_PER_STEP) {
                Ok(inbox) => Ok(removed + inbox),
                // Reported once there is nothing else to do.
                Err(_) if ids >= REMOVED_PER_STEP || published >= REMOVED_PER_STEP => Ok(removed),
                Err(refused) => Err(refused),
            }
        })
    }

    async fn wake_up(&self) {
        WakeUp::new(self).await;
    }
}
