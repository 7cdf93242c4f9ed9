//! An outbox on a server: a schema of its own with the tables, both adapters on it, and plain SQL.

use std::{env, sync::Arc, time::Duration};

use diesel_async::{
    AsyncPgConnection,
    pooled_connection::{
        AsyncDieselConnectionManager, ManagerConfig, RecyclingMethod, deadpool::Pool,
    },
};
use outbox::{
    Message, Relay, RelayConfig, Save,
    message::{Lane, Lanes, OrderingKey},
    postgres_diesel,
    postgres_sqlx::{PostgresConfig, PostgresStore, SchemaName},
    publisher::Publisher,
    relay::Gate,
    store::{OutboxOperator, OutboxStore},
};
use sqlx::{AssertSqlSafe, PgPool, postgres::PgPoolOptions};

/// How many lanes the tables have.
const LANES: Lanes = Lanes::new(64).expect("64 is not zero");

/// The topic of all messages here.
pub(crate) const TOPIC: &str = "orders";

/// A schema on a server, and the name that its sessions have there.
pub(crate) struct Place {
    pub(crate) schema: SchemaName,
    pub(crate) application: String,
    /// For writers and for whoever looks; its sessions are named otherwise than those of the stores.
    pub(crate) pool: PgPool,
    /// The writer side.
    pub(crate) writer: PostgresStore,
    url: String,
}

/// One of the adapters.
#[derive(Clone)]
pub(crate) struct Store {
    pub(crate) name: &'static str,
    pub(crate) relays: Arc<dyn OutboxStore>,
    pub(crate) people: Arc<dyn OutboxOperator>,
}

impl Store {
    /// A relay as if in a process of its own: what is served carefully elsewhere does not hold it up.
    pub(crate) fn relay(&self, publisher: impl Publisher, config: RelayConfig) -> Relay {
        let config = RelayConfig {
            gate: Gate::new(),
            ..config
        };
        Relay::with_config(Arc::clone(&self.relays), publisher, config).unwrap()
    }
}

impl Place {
    /// A schema of its own on the server that the tests share.
    pub(crate) async fn shared() -> Self {
        let schema = format!("killing {:016x}", rand::random::<u64>());
        Self::at(shared_url(), &schema).await
    }

    /// The schema of the process that has started this one.
    pub(crate) async fn of_parent(schema: &str) -> Self {
        Self::open(shared_url(), schema.parse().unwrap()).await
    }

    /// A schema on this server, with its tables.
    pub(crate) async fn at(url: String, schema: &str) -> Self {
        let schema: SchemaName = schema.parse().unwrap();
        let pool = pool(&url, 8);
        PostgresStore::migrate_with(&pool, &schema).await.unwrap();
        Self::open(url, schema).await
    }

    /// The same schema, reached by another URL.
    pub(crate) async fn moved(&self, url: String) -> Self {
        Self::open(url, self.schema.clone()).await
    }

    async fn open(url: String, schema: SchemaName) -> Self {
        let pool = pool(&url, 8);
        let writer = PostgresStore::open_with(pool.clone(), config(&schema))
            .await
            .unwrap();
        Self {
            application: format!("relays-{:016x}", rand::random::<u64>()),
            schema,
            pool,
            writer,
            url,
        }
    }

    /// The store through sqlx, with a pool of its own.
    pub(crate) async fn sqlx(&self) -> Store {
        let pool = pool(&self.relay_url(), 4);
        let store = PostgresStore::open_with(pool, config(&self.schema))
            .await
            .unwrap();
        Store {
            name: "sqlx",
            relays: Arc::new(store.clone()),
            people: Arc::new(store),
        }
    }

