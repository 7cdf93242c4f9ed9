//! A store in a schema of its own, and short words for what tests do with it.

use std::{sync::Arc, time::Duration};

use outbox_message::Message;
use outbox_store::{
    Claim, ClaimRequest, Entry, LaneFilter, LaneSettlement, OutboxStore, Outcome, Save, Settlement,
    Target,
};
use outbox_store_postgres_sqlx::{PostgresConfig, PostgresStore};
use sqlx::{
    PgPool,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use crate::schema::{TestSchema, server};

/// A store with a pool of its own, which the schema's pool looks at from outside.
pub(crate) struct Scratch {
    pub(crate) store: PostgresStore,
    pub(crate) schema: TestSchema,
}

impl Scratch {
    pub(crate) async fn new() -> Self {
        Self::with(PostgresConfig::default(), 5, |options| options).await
    }

    /// A store of which sessions, settings and the number of connections are said.
    pub(crate) async fn with(
        config: PostgresConfig,
        connections: u32,
        options: impl FnOnce(PgConnectOptions) -> PgConnectOptions,
    ) -> Self {
        let schema = TestSchema::new();
        PostgresStore::migrate_with(&schema.pool, &schema.name)
            .await
            .unwrap();
        let own = server().application_name(&format!("{}-store", schema.application));
        let pool = PgPoolOptions::new()
            .max_connections(connections)
            .connect_lazy_with(options(own));
        let config = PostgresConfig {
            schema: schema.name.clone(),
            ..config
        };
        let store = PostgresStore::open_with(pool, config).await.unwrap();
        Self { store, schema }
    }

    pub(crate) fn pool(&self) -> &PgPool {
        self.store.pool()
    }

    pub(crate) async fn save(&self, messages: &[Message]) {
        let saves: Vec<Save<'_>> = messages.iter().map(Save::from).collect();
        let mut tx = self.pool().begin().await.unwrap();
        self.store.save_all(&mut tx, &saves).await.unwrap();
        tx.commit().await.unwrap();
    }

    /// Claims and publishes until nothing is left; returns the payloads in the order of the hand-overs.
    pub(crate) async fn drain(&self) -> Vec<Vec<u8>> {
        let mut out = Vec::new();
        loop {
            let claim = self.store.claim(&request(10)).await.unwrap();
            if claim.entries.is_empty() && claim.moved == 0 {
                return out;
            }
            out.extend(payloads(&claim));
            let lanes = published(&claim);
            for settled in self.store.settle(&lanes).await.unwrap() {
                assert!(!settled.lost && settled.missed.is_empty());
            }
        }
    }

    /// Waits until no session of the store is inside a transaction, as the server sees it.
    pub(crate) async fn assert_no_transaction_is_left(&self) {
        for _ in 0..10_000 {
            if self.schema.open_transactions().await == 0 {
                return;
            }
        }
        panic!("a session stays inside a transaction");
    }

    /// How many sessions of the store wait for a lock.
    pub(crate) async fn waiting_for_locks(&self) -> i64 {
        let waiting = sqlx::query_scalar(
            "SELECT count(*) FROM pg_stat_activity
             WHERE application_name = $1 AND wait_event_type = 'Lock'",
        );
        let name = format!("{}-store", self.schema.application);
        waiting
            .bind(name)
            .fetch_one(&self.schema.pool)
            .await
            .unwrap()
    }
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

pub(crate) fn payloads(claim: &Claim) -> Vec<Vec<u8>> {
    let payload = |entry: &Entry| match entry {
        Entry::Message(delivery) => delivery.message.payload.to_vec(),
        Entry::Unreadable(row) => panic!("a row cannot be read: {}", row.error),
    };
    claim.entries.iter().map(payload).collect()
}

/// Everything of a claim as published; all lanes are given back.
pub(crate) fn published(claim: &Claim) -> Vec<LaneSettlement> {
    let outcomes = |lane| {
        let mine = claim
            .entries
            .iter()
            .filter(move |entry| entry.lane() == lane);
        mine.map(|entry| Settlement {
            target: match entry {
                Entry::Message(delivery) => Target::from(delivery),
                Entry::Unreadable(row) => Target::from(row),
            },
            outcome: Outcome::Published,
        })
    };
    let settle = |lease: &outbox_store::LaneLease| LaneSettlement {
        token: lease.token.clone(),
        release: true,
        outcomes: outcomes(lease.token.lane).collect(),
    };
    claim.lanes.iter().map(settle).collect()
}
