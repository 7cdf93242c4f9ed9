//! One store, and what its writers, relays and operators do: messages are known by their names.

use std::time::Duration;

use outbox_message::{Lanes, Message, OrderingKey, PartitionKey, Topic};
use outbox_store::{
    AfterDeath, Claim, ClaimRequest, DeadFilter, DeadPage, DeathReason, Due, Entry, LaneFilter,
    LaneSettled, LaneSettlement, OutboxOperator, OutboxStore, Outcome, Save, Settlement, Target,
};
use outbox_store_memory::{MemoryClock, MemoryConfig, MemoryStore};

pub(crate) const LEASE: Duration = Duration::from_secs(30);
pub(crate) const SECOND: Duration = Duration::from_secs(1);

pub(crate) struct Test {
    pub(crate) store: MemoryStore,
}

impl Test {
    pub(crate) fn with_lanes(lanes: u16) -> Self {
        let store = MemoryStore::with_config(&MemoryConfig {
            lanes: Lanes::new(lanes).unwrap(),
            clock: MemoryClock::Manual,
            ..MemoryConfig::default()
        });
        Self { store }
    }

    pub(crate) fn one_lane() -> Self {
        Self::with_lanes(1)
    }

    /// Saves one message per name, with the first letter as its key (`-` for none) and the name as its id.
    pub(crate) async fn save(&self, names: &[&str]) {
        for name in names {
            self.save_due(name, None).await;
        }
    }

    pub(crate) async fn save_due(&self, name: &str, due: Option<Due>) {
        self.save_sized(name, 1, due).await;
    }

    pub(crate) async fn save_sized(&self, name: &str, payload: usize, due: Option<Due>) {
        let message = message(name, payload);
        let mut tx = self.store.begin();
        let save = Save {
            due,
            ..Save::from(&message)
        };
        self.store.save(&mut tx, save).await.unwrap();
        tx.commit();
    }

    pub(crate) async fn claim(&self, limit: usize) -> Claim {
        self.claim_bytes(limit, 1 << 20).await
    }

    pub(crate) async fn claim_bytes(&self, limit: usize, max_bytes: usize) -> Claim {
        let request = ClaimRequest {
            relay: "relay".into(),
            limit,
            max_bytes,
            max_lanes: 8,
            lease: LEASE,
            lanes: LaneFilter::All,
            read_on: Vec::new(),
        };
        self.store.claim(&request).await.unwrap()
    }

    /// Settles the whole claim: the named ones as said, the rest as published.
    pub(crate) async fn settle(
        &self,
        claim: &Claim,
        outcomes: &[(&str, Outcome)],
    ) -> Vec<LaneSettled> {
        let lanes = claim.lanes.iter().map(|lease| LaneSettlement {
            token: lease.token.clone(),
            outcomes: claim
                .entries
                .iter()
                .filter(|entry| entry.lane() == lease.token.lane)
                .map(|entry| Settlement {
                    target: target(entry),
                    outcome: outcomes
                        .iter()
                        .find(|(name, _)| *name == name_of(entry))
                        .map_or(Outcome::Published, |(_, outcome)| outcome.clone()),
                })
                .collect(),
            release: true,
        });
        let lanes: Vec<_> = lanes.collect();
        self.store.settle(&lanes).await.unwrap()
    }

    pub(crate) async fn next(&self, limit: usize) -> Vec<String> {
        let claim = self.claim(limit).await;
        let all = names(&claim);
        self.settle(&claim, &[]).await;
        all
    }

    /// Claims three messages of one key that waited for a retry of the first.
    pub(crate) async fn waiting_run(&self) -> Claim {
        self.save(&["a1", "a2", "a3"]).await;
        let claim = self.claim(20).await;
        let released = ["a2", "a3"].map(|name| (name, Outcome::Release));
        let outcomes = [&[("a1", retry(SECOND))], &released[..]].concat();
        self.settle(&claim, &outcomes).await;
        assert_eq!(self.claim(20).await.moved, 2);
        self.store.advance(SECOND);
        let claim = self.claim(20).await;
        assert_eq!(names(&claim), ["a1", "a2", "a3"]);
        claim
    }

    pub(crate) async fn redrive_all(&self) -> usize {
        self.store.redrive(&all_dead()).await.unwrap().out_of_order
    }
}

pub(crate) fn message(name: &str, payload: usize) -> Message {
    let message = Message::new("t", vec![b'.'; payload]).unwrap();
    let key = Some(&name[..1]).filter(|key| *key != "-");
    message.with_key(key).unwrap().with_id(name).unwrap()
}

pub(crate) fn key(text: &str) -> OrderingKey {
    OrderingKey {
        topic: Topic::new("t").unwrap(),
        key: PartitionKey::new(text).unwrap(),
    }
}

pub(crate) fn all_dead() -> DeadPage {
    DeadPage {
        filter: DeadFilter::default(),
        after: None,
        upto: None,
        limit: 100,
    }
}

pub(crate) fn target(entry: &Entry) -> Target {
    match entry {
        Entry::Message(delivery) => Target::from(delivery),
        Entry::Unreadable(row) => Target::from(row),
    }
}

pub(crate) fn name_of(entry: &Entry) -> String {
    match entry {
        Entry::Message(delivery) => delivery.message.id.to_string(),
        Entry::Unreadable(row) => format!("unreadable {}", row.position),
    }
}

pub(crate) fn names(claim: &Claim) -> Vec<String> {
    claim.entries.iter().map(name_of).collect()
}

pub(crate) fn retry(after: Duration) -> Outcome {
    Outcome::Retry {
        after: Some(after),
        counted: true,
        error: "refused".to_owned(),
    }
}

pub(crate) fn dead(after: AfterDeath) -> Outcome {
    Outcome::Dead {
        reason: DeathReason::Permanent,
        error: "too large".to_owned(),
        after,
        notice: None,
    }
}
