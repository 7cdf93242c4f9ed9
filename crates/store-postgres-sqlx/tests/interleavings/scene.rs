//! A schema of its own for each test, in which messages are known by their payloads; its writers, and the sessions that look on.

use std::{sync::Arc, thread, time::Duration};

use outbox_message::{Lane, Message, OrderingKey, PartitionKey, Topic};
use outbox_store::{Due, Save, SaveError, Saved};
use outbox_store_postgres::{Connection, LANES, PostgresConfig, SchemaName};
use outbox_store_postgres_sqlx::PostgresStore;
use outbox_test_servers::{Cluster, Options, Postgres as Server};
use sqlx::{
    AssertSqlSafe, ConnectOptions, Executor, PgConnection, PgPool, Postgres, SqlSafeStr, SqlStr,
    Transaction,
    postgres::{PgConnectOptions, PgPoolOptions},
};
use tokio::task::JoinHandle;

use crate::relay::Relay;

pub(crate) type Tx = Transaction<'static, Postgres>;

/// The topic of every message that a test names no other for.
pub(crate) const TOPIC: &str = "orders";

/// An outbox, and the server that it is on.
pub(crate) struct Scene {
    pub(crate) name: SchemaName,
    /// For whoever looks on, or changes rows behind everybody's back.
    pub(crate) pool: PgPool,
    /// The writers' sessions.
    pub(crate) writers: PgPool,
    pub(crate) store: PostgresStore,
    pub(crate) config: PostgresConfig,
    pub(crate) server: PgConnectOptions,
    pub(crate) application: String,
    cluster: Option<Cluster>,
}

impl Scene {
    /// On the server that all tests share.
    pub(crate) async fn new() -> Self {
        Self::with(PostgresConfig::default(), None).await
    }

    /// Published messages are kept.
    pub(crate) async fn keeping() -> Self {
        let config = PostgresConfig {
            retain: Some(Duration::from_hours(24)),
            ..PostgresConfig::default()
        };
        Self::with(config, None).await
    }

    /// On a server of its own, where no other test has a transaction open: lane.floor grows at once when it may.
    pub(crate) async fn alone() -> Self {
        let settings = [("max_prepared_transactions", "5"), ("autovacuum", "off")];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let options = Options {
            settings: settings.into(),
        };
        let cluster = Server::find().unwrap().start(options).unwrap();
        Self::with(PostgresConfig::default(), Some(cluster)).await
    }

    async fn with(config: PostgresConfig, cluster: Option<Cluster>) -> Self {
        let number: u64 = rand::random();
        let url = cluster.as_ref().map_or_else(
            || {
                std::env::var("OUTBOX_TEST_POSTGRES")
                    .expect("run `cargo xtask test`, which finds or starts a server")
            },
            |cluster| cluster.url("postgres"),
        );
        let server: PgConnectOptions = url.parse().unwrap();
        let application = format!("outbox-test-{number:016x}");
        let name: SchemaName = format!("interleaved_{number:016x}").parse().unwrap();
        let pool = |role: &str| {
            let name = format!("{application}{role}");
            let options = server.clone().application_name(&name);
            PgPoolOptions::new()
                .max_connections(8)
                .connect_lazy_with(options)
        };
        let (pool, writers) = (pool(""), pool("-writer"));
        PostgresStore::migrate_with(&pool, &name).await.unwrap();
        let config = PostgresConfig {
            schema: name.clone(),
            ..config
        };
        let store = PostgresStore::open_with(writers.clone(), config.clone()).await;
        Self {
            store: store.unwrap(),
            name,
            pool,
            writers,
            config,
            server,
            application,
            cluster,
        }
    }

    /// A relay or an operator, with sessions of its own.
    pub(crate) fn relay(&self, name: &str) -> Relay {
        Relay::new(self, name, self.server.clone(), Connection::Direct)
    }

