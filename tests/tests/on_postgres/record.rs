//! What relays, a broker, writers and operators did, as the history checker wants it: each call with the moments between which it took effect.
//!
//! All of it happens in one process, so a monotonic clock serves for all; a lease is taken to end at the earliest that it can.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fmt::Debug,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use outbox::{
    message::{LaneToken, Lanes, Message, OrderingKey, Position, Topic},
    publisher::{Published, Publisher, Run},
    store::{
        AfterDeath, CircuitChange, Claim, ClaimRequest, DestinationStop, Entry, LaneSettled,
        LaneSettlement, OutboxStore, Outcome, StoreError,
    },
};
use outbox_ordering::history::{Event, Line, What, When, check};

pub(crate) type Fact = What<OrderingKey, String, LaneToken>;

/// What happened so far. A clone shares it.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    begin: Instant,
    events: Arc<Mutex<Vec<Event<OrderingKey, String, LaneToken>>>>,
}

impl Record {
    pub(crate) fn new() -> Self {
        Self {
            begin: Instant::now(),
            events: Arc::default(),
        }
    }

    /// This moment.
    pub(crate) fn now(&self) -> i64 {
        nanos(self.begin.elapsed())
    }

    /// This happened between `begun` and now.
    pub(crate) fn since(&self, begun: i64, what: Fact) {
        self.push(Event::during(begun, self.now(), what));
    }

    /// This happens now.
    pub(crate) fn at_once(&self, what: Fact) {
        self.push(Event::at(self.now(), what));
    }

    /// A message got its position in a transaction that is still open.
    pub(crate) fn saved(&self, message: &Message, position: Position, line: Line) {
        self.at_once(What::Saved {
            message: message.id.to_string(),
            key: message.ordering_key(),
            position: position.0,
            line,
        });
    }

    /// Panics if a rule was broken, or if anything else went wrong in this run.
    pub(crate) fn judge(&self, run: &str, mut wrong: Vec<String>) {
        let mut events = self.events.lock().unwrap().clone();
        find_redriven(&mut events);
        wrong.extend(check(&events).iter().map(ToString::to_string));
        assert!(wrong.is_empty(), "{run}: {}\n{events:#?}", wrong.join("\n"));
    }

    /// How many events there are of some kinds that must not be missing.
    pub(crate) fn kinds(&self) -> BTreeMap<&'static str, usize> {
        let mut kinds = BTreeMap::new();
        for event in &*self.events.lock().unwrap() {
            let kind = match event.what {
                What::Claimed { .. } => "claims",
                What::Received { .. } => "deliveries",
                What::Failed { .. } => "failures",
                What::Lapsed { .. } => "crashes",
                What::Died { .. } => "deaths",
                What::Redriven { .. } => "redrives",
                What::Discarded { .. } => "discards",
                _ => "others",
            };
            *kinds.entry(kind).or_default() += 1;
        }
        kinds
    }

    fn push(&self, event: Event<OrderingKey, String, LaneToken>) {
        self.events.lock().unwrap().push(event);
    }
}

fn nanos(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap()
}

fn answered(when: When) -> i64 {
    match when {
        When::At(time) => time,
        When::During { answered, .. } => answered,
    }
}

/// A redrive does not say where the message went: the first claim that hands it out after it does.
fn find_redriven(events: &mut [Event<OrderingKey, String, LaneToken>]) {
    for index in 0..events.len() {
        let When::During { begun, .. } = events[index].when else {
            continue;
        };
        let What::Redriven { message, .. } = &events[index].what else {
            continue;
        };
        let places = events.iter().filter_map(|event| match &event.what {
            What::Claimed { messages, .. } if answered(event.when) > begun => {
                let (place, _) = messages.iter().find(|(_, id)| id == message)?;
                Some((answered(event.when), *place))
            }
            _ => None,
        });
        let place = places.min().map(|(_, place)| place);
        if let (Some(place), What::Redriven { position, .. }) = (place, &mut events[index].what) {
            *position = place;
        }
    }
}

/// A store that tells the record what it did.
#[derive(Debug)]
pub(crate) struct Watched<S> {
    store: S,
    record: Record,
}

impl<S> Watched<S> {
    pub(crate) fn new(store: S, record: &Record) -> Self {
        Self {
            store,
            record: record.clone(),
        }
    }
}

