//! Where messages come from: orders in a schema of Postgres, and relays to a stream, one of which dies.

use std::{env, sync::Arc};

use outbox::{
    Envelope, Outbox, Relay, RelayConfig,
    postgres_sqlx::{PostgresConfig, PostgresStore, SchemaName},
    redis::RedisPublisher,
    relay::Gate,
    store::OutboxStore,
};
use outbox_testkit::{Call, FaultyStore};
use serde::Serialize;
use sqlx::{AssertSqlSafe, PgPool};

use crate::stream::{STREAM, Stream};

pub(crate) const CUSTOMERS: [&str; 5] = ["ada", "bob", "cem", "dot", "eva"];
pub(crate) const ORDERS_EACH: i64 = 4;

pub(crate) struct Shop {
    schema: SchemaName,
    pool: PgPool,
    store: PostgresStore,
}

#[derive(Serialize)]
struct OrderCreated {
    customer: &'static str,
    number: i64,
}

/// The server that the tests share.
pub(crate) fn server() -> String {
    env::var("OUTBOX_TEST_POSTGRES")
        .expect("OUTBOX_TEST_POSTGRES names no server: run cargo xtask test")
}

/// A schema with the tables of an outbox.
pub(crate) async fn store_in(pool: &PgPool, schema: &SchemaName) -> PostgresStore {
    PostgresStore::migrate_with(pool, schema).await.unwrap();
    let config = PostgresConfig {
        schema: schema.clone(),
        ..PostgresConfig::default()
    };
    PostgresStore::open_with(pool.clone(), config)
        .await
        .unwrap()
}

/// Runs a statement in which `outbox.` stands for the schema.
pub(crate) async fn run(pool: &PgPool, schema: &SchemaName, statement: &str) {
    let statement = AssertSqlSafe(schema.apply(statement));
    sqlx::raw_sql(statement).execute(pool).await.unwrap();
}

pub(crate) async fn drop_schema(pool: &PgPool, schema: &SchemaName) {
    let statement = format!("drop schema {} cascade", schema.quoted());
    sqlx::raw_sql(AssertSqlSafe(statement))
        .execute(pool)
        .await
        .unwrap();
}

/// Settings of a relay as if in a process of its own.
pub(crate) fn config() -> RelayConfig {
    RelayConfig {
        gate: Gate::new(),
        ..RelayConfig::default()
    }
}

impl Shop {
    pub(crate) async fn open() -> Self {
        let schema: SchemaName = format!("shop_{:016x}", rand::random::<u64>())
            .parse()
            .unwrap();
        let pool = PgPool::connect(&server()).await.unwrap();
        let store = store_in(&pool, &schema).await;
        Self {
            schema,
            pool,
            store,
        }
    }

    /// Saves the orders of each customer, in turn, and returns their message ids.
    pub(crate) async fn place_orders(&self) -> Vec<String> {
        let outbox = Outbox::new(self.store.clone());
        let mut ids = Vec::new();
        for number in 0..ORDERS_EACH {
            for customer in CUSTOMERS {
                let order = OrderCreated { customer, number };
                let envelope = Envelope::make("urn:babel:orders:created", &order).unwrap();
                ids.push(envelope.id().unwrap().to_owned());
                let mut tx = self.pool.begin().await.unwrap();
                let envelope = envelope.queue(STREAM);
                outbox.write(&mut tx, envelope, customer).await.unwrap();
                tx.commit().await.unwrap();
            }
        }
        ids
    }

    /// A relay that dies when the stream has everything, and the store knows of nothing.
    pub(crate) async fn relay_and_crash(&self, url: &str, stream: &mut Stream, count: usize) {
        let store = FaultyStore::new(Arc::new(self.store.clone()));
        store.hold(Call::Settle);
        let relay = relay_to(store, url);
        let relay = tokio::spawn(async move { relay.drain().await });
        while stream.len().await < count {
            assert!(!relay.is_finished(), "the relay has ended");
        }
        relay.abort();
        assert!(relay.await.unwrap_err().is_cancelled());
        let statement = "update outbox.lane set lease_until = now() where holder is not null";
        run(&self.pool, &self.schema, statement).await;
    }

    /// Another relay.
    pub(crate) async fn relay(&self, url: &str) {
        relay_to(self.store.clone(), url).drain().await.unwrap();
    }

    pub(crate) async fn leave(self) {
        drop_schema(&self.pool, &self.schema).await;
    }
}

fn relay_to(store: impl OutboxStore, url: &str) -> Relay {
    let url = format!("{url}/?layout=stream&max_len=1000000");
    Relay::with_config(store, RedisPublisher::new(&url).unwrap(), config()).unwrap()
}
