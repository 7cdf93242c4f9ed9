//! What the relay makes of failures (F3, F4, F5), recorded in an SQLite file. How a failure is judged is tested in the engine.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

use std::time::Duration;

use outbox::{
    Message, Relay, RelayConfig, Report, Save,
    publisher::PublishErrorKind::{Rejected, TooLarge, Unavailable},
    sqlite::{SqliteStore, connect_options},
    store::{DeadFilter, DeadPage, DeadPayload, OutboxOperator},
};
use outbox_testkit::{Reply, ScriptedPublisher};
use sqlx::SqlitePool;
use tempfile::TempDir;

struct Shop {
    pool: SqlitePool,
    store: SqliteStore,
    broker: ScriptedPublisher,
    _folder: TempDir,
}

impl Shop {
    async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("shop.db").display());
        let options = connect_options(&url).unwrap().create_if_missing(true);
        let pool = SqlitePool::connect_with(options).await.unwrap();
        SqliteStore::migrate(&pool).await.unwrap();
        Self {
            store: SqliteStore::open(pool.clone()).await.unwrap(),
            broker: ScriptedPublisher::new(),
            pool,
            _folder: folder,
        }
    }

    /// Saves messages of one key with these ids.
    async fn save(&self, ids: &[&str]) {
        let mut tx = self.pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
        for id in ids {
            let message = Message::new("orders", "").unwrap().with_id(id).unwrap();
            let message = message.with_key("order-1").unwrap();
            self.store
                .save(&mut tx, Save::from(&message))
                .await
                .unwrap();
        }
        tx.commit().await.unwrap();
    }

    async fn drain(&self) -> Report {
        let config = RelayConfig {
            transient_delay: Duration::from_millis(1),
            ..RelayConfig::default()
        };
        let relay = Relay::with_config(self.store.clone(), self.broker.clone(), config).unwrap();
        relay.drain().await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f3_on_sqlite_an_outage_counts_no_attempt_and_everything_arrives_after_it() {
    let shop = Shop::open().await;
    shop.save(&["a", "b"]).await;
    shop.broker.down("broker", Unavailable);
    for _ in 0..20 {
        shop.drain().await;
    }
    let status = shop.store.status().await.unwrap();
    assert_eq!((status.pending(), status.dead), (2, 0));
    shop.broker.up("broker");
    while shop.store.status().await.unwrap().pending() > 0 {
        shop.drain().await;
    }
    assert_eq!(shop.broker.confirmed(), ["a", "b"]);
    assert!(
        shop.broker
            .handed()
            .iter()
            .all(|handed| handed.attempts == 0)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn f4_on_sqlite_an_explicit_time_is_recorded() {
    let shop = Shop::open().await;
    shop.save(&["a", "b"]).await;
    let hour = Duration::from_hours(1);
    shop.broker.on("a", [Reply::FailFor(Rejected, hour)]);
    let report = shop.drain().await;
    assert_eq!((report.retried, report.published), (1, 0));
    let status = shop.store.status().await.unwrap();
    let next_try = status.blocked_keys[0].next_try.unwrap();
    assert!(next_try <= hour && next_try > hour / 2, "{next_try:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn f5_on_sqlite_a_permanent_failure_is_a_dead_letter_at_once() {
    let shop = Shop::open().await;
    shop.save(&["a", "b"]).await;
    shop.broker.on("a", [Reply::Fail(TooLarge)]);
    let report = shop.drain().await;
    assert_eq!((report.dead, report.published), (1, 1));
    let page = DeadPage {
        filter: DeadFilter::default(),
        after: None,
        upto: None,
        limit: 10,
    };
    let dead = shop
        .store
        .dead_letters(&page, DeadPayload::Omit)
        .await
        .unwrap();
    assert_eq!(
        (dead[0].id.as_str(), dead[0].reason.as_str()),
        ("a", "permanent")
    );
}