#[async_trait]
impl<S: OutboxStore> OutboxStore for Watched<S> {
    fn lanes(&self) -> Lanes {
        self.store.lanes()
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Claim, StoreError> {
        let begun = self.record.now();
        let claim = self.store.claim(request).await?;
        for lease in &claim.lanes {
            let of_lane = |entry: &&Entry| entry.lane() == lease.token.lane;
            let messages = claim
                .entries
                .iter()
                .filter(of_lane)
                .map(|entry| match entry {
                    Entry::Message(delivery) => {
                        (delivery.position.0, delivery.message.id.to_string())
                    }
                    Entry::Unreadable(row) => panic!("{row:?}"),
                });
            let what = What::Claimed {
                token: lease.token.clone(),
                lease_end: begun + nanos(request.lease),
                messages: messages.collect(),
            };
            self.record.since(begun, what);
        }
        Ok(claim)
    }

    async fn settle(&self, lanes: &[LaneSettlement]) -> Result<Vec<LaneSettled>, StoreError> {
        let begun = self.record.now();
        let settled = self.store.settle(lanes).await?;
        for (lane, settled) in lanes.iter().zip(&settled) {
            let token = &lane.token;
            for settlement in &lane.outcomes {
                if settled.lost || settled.missed.contains(&settlement.target.position) {
                    continue;
                }
                let message = settlement.target.id.as_ref().unwrap().to_string();
                match &settlement.outcome {
                    Outcome::Published | Outcome::Release => {}
                    Outcome::Retry { .. } => {
                        let token = token.clone();
                        self.record.since(begun, What::Failed { token, message });
                    }
                    Outcome::Dead { after, .. } => {
                        let after = policy(*after);
                        self.record.since(begun, What::Died { message, after });
                    }
                }
            }
            if lane.release && !settled.lost {
                let token = token.clone();
                self.record.since(begun, What::Released { token });
            }
        }
        Ok(settled)
    }

    async fn extend(
        &self,
        tokens: &[LaneToken],
        lease: Duration,
    ) -> Result<Vec<LaneToken>, StoreError> {
        let begun = self.record.now();
        let lost = self.store.extend(tokens, lease).await?;
        for token in tokens.iter().filter(|token| !lost.contains(token)) {
            let (token, lease_end) = (token.clone(), begun + nanos(lease));
            self.record.since(begun, What::Renewed { token, lease_end });
        }
        Ok(lost)
    }

    async fn starting(&self, token: &LaneToken, position: Position) -> Result<bool, StoreError> {
        self.store.starting(token, position).await
    }

    async fn record_circuit(&self, change: &CircuitChange) -> Result<(), StoreError> {
        self.store.record_circuit(change).await
    }

    async fn stop_topics(&self, stop: &DestinationStop) -> Result<(), StoreError> {
        self.store.stop_topics(stop).await
    }

    async fn probe_topic(&self, topic: &Topic) -> Result<bool, StoreError> {
        self.store.probe_topic(topic).await
    }

    async fn start_topics(&self, topics: &[Topic]) -> Result<(), StoreError> {
        self.store.start_topics(topics).await
    }

    async fn free_topics(&self) -> Result<usize, StoreError> {
        self.store.free_topics().await
    }

    async fn maintain(&self) -> Result<usize, StoreError> {
        self.store.maintain().await
    }

    async fn wake_up(&self) {
        self.store.wake_up().await;
    }
}

fn policy(after: AfterDeath) -> outbox_ordering::AfterDeath {
    match after {
        AfterDeath::Skip => outbox_ordering::AfterDeath::Skip,
        AfterDeath::Hold => outbox_ordering::AfterDeath::Hold,
    }
}

/// A broker that tells the record what it was handed. It loses no answers.
#[derive(Debug)]
pub(crate) struct Witness<P> {
    broker: P,
    record: Record,
}

impl<P> Witness<P> {
    pub(crate) fn new(broker: P, record: &Record) -> Self {
        Self {
            broker,
            record: record.clone(),
        }
    }
}

#[async_trait]
impl<P: Publisher> Publisher for Witness<P> {
    fn destination<'a>(&'a self, topic: &'a Topic) -> Cow<'a, str> {
        self.broker.destination(topic)
    }

    fn has_one_destination(&self) -> bool {
        self.broker.has_one_destination()
    }

    async fn publish(&self, run: Run<'_>) -> Published {
        let ids = run.messages.iter().map(|it| it.message.id.to_string());
        let ids: Vec<_> = ids.collect();
        self.record.at_once(What::HandedOver {
            token: run.token.clone(),
            messages: ids.clone(),
        });
        let begun = self.record.now();
        let published = self.broker.publish(run).await;
        for message in ids.into_iter().take(published.confirmed) {
            let token = run.token.clone();
            self.record.since(
                begun,
                What::Received {
                    message: message.clone(),
                    token: Some(token.clone()),
                },
            );
            self.record.since(begun, What::Confirmed { token, message });
        }
        published
    }
}
