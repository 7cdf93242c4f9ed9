//! One round: a claim and the settlement that removes what it handed out. Also a whole drain, by a relay.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use outbox::{
    Message, Relay, Report, Save,
    message::Topic,
    publisher::{Published, Publisher, Run},
    sqlite::SqliteStore,
    store::{
        Claim, ClaimRequest, Entry, LaneFilter, LaneSettlement, OutboxStore, Outcome, Settlement,
        Target,
    },
};
use sqlx::SqlitePool;

use crate::files::{Copied, connect};

/// How many messages a claim takes.
pub(crate) const BATCH: u64 = 100;

/// An open file.
pub(crate) struct Round {
    pool: SqlitePool,
    store: SqliteStore,
    request: ClaimRequest,
}

impl Round {
    pub(crate) async fn open(file: &Copied) -> Self {
        let pool = connect(&file.path).await;
        let store = SqliteStore::open(pool.clone())
            .await
            .expect("the file is one of ours");
        let request = ClaimRequest {
            relay: Arc::from("bench"),
            limit: usize::try_from(BATCH).expect("it is a small number"),
            max_bytes: 16 << 20,
            max_lanes: 8,
            lease: Duration::from_mins(10),
            lanes: LaneFilter::All,
        };
        Self {
            pool,
            store,
            request,
        }
    }

    pub(crate) async fn close(self) {
        self.pool.close().await;
    }

    /// The time of so many rounds. After each, what was published is saved again, unmeasured.
    pub(crate) async fn timed(&self, rounds: u64) -> Duration {
        let mut total = Duration::ZERO;
        for _ in 0..rounds {
            let began = Instant::now();
            let claim = self
                .store
                .claim(&self.request)
                .await
                .expect("nobody else uses the file");
            let settlements = published(&claim);
            let settled = self
                .store
                .settle(&settlements)
                .await
                .expect("nobody else uses the file");
            total += began.elapsed();
            assert_eq!(claim.entries.len(), self.request.limit, "a full batch");
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
        let mut tx = self
            .pool
            .begin_with("BEGIN IMMEDIATE")
            .await
            .expect("nobody else writes");
        self.store
            .save_all(&mut tx, &saves)
            .await
            .expect("they were saved before");
        tx.commit().await.expect("nobody else writes");
    }

    /// Publishes everything, by a relay with its defaults and a publisher that confirms at once.
    pub(crate) async fn drain(&self) -> Report {
        let relay = Relay::new(self.store.clone(), AtOnce);
        relay.drain().await.expect("nobody else uses the file")
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
    fn destination(&self, _: &Topic) -> &'static str {
        "at once"
    }

    async fn publish(&self, run: Run<'_>) -> Published {
        Published::all(run)
    }
}
