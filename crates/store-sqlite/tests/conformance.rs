//! The SQLite store passes the conformance suite of all stores, on a file of its own for each test.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

use std::time::Duration;

use bytes::Bytes;
use outbox_message::{Delivery, Lane, Lanes, MessageId, Position};
use outbox_store::{Consumer, Handled, Save, SaveError, Saved, adapter::RawMessage};
use outbox_store_sqlite::{SqliteConfig, SqliteStore, connect_options};
use outbox_testkit::{Capabilities, Corruption, Harness};
use sqlx::{
    Row, Sqlite, SqliteConnection, SqlitePool, Transaction,
    sqlite::{SqliteRow, SqliteSynchronous},
};
use tempfile::TempDir;

struct SqliteHarness {
    store: SqliteStore,
    _folder: TempDir,
}

impl SqliteHarness {
    async fn with(config: SqliteConfig) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("app.db");
        // No test cuts the power.
        let options = connect_options(&format!("sqlite:{}", file.display()))
            .unwrap()
            .synchronous(SqliteSynchronous::Off);
        let pool = SqlitePool::connect_with(options.create_if_missing(true))
            .await
            .unwrap();
        SqliteStore::migrate(&pool).await.unwrap();
        Self {
            store: SqliteStore::open_with(pool, config).await.unwrap(),
            _folder: folder,
        }
    }

    fn pool(&self) -> &SqlitePool {
        self.store.pool()
    }
}

/// A row of published messages.
fn published(row: &SqliteRow) -> Delivery {
    let bytes = |column| {
        row.get_unchecked::<Option<Vec<u8>>, _>(column)
            .map(Bytes::from)
    };
    let some = |column| bytes(column).unwrap();
    let raw = RawMessage {
        lane: Lane(row.get("lane")),
        id: some("id"),
        topic: some("topic"),
        key: bytes("key"),
        headers: bytes("headers"),
        content_type: bytes("content_type"),
        payload: some("payload"),
    };
    Delivery {
        lane: raw.lane,
        position: Position(row.get("position")),
        attempts: row.get("attempts"),
        tries: row.get("tries"),
        starts: 0,
        message: raw.decode(Lanes::new(8).unwrap()).unwrap(),
    }
}

impl Harness for SqliteHarness {
    type Store = SqliteStore;
    type Connection = SqliteConnection;
    type Transaction = Transaction<'static, Sqlite>;

    const CAPABILITIES: Capabilities = Capabilities::SERIAL;

    async fn start() -> Self {
        Self::with(SqliteConfig::default()).await
    }

    async fn start_keeping(retain: Duration) -> Option<Self> {
        let config = SqliteConfig {
            retain: Some(retain),
            ..SqliteConfig::default()
        };
        Some(Self::with(config).await)
    }

    async fn start_keeping_inbox(retain: Duration) -> Option<Self> {
        let config = SqliteConfig {
            retain_inbox: Some(retain),
            ..SqliteConfig::default()
        };
        Some(Self::with(config).await)
    }

    async fn published(&self) -> Vec<Delivery> {
        let rows = sqlx::query(
            "SELECT position, lane, attempts, tries, id, topic, key, headers, content_type, payload FROM outbox_published ORDER BY position",
        );
        let rows = rows.fetch_all(self.pool()).await.unwrap();
        rows.iter().map(published).collect()
    }

    fn store(&self) -> &SqliteStore {
        &self.store
    }

