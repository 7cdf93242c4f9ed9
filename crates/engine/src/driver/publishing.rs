//! Starting runs, and taking in how their publish calls ended: circuits, careful service, ended leases.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use outbox_backoff::Sample;
use outbox_message::{Delivery, Lane};
use outbox_ordering::lane::{RunId, Verdict};
use outbox_store::{CircuitChange, Outcome, clean_error};
use tokio::{
    task::{AbortHandle, Id},
    time::Instant,
};
use tracing::{debug, info, warn};

use super::{Driver, Event, claiming::LEFT_OUT};
use crate::{
    RelayError,
    circuit::News,
    held::{Head, Held, run_limit},
    judge::{Circumstances, End, judge},
    serve::{Served, Service},
};

/// A publish call under way.
#[derive(Debug)]
pub(super) struct InFlight {
    lane: Lane,
    /// The claim of the lane: a call may end after its lane was given up and claimed anew.
    claim: u64,
    run: RunId,
    destination: String,
    messages: Arc<[Delivery]>,
    probe: bool,
    began: Instant,
    call: AbortHandle,
}

/// A publish call that takes longer lets its relay read on in the lane.
const SLOW: Duration = Duration::from_millis(50);

impl InFlight {
    pub(super) fn abort(&self) {
        self.call.abort();
    }

    pub(super) fn goes_to(&self, destination: &str) -> bool {
        self.destination == destination
    }
}

impl Driver {
    /// Starts runs of all held lanes in turn, one each, as long as any can start.
    pub(super) fn start_runs(&mut self) {
        let lanes: Vec<Lane> = self.held.keys().copied().collect();
        let mut started = true;
        while started {
            started = false;
            for lane in &lanes {
                started |= self.start_run(*lane);
            }
        }
    }

    /// Starts one run of a lane, or decides without one. Whether anything changed.
    fn start_run(&mut self, lane: Lane) -> bool {
        // While a lane is served carefully nothing else starts, and it starts when nothing else is in flight (contract F6).
        let careful = self.held.values().any(Held::wants_to_be_alone);
        let stops = self.stops_topics();
        let Some(held) = self.held.get_mut(&lane) else {
            return false;
        };
        if held.probe && self.probed.looks_behind_heads() {
            held.skip_probed(&self.probed);
        }
        let next = match held.head() {
            None => return false,
            Some(Head::Doomed) => {
                held.bury(&self.config);
                return true;
            }
            Some(Head::Message(delivery)) => delivery,
        };
        let alone = careful && (!held.leased.careful || !self.runs.is_empty());
        if alone || self.runs.len() >= self.config.concurrency {
            return false;
        }
        let destination = self.publisher.destination(&next.message.topic).into_owned();
        let limit = run_limit(next, self.circuits.run_limit(&destination));
        let now = Instant::now();
        match self.circuits.next_probe(&destination) {
            Some(at) if held.probe && at <= now => {
                self.spawn_run(lane, destination, 1, true);
                // One message is a probe; what was claimed behind it is given back.
                if let Some(held) = self.held.get_mut(&lane) {
                    held.release();
                }
            }
            // A probe met a destination whose turn comes soon, or comes much later: then its head is set aside below.
            Some(at) if held.probe && at <= now + self.config.transient_delay => {
                held.release();
                self.claiming.next_probe = at;
            }
            // The only destination is down: what has not started is given back, and probes are claimed one by one.
            Some(_) if !held.probe && self.circuits.all_open().is_some() => held.release(),
            Some(at) if at <= now && !self.runs.values().any(|run| run.goes_to(&destination)) => {
                self.spawn_run(lane, destination, 1, true);
            }
            Some(at) => {
                let met = next.clone();
                let Some((run, _)) = held.start(1) else {
                    return false;
                };
                // The store keeps it longer, as long as the topic is stopped; another relay may reach the destination.
                let delay = self.config.transient_delay;
                let rest = at.saturating_duration_since(now);
                let outcome = Outcome::Retry {
                    after: Some(if stops { delay } else { rest.max(delay) }),
                    counted: false,
                    error: clean_error(&format!("destination {destination} is unavailable")),
                };
                held.complete(run, 0, Some((Verdict::Retry, outcome)));
                self.stops.met(&destination, &met, now);
            }
            None => self.spawn_run(lane, destination, limit, false),
        }
        true
    }