    /// The statement, in which `outbox.` stands for this schema.
    pub(crate) fn sql(&self, statement: &str) -> SqlStr {
        AssertSqlSafe(self.name.apply(statement)).into_sql_str()
    }

    pub(crate) async fn run(&self, statements: &str) {
        let done = self.pool.execute(sqlx::raw_sql(self.sql(statements)));
        done.await.unwrap();
    }

    pub(crate) async fn count(&self, statement: &str) -> i64 {
        let count = sqlx::query_scalar(self.sql(statement)).fetch_one(&self.pool);
        count.await.unwrap()
    }

    /// A writer's transaction.
    pub(crate) async fn begin(&self) -> Tx {
        self.writers.begin().await.unwrap()
    }

    /// Saves in a writer's transaction that stays open; answers the position.
    pub(crate) async fn save_in(&self, tx: &mut PgConnection, key: &str, payload: &str) -> i64 {
        let message = message(Some(key), payload);
        let saved = self.store.save(tx, Save::from(&message)).await.unwrap();
        saved.position().unwrap().0
    }

    /// Saves in a transaction of its own.
    pub(crate) async fn save(&self, key: &str, payload: &str) -> i64 {
        let mut tx = self.begin().await;
        let position = self.save_in(&mut tx, key, payload).await;
        tx.commit().await.unwrap();
        position
    }

    /// Saves messages, as pairs of key and payload, in one transaction.
    pub(crate) async fn save_all(&self, messages: &[(Option<&str>, String)]) {
        let messages: Vec<Message> = messages
            .iter()
            .map(|(key, payload)| message(*key, payload))
            .collect();
        let saves: Vec<Save<'_>> = messages.iter().map(Save::from).collect();
        let mut tx = self.begin().await;
        self.store.save_all(&mut tx, &saves).await.unwrap();
        tx.commit().await.unwrap();
    }

    /// Saves a message of another topic than all others.
    pub(crate) async fn save_other(&self, key: &str, payload: &str) {
        let other = Message::new("bills", payload.to_owned());
        let other = other.and_then(|message| message.with_key(key)).unwrap();
        let mut tx = self.begin().await;
        let saved = self.store.save(&mut tx, Save::from(&other)).await;
        saved.unwrap();
        tx.commit().await.unwrap();
    }

    /// Saves for later.
    pub(crate) async fn schedule(&self, key: &str, payload: &str, after: Duration) -> i64 {
        let message = message(Some(key), payload);
        let save = Save {
            due: Some(Due::After(after)),
            ..Save::from(&message)
        };
        let mut tx = self.begin().await;
        let saved = self.store.save(&mut tx, save).await.unwrap();
        tx.commit().await.unwrap();
        saved.position().unwrap().0
    }

