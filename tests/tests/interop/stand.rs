//! An outbox in Postgres, and a relay that publishes what is in it.

use outbox::{
    Message, Outbox, Relay, Save,
    postgres_sqlx::{PostgresConfig, PostgresStore},
    publisher::Publisher,
};

use crate::schema::{self, TestSchema};

/// An outbox in a schema of its own.
pub(crate) struct Stand {
    pub(crate) schema: TestSchema,
    store: PostgresStore,
}

impl Stand {
    pub(crate) async fn new() -> Self {
        let schema = TestSchema::at(schema::server());
        PostgresStore::migrate_with(&schema.pool, &schema.name)
            .await
            .unwrap();
        let config = PostgresConfig {
            schema: schema.name.clone(),
            ..PostgresConfig::default()
        };
        let store = PostgresStore::open_with(schema.pool.clone(), config)
            .await
            .unwrap();
        Self { schema, store }
    }

    /// Saves messages in one transaction.
    pub(crate) async fn save(&self, messages: &[Message]) {
        let outbox = Outbox::new(self.store.clone());
        let saves: Vec<_> = messages.iter().map(Save::from).collect();
        let mut tx = self.schema.pool.begin().await.unwrap();
        outbox.save_all(&mut tx, &saves).await.unwrap();
        tx.commit().await.unwrap();
    }

    /// Publishes all that was saved, and says how many messages that were.
    pub(crate) async fn publish(&self, publisher: impl Publisher) -> u64 {
        let relay = Relay::new(self.store.clone(), publisher);
        let report = relay.drain().await.unwrap();
        assert_eq!(report.dead, 0, "{report:?}");
        let pending = self.pending_ids().await;
        assert!(pending.is_empty(), "{report:?}, {pending:?}");
        report.published
    }

    /// The ids of what is saved and not published, in the order of saving.
    pub(crate) async fn pending_ids(&self) -> Vec<String> {
        let ids = self
            .schema
            .sql("SELECT id FROM outbox.pending ORDER BY position");
        let ids = sqlx::query_scalar(ids).fetch_all(&self.schema.pool);
        ids.await.unwrap()
    }
}
