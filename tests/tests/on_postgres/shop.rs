//! An application with an outbox in a schema of its own, and the relays that serve it, each with its own pool.

use std::time::Duration;

use outbox::{
    Key, Message, Relay, RelayConfig, Report, Save,
    postgres_sqlx::{PostgresConfig, PostgresStore},
    publisher::PublishErrorKind::{Rejected, Unavailable},
    relay::RelayError,
    store::{OutboxOperator, Status},
};
use outbox_testkit::{Reply, ScriptedPublisher};
use sqlx::{Postgres, Transaction, postgres::PgConnectOptions};
use tokio::{sync::watch, task::JoinHandle, time::timeout};

use crate::{
    dice::Dice,
    schema::{self, TestSchema},
};

/// Far more than anything here takes: what does not happen until then never will.
const NEVER: Duration = Duration::from_mins(5);

/// An application, its outbox and its broker.
#[derive(Debug)]
pub(crate) struct Shop {
    pub(crate) schema: TestSchema,
    pub(crate) store: PostgresStore,
    pub(crate) broker: ScriptedPublisher,
}

impl Shop {
    pub(crate) async fn open() -> Self {
        Self::open_with(PostgresConfig::default()).await
    }

    /// The same with other settings; the schema is named here.
    pub(crate) async fn open_with(config: PostgresConfig) -> Self {
        Self::open_at(schema::server(), config).await
    }

    /// The same in the database, and with the sessions, that these options name.
    pub(crate) async fn open_at(options: PgConnectOptions, config: PostgresConfig) -> Self {
        let schema = TestSchema::at(options);
        let config = PostgresConfig {
            schema: schema.name.clone(),
            ..config
        };
        PostgresStore::migrate_with(&schema.pool, &schema.name)
            .await
            .unwrap();
        let store = PostgresStore::open_with(schema.pool.clone(), config).await;
        Self {
            store: store.unwrap(),
            broker: ScriptedPublisher::new(),
            schema,
        }
    }

    /// The same outbox through a pool of its own, whose sessions bear the name.
    pub(crate) async fn store_of(&self, name: &str) -> PostgresStore {
        self.store_with(name, 10).await
    }

    /// The same with so many connections at most.
    pub(crate) async fn store_with(&self, name: &str, max_connections: u32) -> PostgresStore {
        let pool = self.schema.pool_of(name, max_connections);
        let store = PostgresStore::open_with(pool, self.store.config().clone()).await;
        store.unwrap()
    }

    /// A relay of this store.
    pub(crate) fn relay_on(&self, store: PostgresStore, config: RelayConfig) -> Relay {
        Relay::with_config(store, self.broker.clone(), config).unwrap()
    }

    /// A relay that shares the pool of the application.
    pub(crate) fn relay_of_the_pool(&self, config: RelayConfig) -> Relay {
        self.relay_on(self.store.clone(), config)
    }

    /// A relay with a pool of its own.
    pub(crate) async fn relay(&self, config: RelayConfig) -> Relay {
        self.relay_on(self.store_of(&config.name).await, config)
    }

    /// Starts a relay with a pool of its own.
    pub(crate) async fn start(&self, config: RelayConfig) -> Running {
        Running::start(self.relay(config).await)
    }

    /// What a relay with these settings does until nothing is ready.
    pub(crate) async fn drain(&self, config: RelayConfig) -> Report {
        self.relay(config).await.drain().await.unwrap()
    }

    pub(crate) async fn begin(&self) -> Transaction<'static, Postgres> {
        self.schema.pool.begin().await.unwrap()
    }

    /// Saves messages in one transaction.
    pub(crate) async fn save<'a>(&self, saves: impl IntoIterator<Item = impl Into<Save<'a>>>) {
        let saves: Vec<Save<'a>> = saves.into_iter().map(Into::into).collect();
        let mut tx = self.begin().await;
        self.store.save_all(&mut tx, &saves).await.unwrap();
        tx.commit().await.unwrap();
    }

    pub(crate) async fn status(&self) -> Status {
        self.store.status().await.unwrap()
    }

    /// Waits until so many hand-overs began, counted from the first one of all.
    pub(crate) async fn begun(&self, count: usize) {
        let begun = timeout(NEVER, self.broker.begun(count)).await;
        let handed = self.broker.handed().len();
        begun.unwrap_or_else(|_| panic!("{handed} of {count} hand-overs began, no more"));
    }
}

/// A relay at work.
#[derive(Debug)]
pub(crate) struct Running {
    stop: watch::Sender<bool>,
    work: JoinHandle<Result<Report, RelayError>>,
}

impl Running {
    pub(crate) fn start(relay: Relay) -> Self {
        let (stop, mut stopped) = watch::channel(false);
        let work = tokio::spawn(relay.run(async move {
            stopped.wait_for(|stop| *stop).await.ok();
        }));
        Self { stop, work }
    }

    /// Tells it to stop and waits until it has.
    pub(crate) async fn stop(self) -> Report {
        self.stop.send(true).ok();
        self.work.await.unwrap().unwrap()
    }

    /// Ends it as a process that is killed does: nothing more is recorded.
    pub(crate) async fn kill(self) {
        self.work.abort();
        self.work.await.unwrap_err();
    }
}

/// Waits until something holds that will.
pub(crate) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let waited = timeout(NEVER, async {
        while !holds().await {
            tokio::task::yield_now().await;
        }
    });
    waited.await.unwrap_or_else(|_| panic!("never: {what}"));
}

/// A message of the topic `orders` with this id.
pub(crate) fn message<'k>(key: impl Into<Key<'k>>, id: &str) -> Message {
    message_to("orders", key, id)
}

/// A message with this id.
pub(crate) fn message_to<'k>(topic: &str, key: impl Into<Key<'k>>, id: &str) -> Message {
    let message = Message::new(topic, id.to_owned()).unwrap();
    message.with_id(id).unwrap().with_key(key).unwrap()
}

/// How a broker that refuses and fails so many of a hundred hand-overs fails a message before it takes it.
pub(crate) fn failures(dice: &mut Dice, refuses: usize, fails: usize) -> Vec<Reply> {
    let mut failures = Vec::new();
    loop {
        match dice.below(100) {
            roll if roll < refuses => failures.push(Reply::Fail(Rejected)),
            roll if roll < refuses + fails => failures.push(Reply::Fail(Unavailable)),
            _ => return failures,
        }
    }
}