    /// Begins to save in a task of its own, which gives the transaction back.
    pub(crate) fn saving(
        &self,
        mut tx: Tx,
        message: Message,
        ask: impl for<'m> FnOnce(&'m Message) -> Save<'m> + Send + 'static,
    ) -> JoinHandle<(Tx, Result<Saved, SaveError>)> {
        let store = self.store.clone();
        tokio::spawn(async move {
            let saved = store.save(&mut tx, ask(&message)).await;
            (tx, saved)
        })
    }

    /// Lets so much time pass for what is due later; leases stay.
    pub(crate) async fn pass(&self, by: Duration) {
        let by = by.as_millis();
        self.run(&format!(
            "UPDATE outbox.scheduled SET due_at = due_at - {by} * interval '1 ms' WHERE due_at < '200000-01-01 00:00:00+00';
             UPDATE outbox.topic_state SET until = until - {by} * interval '1 ms';
             UPDATE outbox.blocked_key SET until = until - {by} * interval '1 ms';
             UPDATE outbox.saved_id SET expires_at = expires_at - {by} * interval '1 ms'"
        ))
        .await;
    }

    /// Ends all leases.
    pub(crate) async fn lapse(&self) {
        self.run(
            "UPDATE outbox.lane SET lease_until = now() - interval '1 s' WHERE holder IS NOT NULL",
        )
        .await;
    }

    /// How far nothing stands in the line of a key's lane.
    pub(crate) async fn floor(&self, key: &str) -> i64 {
        let Lane(lane) = lane(key);
        self.count(&format!(
            "SELECT floor FROM outbox.lane WHERE lane = {lane}"
        ))
        .await
    }

    /// Waits until a session of this name waits for a lock, as the server sees it. The work must not end before.
    pub(crate) async fn until_it_waits<T>(&self, role: &str, work: &JoinHandle<T>) {
        let name = format!("{}{role}", self.application);
        while !self.is_waiting(&name).await {
            assert!(!work.is_finished(), "{role} waits for nobody");
            tokio::task::yield_now().await;
        }
    }

    /// Waits until the work ended or its session waits for a lock.
    pub(crate) async fn until_it_waits_or_ends<T>(&self, role: &str, work: &JoinHandle<T>) {
        let name = format!("{}{role}", self.application);
        while !work.is_finished() && !self.is_waiting(&name).await {
            tokio::task::yield_now().await;
        }
    }

    async fn is_waiting(&self, application: &str) -> bool {
        let waiting = "SELECT count(*) FROM pg_stat_activity
                       WHERE application_name = $1 AND wait_event_type = 'Lock'";
        let waiting = sqlx::query_scalar::<_, i64>(waiting).bind(application);
        waiting.fetch_one(&self.pool).await.unwrap() > 0
    }
}

impl Drop for Scene {
    /// The runtime of a test may be on its way out, and transactions still open: a thread ends its sessions and drops the schema.
    fn drop(&mut self) {
        if self.cluster.is_some() {
            return;
        }
        let drop = format!("DROP SCHEMA IF EXISTS {} CASCADE", self.name.quoted());
        let (server, application) = (self.server.clone(), self.application.clone());
        let cleaned = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = { runtime }.enable_all().build().unwrap();
            runtime.block_on(clean_up(server, drop, &application)).ok();
        });
        cleaned.join().ok();
    }
}

async fn clean_up(
    server: PgConnectOptions,
    drop: String,
    application: &str,
) -> Result<(), sqlx::Error> {
    let mut connection = server.connect().await?;
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE starts_with(application_name, $1)";
    let ended = sqlx::query(end).bind(application).execute(&mut connection);
    ended.await?;
    let settings = "SET lock_timeout = '10s'; SET client_min_messages = warning";
    connection.execute(sqlx::raw_sql(settings)).await?;
    let drop = sqlx::raw_sql(AssertSqlSafe(drop));
    connection.execute(drop).await?;
    Ok(())
}

pub(crate) fn message(key: Option<&str>, payload: &str) -> Message {
    Message::new(TOPIC, payload.to_owned())
        .and_then(|message| message.with_key(key))
        .unwrap()
}

pub(crate) fn ordering_key(key: &str) -> OrderingKey {
    OrderingKey {
        topic: Topic::new(TOPIC).unwrap(),
        key: PartitionKey::new(key).unwrap(),
    }
}

pub(crate) fn lane(key: &str) -> Lane {
    ordering_key(key).lane(LANES)
}

/// So many keys that share the lane of `key`, others than that.
pub(crate) fn keys_beside(key: &str, count: usize) -> Vec<String> {
    let all = (0..).map(|n| format!("beside-{n}"));
    let same = all.filter(|other| lane(other) == lane(key));
    same.take(count).collect()
}

/// So many keys of as many lanes, in the order of the lanes.
pub(crate) fn keys_apart(count: u16) -> Vec<String> {
    (0..count)
        .map(|number| {
            let mut all = (0..).map(|n| format!("apart-{n}"));
            all.find(|key| lane(key) == Lane(number)).unwrap()
        })
        .collect()
}

pub(crate) fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A name that relays and operators carry.
pub(crate) fn holder(name: &str) -> Arc<str> {
    Arc::from(name)
}
