//! One round: a claim and the settlement that removes what it handed out. Also a whole drain, by a relay.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use crate::stores::Opened;
use async_trait::async_trait;
use outbox::{
    Message, Relay, Save,
    message::Topic,
    publisher::{Published, Publisher, Run},
    store::{
        Claim, ClaimRequest, Entry, LaneFilter, LaneSettlement, OutboxStore, Outcome, Settlement,
        Target,
    },
};

/// How many messages a claim takes.
pub(crate) const BATCH: u64 = 100;

/// A store to measure.
pub(crate) struct Round<O> {
    opened: O,
    request: ClaimRequest,
}

impl<O: Opened> Round<O> {
    pub(crate) fn new(opened: O) -> Self {
        let request = ClaimRequest {
            relay: Arc::from("bench"),
            limit: usize::try_from(BATCH).expect("it is a small number"),
            max_bytes: 16 << 20,
            max_lanes: 8,
            lease: Duration::from_mins(10),
            lanes: LaneFilter::All,
            read_on: Vec::new(),
        };
        Self { opened, request }
    }

    pub(crate) async fn close(self) {
        self.opened.close().await;
    }

    /// The time of so many rounds. After each, what was published is saved again, unmeasured.
    pub(crate) async fn timed(&self, rounds: u64) -> Duration {
        let mut total = Duration::ZERO;
        for _ in 0..rounds {
            let began = Instant::now();
            let claim = self
                .opened
                .store()
                .claim(&self.request)
                .await
                .expect("nobody else uses the store");
            let settlements = published(&claim);
            let settled = self
                .opened
                .store()
                .settle(&settlements)
                .await
                .expect("nobody else uses the store");
            total += began.elapsed();
            // A short line is spread thinly over many lanes, of which a claim has a few.
            assert!(
                claim.entries.len() * 4 >= self.request.limit * 3,
                "nearly a full batch"
            );
            assert!(
                settled
                    .iter()
                    .all(|lane| !lane.lost && lane.missed.is_empty())
            );
            self.save_again(&claim).await;
        }
        total
    }

    async fn save_again(&self, claim: &Claim) {
        let messages: Vec<&Message> = claim.entries.iter().filter_map(message).collect();
        let saves: Vec<Save<'_>> = messages.into_iter().map(Save::from).collect();
        self.opened.save(&saves).await;
    }

    /// The time in which a relay with its defaults, and a publisher that confirms at once, publishes everything.
    pub(crate) async fn timed_drain(&self, messages: u64) -> Duration {
        let relay = Relay::new(self.opened.store().clone(), AtOnce);
        let began = Instant::now();
        let report = relay.drain().await.expect("nobody else uses the store");
        let time = began.elapsed();
        assert_eq!(report.published, messages);
        time
    }
}

fn message(entry: &Entry) -> Option<&Message> {
    match entry {
        Entry::Message(delivery) => Some(&delivery.message),
        Entry::Unreadable(_) => None,
    }
}

/// Everything of a claim was published, and its lanes are given back.
fn published(claim: &Claim) -> Vec<LaneSettlement> {
    let mut outcomes: BTreeMap<_, Vec<Settlement>> = BTreeMap::new();
    for entry in &claim.entries {
        if let Entry::Message(delivery) = entry {
            outcomes.entry(delivery.lane).or_default().push(Settlement {
                target: Target::from(delivery),
                outcome: Outcome::Published,
            });
        }
    }
    claim
        .lanes
        .iter()
        .map(|lane| LaneSettlement {
            token: lane.token.clone(),
            outcomes: outcomes.remove(&lane.token.lane).unwrap_or_default(),
            release: true,
        })
        .collect()
}

/// A broker that confirms at once and keeps nothing.
#[derive(Debug)]
struct AtOnce;

#[async_trait]
impl Publisher for AtOnce {
    fn destination<'a>(&'a self, _: &'a Topic) -> Cow<'a, str> {
        "at once".into()
    }

    async fn publish(&self, run: Run<'_>) -> Published {
        Published::all(run)
    }
}
