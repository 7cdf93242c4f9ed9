//! The stand test: writers that exclude each other, four relays, and a broker that refuses and fails now and then. Everything arrives once and in order.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use outbox::{
    RelayConfig, Report, SaveError,
    backoff::Backoff,
    postgres_sqlx::{PostgresConfig, PostgresStore},
};
use outbox_testkit::ScriptedPublisher;
use sqlx::{Connection, Executor, PgConnection, error::DatabaseError, postgres::PgConnectOptions};

use crate::{
    dice::{Dice, report, seeds, soak},
    schema,
    shop::{Shop, failures, message},
};

const MESSAGES: usize = 600;
const KEYS: usize = 25;
const WRITERS: usize = 2;
const BATCHES: [usize; 4] = [1, 5, 20, 5];

/// How the broker behaves, in percent of the hand-overs.
#[derive(Debug, Clone, Copy)]
struct Broker {
    refuses: usize,
    fails: usize,
}

const CALM: Broker = Broker {
    refuses: 5,
    fails: 3,
};

const ROUGH: Broker = Broker {
    refuses: 10,
    fails: 5,
};

#[tokio::test(flavor = "multi_thread")]
async fn stand_of_four_relays_publishes_each_message_once_and_in_order() {
    for seed in seeds(3, 50) {
        stand(seed, CALM, schema::server()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stand_of_four_relays_keeps_the_order_through_twice_the_failures() {
    for seed in seeds(3, 50) {
        stand(seed, ROUGH, schema::server()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stand_holds_where_the_database_says_repeatable_read() {
    stand_at_isolation("repeatable read").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stand_holds_where_the_database_says_serializable() {
    stand_at_isolation("serializable").await;
}

/// In a database of its own whose transactions are isolated like this unless they say otherwise.
async fn stand_at_isolation(level: &str) {
    let own = OwnDatabase::create(level).await;
    for seed in seeds(1, 10) {
        stand(seed, CALM, own.options()).await;
    }
    own.drop().await;
}

async fn stand(seed: u64, broker: Broker, server: PgConnectOptions) {
    let shop = Shop::open_at(server, PostgresConfig::default()).await;
    shop.schema
        .run(
            "CREATE TABLE outbox.account (key text PRIMARY KEY, changes bigint NOT NULL DEFAULT 0)",
        )
        .await;
    for key in 0..KEYS {
        let insert = format!("INSERT INTO outbox.account (key) VALUES ('account-{key:02}')");
        shop.schema.run(&insert).await;
    }

    let mut relays = Vec::new();
    for (n, batch) in BATCHES.into_iter().enumerate() {
        relays.push(shop.start(config(n, batch)).await);
    }
    let writers = (0..WRITERS).map(|n| Writer {
        store: shop.store.clone(),
        broker: shop.broker.clone(),
        add: shop.schema.name.apply(
            "UPDATE outbox.account SET changes = changes + 1 WHERE key = $1 RETURNING changes",
        ),
        dice: Dice::new(seed, n as u64),
        behavior: broker,
        name: n,
        tries: 0,
    });
    let writers: Vec<_> = writers
        .map(|writer| tokio::spawn(writer.write(MESSAGES / WRITERS)))
        .collect();
    let mut saved = BTreeMap::new();
    for writer in writers {
        saved.extend(writer.await.unwrap());
    }

    let failures: usize = saved.values().sum();
    shop.begun(MESSAGES + failures).await;
    let mut reports = Vec::new();
    for relay in relays {
        reports.push(relay.stop().await);
    }
    judge(seed, &shop, &saved, &reports).await;
}

fn config(n: usize, batch: usize) -> RelayConfig {
    RelayConfig {
        name: format!("relay-{n}").into(),
        batch,
        backoff: Backoff::exponential(Duration::from_millis(50), Duration::from_hours(1)).unwrap(),
        max_attempts: 30,
        transient_delay: Duration::from_millis(10),
        poll_min: Duration::from_millis(5),
        poll_max: Duration::from_millis(50),
        ..RelayConfig::default()
    }
}

/// One who changes accounts and says so. Whoever changes an account locks it, so that its changes are numbered as they commit.
struct Writer {
    store: PostgresStore,
    broker: ScriptedPublisher,
    add: String,
    dice: Dice,
    behavior: Broker,
    name: usize,
    tries: usize,
}

/// The database wants the transaction again.
#[derive(Debug)]
struct Conflict;

impl Writer {
    /// Saves so many messages. Returns their ids, each with how often the broker fails it.
    async fn write(mut self, messages: usize) -> Vec<(String, usize)> {
        let mut saved = Vec::new();
        while saved.len() < messages {
            let most = 3.min(messages - saved.len());
            let count = 1 + self.dice.below(most);
            let mut accounts = BTreeSet::new();
            while accounts.len() < count {
                accounts.insert(format!("account-{:02}", self.dice.below(KEYS)));
            }
            let rolled_back = self.dice.percent(10);
            if let Ok(ids) = self.change(&accounts, rolled_back).await {
                saved.extend(ids);
            }
        }
        saved
    }

    /// Changes accounts in one transaction.
    async fn change(
        &mut self,
        accounts: &BTreeSet<String>,
        rolled_back: bool,
    ) -> Result<Vec<(String, usize)>, Conflict> {
        let mut tx = self.store.pool().begin().await.unwrap();
        let mut saved = Vec::new();
        for account in accounts {
            let add = sqlx::query_scalar(sqlx::AssertSqlSafe(self.add.clone())).bind(account);
            let number: i64 = add
                .fetch_one(&mut *tx)
                .await
                .map_err(|error| conflict(&error))?;
            self.tries += 1;
            let id = format!("{account}/{number:03}/{}.{}", self.name, self.tries);
            let Broker { refuses, fails } = self.behavior;
            let failures = failures(&mut self.dice, refuses, fails);
            self.broker.on(&id, failures.iter().copied());
            let message = message(account, &id);
            let done = self.store.save(&mut tx, &message).await;
            done.map_err(|error| save_conflict(&error))?;
            saved.push((id, failures.len()));
        }
        if rolled_back {
            tx.rollback().await.unwrap();
            return Ok(Vec::new());
        }
        tx.commit().await.map_err(|error| conflict(&error))?;
        Ok(saved)
    }
}

fn conflict(error: &sqlx::Error) -> Conflict {
    let code = error.as_database_error().and_then(DatabaseError::code);
    assert_eq!(code.as_deref(), Some("40001"), "{error}");
    Conflict
}

fn save_conflict(error: &SaveError) -> Conflict {
    assert!(matches!(error, SaveError::Conflict(_)), "{error:?}");
    Conflict
}

async fn judge(seed: u64, shop: &Shop, saved: &BTreeMap<String, usize>, reports: &[Report]) {
    let sum = |count: fn(&Report) -> u64| reports.iter().map(count).sum::<u64>();
    let errors = sum(|report| report.store_errors + report.lost + report.left + report.dead);
    assert_eq!(errors, 0, "seed {seed}: {reports:#?}");
    assert_eq!(sum(|report| report.published), MESSAGES as u64);

    let received = shop.broker.received();
    let once: BTreeSet<&String> = received.iter().collect();
    assert_eq!(received.len(), once.len(), "seed {seed}: duplicates");
    assert!(once.into_iter().eq(saved.keys()), "seed {seed}");

    let mut last: BTreeMap<&str, i64> = BTreeMap::new();
    for id in &received {
        let (account, rest) = id.split_once('/').unwrap();
        let (number, _) = rest.split_once('/').unwrap();
        let before = last.entry(account).or_default();
        *before += 1;
        assert_eq!(number.parse(), Ok(*before), "seed {seed}: {id} at its turn");
    }

    let status = shop.status().await;
    assert_eq!((status.pending(), status.dead), (0, 0), "seed {seed}");
    assert_eq!(status.lanes, [], "seed {seed}: no lease is left");
    if soak() {
        let failures: usize = saved.values().sum();
        report(&format!(
            "seed {seed}: {MESSAGES} published in order and once, {failures} failures on the way"
        ));
    }
}

/// A database that this test made.
struct OwnDatabase {
    name: String,
    server: PgConnectOptions,
}

impl OwnDatabase {
    async fn create(isolation: &str) -> Self {
        let own = Self {
            name: format!("outbox_stand_{:016x}", rand::random::<u64>()),
            server: schema::server(),
        };
        let name = &own.name;
        own.run(&format!(
            "CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0"
        ))
        .await;
        own.run(&format!(
            "ALTER DATABASE {name} SET default_transaction_isolation = '{isolation}'"
        ))
        .await;
        own
    }

    fn options(&self) -> PgConnectOptions {
        self.server.clone().database(&self.name)
    }

    async fn drop(self) {
        self.run(&format!("DROP DATABASE {} WITH (FORCE)", self.name))
            .await;
    }

    async fn run(&self, statement: &str) {
        let mut connection = PgConnection::connect_with(&self.server).await.unwrap();
        let statement = sqlx::AssertSqlSafe(statement.to_owned());
        connection.execute(sqlx::raw_sql(statement)).await.unwrap();
        connection.close().await.unwrap();
    }
}