    fn spawn_run(&mut self, lane: Lane, destination: String, limit: usize, probe: bool) {
        let Some(held) = self.held.get_mut(&lane) else {
            return;
        };
        let Some((run, messages)) = held.start(limit) else {
            return;
        };
        let service = Service {
            store: Arc::clone(&self.store),
            publisher: Arc::clone(&self.publisher),
            config: Arc::clone(&self.config),
            wall: self.wall.clone(),
            lease: held.lease,
            token: held.leased.token.clone(),
            careful: held.leased.careful,
            destination: destination.clone(),
            messages: Arc::clone(&messages),
        };
        let call = self
            .tasks
            .spawn(async move { Event::Served(service.serve().await) });
        let in_flight = InFlight {
            lane,
            claim: held.claim,
            run,
            destination,
            messages,
            probe,
            began: Instant::now(),
            call: call.clone(),
        };
        self.runs.insert(call.id(), in_flight);
    }

    fn held_of(&mut self, lane: Lane, claim: u64) -> Option<&mut Held> {
        self.held.get_mut(&lane).filter(|held| held.claim == claim)
    }

    /// Takes in that a publish call was dropped: nothing is known of its messages.
    pub(super) fn abandoned(&mut self, call: Id) {
        let Some(in_flight) = self.runs.remove(&call) else {
            return;
        };
        if let Some(held) = self.held_of(in_flight.lane, in_flight.claim) {
            held.complete(in_flight.run, 0, None);
        }
    }

    /// Takes in how a publish call ended.
    pub(super) fn served(&mut self, call: Id, served: Served) {
        let Some(in_flight) = self.runs.remove(&call) else {
            return;
        };
        let InFlight {
            lane,
            claim,
            run,
            destination,
            messages,
            probe,
            ..
        } = in_flight;
        if let Some(first) = messages.first() {
            self.stops.seen(&destination, &first.message.topic);
        }
        let confirmed = match &served.end {
            End::Answered(published) => published.confirmed,
            _ => 0,
        };
        let about = Circumstances {
            run: messages.len(),
            attempts: messages.get(confirmed).map_or(0, |failed| failed.attempts),
            probe: probe && self.circuits.only_one(),
            confirmed_since: self.circuits.confirmed_since(&destination, served.began),
            sample: Sample::from_random_bits(rand::random()),
        };
        if matches!(served.end, End::TimedOut) {
            self.circuits.timed_out(&destination, messages.len());
        }
        let judged = judge(served.end, &about, &self.config);
        if judged.confirmed > 0 {
            self.destination_confirmed(&destination, judged.confirmed, served.began);
            if self.stops_topics() {
                let confirmed = messages.iter().take(judged.confirmed);
                confirmed.for_each(|it| self.stops.confirmed_of(&it.message.topic));
            }
        }
        // However soon the message may be tried again, a destination that fails is probed once a transient delay.
        let next_probe = Instant::now() + self.config.transient_delay;
        if let Some((delay, error)) = judged.unavailable {
            let asked = Instant::now() + delay;
            // What another call was told meanwhile holds; only a probe knows better.
            let told = self.circuits.next_probe(&destination).filter(|_| !probe);
            let next_probe = asked.max(next_probe).max(told.unwrap_or(asked));
            if self.stops_topics()
                && let Some(failed) = messages.get(judged.confirmed)
            {
                self.stops
                    .failed(&destination, failed, &error, Instant::now());
            }
            self.destination_failed(&destination, next_probe, error);
            if probe && let Some(failed) = messages.get(judged.confirmed) {
                self.probed.failed(&failed.message.id);
            }
        } else if probe && judged.confirmed == 0 {
            self.circuits.postpone(&destination, next_probe);
        }
        if let Some((_, outcome)) = &judged.failure
            && let Some(failed) = messages.get(judged.confirmed)
        {
            debug!(id = %failed.message.id, topic = %failed.message.topic, ?outcome, "a message was not confirmed");
        }
        if judged.interrupted {
            self.left_out
                .insert(lane, Instant::now() + self.config.transient_delay);
        }
        if let Some(held) = self.held_of(lane, claim) {
            held.complete(run, judged.confirmed, judged.failure);
            if served.stale {
                held.end_lease();
            }
        }
        self.look_after_slow(lane);
        if let Some(error) = served.error {
            self.left_out.insert(lane, Instant::now() + LEFT_OUT);
            self.store_failed(error);
        }
        if let Some(error) = judged.closed {
            self.fail(RelayError::Closed(error));
        }
    }

