//! The loop of a relay: one owner of all state, which starts tasks and takes in how they ended.
//!
//! Every wait is a task (a claim, a publish call, a settlement, a renewal); the loop itself only decides. So nothing
//! is cut off in the middle by something else happening, and stopping is a state, not a cancellation.

mod claiming;
mod noting;
mod publishing;
mod recording;

use std::{
    collections::{BTreeMap, HashMap},
    future::Future,
    pin::pin,
    sync::Arc,
    time::Duration,
};

use outbox_message::{Lane, LaneToken};
use outbox_publisher::Publisher;
use outbox_store::{CircuitChange, Claim, OutboxStore, StoreError};
use tokio::{
    task::{Id, JoinError, JoinSet},
    time::{Instant, sleep_until},
};
use tracing::{info, warn};

use crate::{
    RelayConfig, RelayError, Report, Waker,
    circuit::Circuits,
    clock::{Asked, WallClock},
    held::Held,
    in_time::InTime,
    poll::Poll,
    probed::Probed,
    serve::Served,
    settle::Recorded,
    stops::Stops,
};
use claiming::Claiming;
use noting::{Note, UPKEEP};
use publishing::InFlight;
use recording::Recording;

/// When a relay is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// After one claim.
    Flush,
    /// When nothing is ready.
    Drain,
    /// When it is told to stop.
    Run,
}

/// How a task ended.
enum Event {
    Claimed(Asked, Result<Claim, StoreError>),
    Served(Served),
    Settled(Vec<Recorded>),
    Extended(Asked, Vec<LaneToken>, Result<Vec<LaneToken>, StoreError>),
    Noted(Note, Result<usize, StoreError>),
}

/// The state of one relay at work.
pub(crate) struct Driver {
    store: Arc<dyn OutboxStore>,
    publisher: Arc<dyn Publisher>,
    config: Arc<RelayConfig>,
    waker: Waker,
    wall: WallClock,
    mode: Mode,
    tasks: JoinSet<Event>,
    held: BTreeMap<Lane, Held>,
    runs: HashMap<Id, InFlight>,
    circuits: Circuits,
    probed: Probed,
    stops: Stops,
    claiming: Claiming,
    /// Lanes that are left alone until then, because something of them failed without a reason that is theirs.
    left_out: BTreeMap<Lane, Instant>,
    recording: Recording,
    /// How long to wait after a failure of the store.
    pause: Poll,
    store_is_failing: bool,
    next_upkeep: Instant,
    /// A small call of the store is under way.
    noting: bool,
    /// The newest change of each circuit that is still to be recorded.
    changes: BTreeMap<String, CircuitChange>,
    stopping: Option<Stopping>,
    fatal: Option<RelayError>,
    report: Report,
}

/// A graceful stop (contract D4).
#[derive(Debug, Clone, Copy)]
struct Stopping {
    /// Publish calls that have not ended by then are dropped, so that there is time to give their lanes back.
    abandon_at: Instant,
    end_at: Instant,
}

/// How often the wall clock is looked at while lanes are held: a suspended machine wakes no timer.
const WALL_CHECK: Duration = Duration::from_secs(1);

impl Driver {
    pub(crate) fn new(
        store: Arc<dyn OutboxStore>,
        publisher: Arc<dyn Publisher>,
        config: Arc<RelayConfig>,
        waker: Waker,
        wall: WallClock,
        mode: Mode,
    ) -> Self {
        let now = Instant::now();
        Self {
            mode,
            tasks: JoinSet::new(),
            held: BTreeMap::new(),
            runs: HashMap::new(),
            probed: Probed::default(),
            circuits: Circuits::new(
                config.batch.min(publisher.longest_run()).max(1),
                config.publish_timeout,
                publisher.has_one_destination(),
            ),
            stops: Stops::new(now, &config),
            claiming: Claiming::new(&config),
            left_out: BTreeMap::new(),
            recording: Recording::new(now),
            pause: Poll::new(config.poll_min, config.poll_max),
            store_is_failing: false,
            next_upkeep: now + UPKEEP,
            noting: false,
            changes: BTreeMap::new(),
            stopping: None,
            fatal: None,
            report: Report::default(),
            store: Arc::new(InTime::new(store, config.lease)),
            publisher,
            config,
            waker,
            wall,
        }
    }

    /// Works until it is done.
    pub(crate) async fn drive(
        mut self,
        stop: impl Future<Output = ()>,
    ) -> Result<Report, RelayError> {
        let mut stop = pin!(stop);
        let (store, waker) = (Arc::clone(&self.store), self.waker.clone());
        let mut hint = pin!(store.wake_up());
        self.log_start();
        loop {
            self.pump();
            if self.is_done() {
                break;
            }
            let listening =
                self.mode == Mode::Run && self.stopping.is_none() && self.claiming.is_idle();
            let look_again = self.next_timer();
            tokio::select! {
                biased;
                () = &mut stop, if self.stopping.is_none() => self.stop(),
                Some(ended) = self.tasks.join_next_with_id() => {
                    self.take(ended);
                    // What ended together is taken in together, so that it is settled together.
                    while let Some(ended) = self.tasks.try_join_next_with_id() {
                        self.take(ended);
                    }
                }
                () = waker.woken(), if listening => self.claiming.hurry(),
                () = &mut hint, if listening => {
                    hint.set(store.wake_up());
                    self.claiming.hurry();
                }
                () = sleep_until(look_again) => {}
            }
        }
        self.finish()
    }

