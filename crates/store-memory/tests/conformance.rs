//! The reference store passes the conformance suite of all stores, with as many lanes as Postgres has and with as few as SQLite.

use std::time::Duration;

use outbox_message::{Delivery, Lanes, MessageId, Position};
use outbox_store::{Consumer, Handled, Save, SaveError, Saved};
use outbox_store_memory::{Damage, MemoryClock, MemoryConfig, MemoryStore, MemoryTx};
use outbox_testkit::{Capabilities, Corruption, Harness};

struct MemoryHarness<const LANES: u16> {
    store: MemoryStore,
}

impl<const LANES: u16> MemoryHarness<LANES> {
    fn with(config: &MemoryConfig) -> Self {
        Self {
            store: MemoryStore::with_config(&MemoryConfig {
                lanes: Lanes::new(LANES).expect("it has lanes"),
                clock: MemoryClock::Manual,
                ..config.clone()
            }),
        }
    }
}

impl<const LANES: u16> Harness for MemoryHarness<LANES> {
    type Store = MemoryStore;
    type Connection = MemoryTx;
    type Transaction = MemoryTx;

    const CAPABILITIES: Capabilities = Capabilities::SERIAL
        .with_concurrent_writers()
        .with_claims_beside_writers()
        .with_commit_order_waits();

    async fn start() -> Self {
        Self::with(&MemoryConfig::default())
    }

    async fn start_keeping(retain: Duration) -> Option<Self> {
        Some(Self::with(&MemoryConfig {
            retain: Some(retain),
            ..MemoryConfig::default()
        }))
    }

    async fn start_keeping_inbox(retain: Duration) -> Option<Self> {
        Some(Self::with(&MemoryConfig {
            retain_inbox: Some(retain),
            ..MemoryConfig::default()
        }))
    }

    async fn published(&self) -> Vec<Delivery> {
        self.store.published()
    }

    fn store(&self) -> &MemoryStore {
        &self.store
    }

    async fn begin(&self) -> MemoryTx {
        self.store.begin()
    }

    fn connection(tx: &mut MemoryTx) -> &mut MemoryTx {
        tx
    }

    async fn commit(&self, mut tx: MemoryTx) {
        tx.commit();
    }

    async fn rollback(&self, mut tx: MemoryTx) {
        tx.rollback();
    }

    async fn save_outside(&self, save: Save<'_>) -> Option<Result<Saved, SaveError>> {
        let mut ended = self.store.begin();
        ended.rollback();
        Some(self.store.save(&mut ended, save).await)
    }

    async fn once_outside(
        &self,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Option<Result<Handled, SaveError>> {
        let mut ended = self.store.begin();
        ended.rollback();
        Some(self.store.once(&mut ended, consumer, id).await)
    }

    async fn now_ms(&self) -> i64 {
        self.store.now_unix_ms()
    }

    async fn advance(&self, by: Duration) {
        self.store.advance(by);
    }

    async fn corrupt(&self, position: Position, how: Corruption) {
        let damage = match how {
            Corruption::Id => Damage::Id,
            Corruption::Topic => Damage::Topic,
            Corruption::Headers => Damage::Headers,
            Corruption::Lane => Damage::Lane,
            other => panic!("the memory store cannot spoil a row by {other:?}"),
        };
        let found = self.store.corrupt(position, damage);
        assert!(found, "position {position} is pending");
    }

    async fn delete(&self, position: Position) {
        let found = self.store.delete(position);
        assert!(found, "position {position} is pending");
    }

    async fn set_counts(&self, position: Position, attempts: u32, tries: u32) {
        let found = self.store.set_counts(position, attempts, tries);
        assert!(found, "position {position} is pending");
    }
}

mod of_64_lanes {
    outbox_testkit::conformance!(super::MemoryHarness<64>);
}

mod of_8_lanes {
    outbox_testkit::conformance!(super::MemoryHarness<8>);
}