    /// The lanes in which a publish call takes long.
    pub(super) fn slow_lanes(&self, now: Instant) -> BTreeSet<Lane> {
        let slow = self.runs.values().filter(|run| run.began + SLOW <= now);
        slow.map(|run| run.lane).collect()
    }

    /// Looks for more in a lane that is read on, once nothing of it is in flight but what takes long: as after a lane is given back.
    fn look_after_slow(&mut self, lane: Lane) {
        let now = Instant::now();
        let mut runs = self.runs.values().filter(|run| run.lane == lane);
        let only_slow = runs.clone().next().is_some() && runs.all(|run| run.began + SLOW <= now);
        let is_read_on = |held: &Held| held.read_at.is_some() && held.startable() == 0;
        if only_slow && self.held.get(&lane).is_some_and(is_read_on) {
            self.claiming.hurry();
        }
    }

    fn destination_confirmed(&mut self, destination: &str, count: usize, began: Instant) {
        if self.circuits.confirmed(destination, count, began.elapsed()) {
            info!(relay = %self.config.name, destination, "the destination confirms again");
            self.record_circuit(destination, None);
            self.probed.confirmed();
            self.stops.confirmed(destination);
            self.claiming.hurry();
        }
    }

    fn destination_failed(&mut self, destination: &str, next_probe: Instant, error: String) {
        let relay = &self.config.name;
        match self.circuits.failed(destination, next_probe, &error) {
            Some(News::Opened) => {
                warn!(%relay, destination, error, "the destination is unavailable");
            }
            Some(News::Reason) => {
                warn!(%relay, destination, error, "the destination is still unavailable, for another reason");
            }
            None => {}
        }
        let delay = next_probe.saturating_duration_since(Instant::now());
        self.record_circuit(destination, Some((delay, error)));
    }

    pub(super) fn record_circuit(&mut self, destination: &str, open: Option<(Duration, String)>) {
        let change = CircuitChange {
            destination: destination.to_owned(),
            relay: Arc::clone(&self.config.name),
            open,
        };
        // A change that was not recorded yet is out of date by now.
        self.changes.insert(destination.to_owned(), change);
        self.start_note();
    }

    /// Stops publishing lanes whose lease can have ended (contract D2).
    pub(super) fn end_leases(&mut self) {
        let ended: Vec<Lane> = self
            .held
            .values()
            .filter(|held| !held.over && held.lease.is_over(&self.wall))
            .map(Held::lane)
            .collect();
        for lane in ended {
            self.lose(lane, "the lease ended before it was renewed or settled");
        }
    }

    /// Gives up a lane that is, or may be, another's: its publish calls are dropped, and only what was confirmed is still recorded.
    pub(super) fn lose(&mut self, lane: Lane, why: &str) {
        warn!(relay = %self.config.name, %lane, "a lease is lost: {why}");
        self.runs
            .values()
            .filter(|run| run.lane == lane)
            .for_each(InFlight::abort);
        if let Some(held) = self.held.get_mut(&lane) {
            held.end_lease();
        }
    }
}