    /// Starts whatever can start now.
    fn pump(&mut self) {
        let now = Instant::now();
        self.left_out.retain(|_, until| *until > now);
        if self
            .stopping
            .is_some_and(|stopping| stopping.abandon_at <= now)
        {
            self.runs.values().for_each(InFlight::abort);
        }
        self.end_leases();
        self.start_runs();
        self.start_recording(now);
        self.start_claim(now);
        self.start_note();
    }

    /// Takes in how a task ended.
    fn take(&mut self, ended: Result<(Id, Event), JoinError>) {
        match ended {
            Ok((_, Event::Claimed(asked, result))) => self.claimed(asked, result),
            Ok((id, Event::Served(served))) => self.served(id, served),
            Ok((_, Event::Settled(recorded))) => self.settled(recorded),
            Ok((_, Event::Extended(asked, tokens, result))) => {
                self.extended(asked, &tokens, result);
            }
            Ok((_, Event::Noted(note, result))) => self.noted(note, result),
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            // Only publish calls are aborted; their future is dropped by now.
            Err(error) => self.abandoned(error.id()),
        }
    }

    fn stop(&mut self) {
        let now = Instant::now();
        self.stopping.get_or_insert(Stopping {
            abandon_at: now + self.config.grace * 3 / 4,
            end_at: now + self.config.grace,
        });
        self.held.values_mut().for_each(Held::release);
    }

    /// Ends the relay with this error, as gracefully as it would be stopped.
    fn fail(&mut self, error: RelayError) {
        self.fatal.get_or_insert(error);
        self.stop();
    }

    fn is_done(&mut self) -> bool {
        let now = Instant::now();
        if let Some(stopping) = self.stopping
            && stopping.end_at <= now
        {
            return true;
        }
        let idle = self.held.is_empty() && !self.recording.under_way && self.claiming.is_idle();
        let enough = match self.mode {
            Mode::Flush => self.claiming.has_claimed(),
            Mode::Drain => {
                let exhausted = self.claiming.is_exhausted() && !self.stops.is_freeing();
                exhausted || self.circuits.all_open().is_some()
            }
            Mode::Run => false,
        };
        if !idle || !(enough || self.stopping.is_some()) {
            return false;
        }
        // Nothing is left to do but to say goodbye: a relay that has gone has no open circuits.
        self.stop();
        for destination in self.circuits.withdraw() {
            self.record_circuit(&destination, None);
        }
        self.stops.withdraw();
        self.start_note();
        self.tasks.is_empty()
    }

    fn finish(mut self) -> Result<Report, RelayError> {
        let left: usize = self.held.values().map(Held::unrecorded).sum();
        self.report.left += u64::try_from(left).unwrap_or(u64::MAX);
        if self.mode == Mode::Run {
            let report = &self.report;
            info!(
                relay = %self.config.name,
                published = report.published,
                retried = report.retried,
                dead = report.dead,
                released = report.released,
                lost = report.lost,
                left = report.left,
                store_errors = report.store_errors,
                "the relay has stopped"
            );
        }
        match self.fatal {
            Some(RelayError::Unrecorded { source, .. }) => Err(RelayError::Unrecorded {
                report: self.report,
                source,
            }),
            Some(error) => Err(error),
            None => Ok(self.report),
        }
    }

    /// When the loop must look again, if no task ends before.
    fn next_timer(&self) -> Instant {
        let now = Instant::now();
        let mut timers = vec![now + Duration::from_mins(1)];
        timers.extend(self.claim_at());
        timers.extend(self.note_at());
        timers.extend(self.record_at(now));
        timers.extend(
            self.held
                .values()
                .map(|held| held.lease.ends())
                .filter(|ends| *ends > now),
        );
        if !self.held.is_empty() {
            timers.push(now + WALL_CHECK);
        }
        if let Some(stopping) = self.stopping {
            timers.push(stopping.end_at);
            timers.extend((stopping.abandon_at > now).then_some(stopping.abandon_at));
        }
        timers.into_iter().min().unwrap_or(now)
    }

    /// Takes in that a call of the store failed: counted, logged at the first failure, and fatal if trying again cannot help.
    fn store_failed(&mut self, error: StoreError) {
        self.report.store_errors += 1;
        if !self.store_is_failing {
            self.store_is_failing = true;
            warn!(relay = %self.config.name, error = &error as &dyn std::error::Error, "the store is failing");
        }
        if !error.is_transient() {
            self.fail(RelayError::Store(error));
        }
    }

    fn store_answered(&mut self) {
        self.pause.reset();
        if std::mem::take(&mut self.store_is_failing) {
            info!(relay = %self.config.name, "the store answers again");
        }
    }

    fn log_start(&self) {
        if self.mode == Mode::Run {
            let config = &self.config;
            info!(
                relay = %config.name,
                batch = config.batch,
                batch_bytes = config.batch_bytes,
                concurrency = config.concurrency,
                max_lanes = config.max_lanes,
                lease = ?config.lease,
                renewal = ?config.renewal,
                publish_timeout = ?config.publish_timeout,
                poll_min = ?config.poll_min,
                poll_max = ?config.poll_max,
                grace = ?config.grace,
                max_attempts = config.max_attempts,
                backoff = %config.backoff,
                transient_delay = ?config.transient_delay,
                max_retry_after = ?config.max_retry_after,
                careful_limit = config.careful_limit,
                after_death = config.after_death.as_str(),
                "the relay starts"
            );
        }
    }
}