    async fn begin(&self) -> Transaction<'static, Sqlite> {
        self.pool().begin_with("BEGIN IMMEDIATE").await.unwrap()
    }

    fn connection<'t>(tx: &'t mut Transaction<'static, Sqlite>) -> &'t mut SqliteConnection {
        tx
    }

    async fn commit(&self, tx: Transaction<'static, Sqlite>) {
        tx.commit().await.unwrap();
    }

    async fn rollback(&self, tx: Transaction<'static, Sqlite>) {
        tx.rollback().await.unwrap();
    }

    async fn save_outside(&self, save: Save<'_>) -> Option<Result<Saved, SaveError>> {
        let mut connection = self.pool().acquire().await.unwrap();
        Some(self.store.save(&mut connection, save).await)
    }

    async fn once_outside(
        &self,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Option<Result<Handled, SaveError>> {
        let mut connection = self.pool().acquire().await.unwrap();
        Some(self.store.once(&mut connection, consumer, id).await)
    }

    async fn now_ms(&self) -> i64 {
        sqlx::query_scalar("SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER)")
            .fetch_one(self.pool())
            .await
            .unwrap()
    }

    async fn advance(&self, by: Duration) {
        let by = i64::try_from(by.as_millis()).unwrap();
        let mut tx = self.begin().await;
        for shift in [
            "UPDATE outbox_lane SET lease_until = lease_until - ?1",
            "UPDATE outbox_message SET saved_at = saved_at - ?1",
            "UPDATE outbox_scheduled SET saved_at = saved_at - ?1",
            "UPDATE outbox_scheduled SET due_at = due_at - ?1 WHERE due_at < 9223372036854775807",
            "UPDATE outbox_topic_state SET stopped_at = stopped_at - ?1",
            "UPDATE outbox_topic_state SET until = until - ?1 WHERE until < 9223372036854775807",
            "UPDATE outbox_waiting SET saved_at = saved_at - ?1",
            "UPDATE outbox_dead SET saved_at = saved_at - ?1, died_at = died_at - ?1",
            "UPDATE outbox_blocked_key SET until = until - ?1 WHERE until < 9223372036854775807",
            "UPDATE outbox_inbox SET handled_at = handled_at - ?1",
            "UPDATE outbox_saved_id SET expires_at = expires_at - ?1",
            "UPDATE outbox_published SET saved_at = saved_at - ?1, published_at = published_at - ?1",
            "UPDATE outbox_destination_state SET open_since = open_since - ?1, next_probe = next_probe - ?1",
        ] {
            sqlx::query(shift).bind(by).execute(&mut *tx).await.unwrap();
        }
        tx.commit().await.unwrap();
    }

    async fn corrupt(&self, position: Position, how: Corruption) {
        let spoil = match how {
            Corruption::Id => [
                "UPDATE outbox_message SET id = CAST(x'FF' AS TEXT) WHERE position = ?1",
                "UPDATE outbox_waiting SET id = CAST(x'FF' AS TEXT) WHERE position = ?1",
                "UPDATE outbox_scheduled SET id = CAST(x'FF' AS TEXT) WHERE position = ?1",
            ],
            Corruption::Topic => [
                "UPDATE outbox_message SET topic = CAST(x'FFC0' AS TEXT) WHERE position = ?1",
                "UPDATE outbox_waiting SET topic = CAST(x'FFC0' AS TEXT) WHERE position = ?1",
                "UPDATE outbox_scheduled SET topic = CAST(x'FFC0' AS TEXT) WHERE position = ?1",
            ],
            Corruption::Headers => [
                "UPDATE outbox_message SET headers = '{' WHERE position = ?1",
                "UPDATE outbox_waiting SET headers = '{' WHERE position = ?1",
                "UPDATE outbox_scheduled SET headers = '{' WHERE position = ?1",
            ],
            Corruption::Lane => [
                "UPDATE outbox_message SET lane = (lane + 1) % 8 WHERE position = ?1",
                "UPDATE outbox_waiting SET lane = (lane + 1) % 8 WHERE position = ?1",
                "UPDATE outbox_scheduled SET lane = (lane + 1) % 8 WHERE position = ?1",
            ],
            other => panic!("the harness cannot spoil a row by {other:?}"),
        };
        let mut spoiled = 0;
        for statement in spoil {
            let done = sqlx::query(statement).bind(position.0).execute(self.pool());
            spoiled += done.await.unwrap().rows_affected();
        }
        assert_eq!(spoiled, 1, "position {position} is pending");
    }

    async fn delete(&self, position: Position) {
        let mut deleted = 0;
        for statement in [
            "DELETE FROM outbox_message WHERE position = ?1",
            "DELETE FROM outbox_waiting WHERE position = ?1",
            "DELETE FROM outbox_scheduled WHERE position = ?1",
        ] {
            let done = sqlx::query(statement).bind(position.0).execute(self.pool());
            deleted += done.await.unwrap().rows_affected();
        }
        assert_eq!(deleted, 1, "position {position} is pending");
    }

    async fn set_counts(&self, position: Position, attempts: u32, tries: u32) {
        let mut found = 0;
        for set in [
            "UPDATE outbox_message SET attempts = ?2, tries = ?3 WHERE position = ?1",
            "UPDATE outbox_waiting SET attempts = ?2, tries = ?3 WHERE position = ?1",
            "UPDATE outbox_scheduled SET attempts = ?2, tries = ?3 WHERE position = ?1",
        ] {
            let done = sqlx::query(set).bind(position.0).bind(attempts).bind(tries);
            found += done.execute(self.pool()).await.unwrap().rows_affected();
        }
        assert_eq!(found, 1, "position {position} is pending");
    }
}

outbox_testkit::conformance!(SqliteHarness);