    /// The store through diesel, with a pool of its own.
    pub(crate) async fn diesel(&self) -> Store {
        let mut recycling = ManagerConfig::default();
        recycling.recycling_method = RecyclingMethod::Fast;
        let manager = AsyncDieselConnectionManager::<AsyncPgConnection>::new_with_config(
            self.relay_url(),
            recycling,
        );
        let pool = Pool::builder(manager).max_size(4).build().unwrap();
        let store = postgres_diesel::PostgresStore::open_with(pool, config(&self.schema))
            .await
            .unwrap();
        Store {
            name: "diesel",
            relays: Arc::new(store.clone()),
            people: Arc::new(store),
        }
    }

    /// Both adapters.
    pub(crate) async fn stores(&self) -> [Store; 2] {
        [self.sqlx().await, self.diesel().await]
    }

    fn relay_url(&self) -> String {
        format!("{}?application_name={}", self.url, self.application)
    }

    /// The statement, in which `outbox.` stands for the schema.
    pub(crate) fn sql(&self, statement: &str) -> AssertSqlSafe<String> {
        AssertSqlSafe(self.schema.apply(statement))
    }

    pub(crate) async fn run(&self, statement: &str) {
        sqlx::raw_sql(self.sql(statement))
            .execute(&self.pool)
            .await
            .unwrap();
    }

    /// The one number that a statement answers.
    pub(crate) async fn number(&self, statement: &str) -> i64 {
        sqlx::query_scalar(self.sql(statement))
            .fetch_one(&self.pool)
            .await
            .unwrap()
    }

    /// Lets every lease end.
    pub(crate) async fn end_leases(&self) {
        self.run("UPDATE outbox.lane SET lease_until = now() WHERE holder IS NOT NULL")
            .await;
    }

    pub(crate) async fn pending(&self) -> u64 {
        self.writer.status().await.unwrap().pending()
    }

    /// Saves messages, in one transaction.
    pub(crate) async fn save(&self, messages: &[Message]) {
        let saves: Vec<Save<'_>> = messages.iter().map(Save::from).collect();
        let mut tx = self.pool.begin().await.unwrap();
        self.writer.save_all(&mut tx, &saves).await.unwrap();
        tx.commit().await.unwrap();
    }

    /// Drops the schema. After a test that failed it stays to be looked at, until the server goes.
    pub(crate) async fn leave(self) {
        let drop = format!("DROP SCHEMA {} CASCADE", self.schema.quoted());
        sqlx::raw_sql(AssertSqlSafe(drop))
            .execute(&self.pool)
            .await
            .unwrap();
    }
}

fn shared_url() -> String {
    env::var("OUTBOX_TEST_POSTGRES")
        .expect("OUTBOX_TEST_POSTGRES names no server: run cargo xtask test")
}

fn config(schema: &SchemaName) -> PostgresConfig {
    PostgresConfig {
        schema: schema.clone(),
        ..PostgresConfig::default()
    }
}

fn pool(url: &str, connections: u32) -> PgPool {
    PgPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(Duration::from_secs(10))
        .connect_lazy(url)
        .unwrap()
}

/// A message of a key, with this id.
pub(crate) fn message(key: &str, id: impl Into<String>) -> Message {
    let id = id.into();
    let message = Message::new(TOPIC, id.clone()).unwrap();
    message.with_id(id).unwrap().with_key(key).unwrap()
}

/// Messages `1..=count` of a key: `<key>/00001` and so on.
pub(crate) fn run_of(key: &str, count: usize) -> Vec<Message> {
    let numbered = |number| message(key, format!("{key}/{number:05}"));
    (1..=count).map(numbered).collect()
}

/// The lane of a key.
pub(crate) fn lane(key: &str) -> Lane {
    let key = OrderingKey {
        topic: TOPIC.parse().unwrap(),
        key: key.parse().unwrap(),
    };
    key.lane(LANES)
}

/// Keys that begin with this word, each in another lane.
pub(crate) fn keys_apart(word: &str, count: usize) -> Vec<String> {
    let mut keys: Vec<String> = Vec::new();
    let mut number = 0;
    while keys.len() < count {
        let key = format!("{word}-{number}");
        if keys.iter().all(|other| lane(other) != lane(&key)) {
            keys.push(key);
        }
        number += 1;
    }
    keys
}
