//! A store in a file of its own, and short words for what tests do with it.

use std::{path::PathBuf, sync::Arc, time::Duration};

use outbox_message::{Delivery, Message, Position};
use outbox_store::{
    Claim, ClaimRequest, Entry, LaneFilter, LaneSettled, LaneSettlement, OutboxStore, Outcome,
    Save, Settlement, Target,
};
use outbox_store_sqlite::{SqliteStore, connect_options};
use sqlx::{SqlitePool, sqlite::SqlitePoolOptions};
use tempfile::TempDir;

pub(crate) struct Scratch {
    pub(crate) folder: TempDir,
    pub(crate) pool: SqlitePool,
    pub(crate) store: SqliteStore,
}

impl Scratch {
    pub(crate) async fn new() -> Self {
        Self::with_connections(12).await
    }

    pub(crate) async fn with_connections(most: u32) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = connect_options(&url(&folder)).unwrap();
        let pool = SqlitePoolOptions::new()
            .max_connections(most)
            .connect_with(options.create_if_missing(true))
            .await
            .unwrap();
        SqliteStore::migrate(&pool).await.unwrap();
        let store = SqliteStore::open(pool.clone()).await.unwrap();
        Self {
            folder,
            pool,
            store,
        }
    }

    /// A pool of its own on the same file, as another process has it.
    pub(crate) async fn another(&self) -> SqliteStore {
        let pool = SqlitePool::connect_with(connect_options(&url(&self.folder)).unwrap())
            .await
            .unwrap();
        SqliteStore::open(pool).await.unwrap()
    }

    pub(crate) async fn save(&self, messages: &[Message]) {
        let saves: Vec<Save<'_>> = messages.iter().map(Save::from).collect();
        let mut tx = self.pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
        self.store.save_all(&mut tx, &saves).await.unwrap();
        tx.commit().await.unwrap();
    }

    pub(crate) async fn claim(&self, limit: usize) -> Claim {
        self.store.claim(&request(limit)).await.unwrap()
    }

    pub(crate) async fn sql(&self, statement: &'static str) {
        sqlx::raw_sql(statement).execute(&self.pool).await.unwrap();
    }

    pub(crate) async fn count(&self, statement: &'static str) -> i64 {
        sqlx::query_scalar(statement)
            .fetch_one(&self.pool)
            .await
            .unwrap()
    }

    /// Settles all of a claim with the same outcome and gives its lanes back.
    pub(crate) async fn settle(&self, claim: &Claim, outcome: &Outcome) -> Vec<LaneSettled> {
        let lanes = settlements(claim, |_| outcome.clone());
        self.store.settle(&lanes).await.unwrap()
    }

    /// Claims and publishes until nothing is left; returns the payloads in the order of the hand-overs.
    pub(crate) async fn drain(&self, limit: usize) -> Vec<Vec<u8>> {
        let mut out = Vec::new();
        loop {
            let claim = self.claim(limit).await;
            if claim.entries.is_empty() && claim.moved == 0 {
                return out;
            }
            out.extend(deliveries(&claim).map(|delivery| delivery.message.payload.to_vec()));
            self.settle(&claim, &Outcome::Published).await;
        }
    }
}

pub(crate) fn file(folder: &TempDir) -> PathBuf {
    folder.path().join("app.db")
}

pub(crate) fn url(folder: &TempDir) -> String {
    format!("sqlite:{}", file(folder).display())
}

pub(crate) fn request(limit: usize) -> ClaimRequest {
    ClaimRequest {
        relay: Arc::from("relay"),
        limit,
        max_bytes: 16 << 20,
        max_lanes: 8,
        lease: Duration::from_secs(30),
        lanes: LaneFilter::All,
        read_on: Vec::new(),
    }
}

pub(crate) fn message(key: Option<&str>, payload: impl Into<Vec<u8>>) -> Message {
    Message::new("orders", payload.into())
        .unwrap()
        .with_key(key)
        .unwrap()
}

pub(crate) fn deliveries(claim: &Claim) -> impl Iterator<Item = &Delivery> {
    claim.entries.iter().filter_map(|entry| match entry {
        Entry::Message(delivery) => Some(delivery),
        Entry::Unreadable(_) => None,
    })
}

pub(crate) fn positions(claim: &Claim) -> Vec<i64> {
    claim
        .entries
        .iter()
        .map(|entry| entry.position().0)
        .collect()
}

/// An outcome for each entry of a claim, lane by lane; all lanes are given back.
pub(crate) fn settlements(
    claim: &Claim,
    outcome: impl Fn(Position) -> Outcome,
) -> Vec<LaneSettlement> {
    claim
        .lanes
        .iter()
        .map(|lease| LaneSettlement {
            token: lease.token.clone(),
            release: true,
            outcomes: claim
                .entries
                .iter()
                .filter(|entry| entry.lane() == lease.token.lane)
                .map(|entry| Settlement {
                    target: match entry {
                        Entry::Message(delivery) => Target::from(delivery),
                        Entry::Unreadable(row) => Target::from(row),
                    },
                    outcome: outcome(entry.position()),
                })
                .collect(),
        })
        .collect()
}

pub(crate) fn retry(seconds: u64) -> Outcome {
    Outcome::Retry {
        after: Some(Duration::from_secs(seconds)),
        counted: true,
        error: "refused".into(),
    }
}
