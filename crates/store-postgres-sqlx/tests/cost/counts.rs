//! P1: how many statements and transactions a batch takes, whatever its size.

use std::{sync::Arc, time::Duration};

use outbox_message::Message;
use outbox_store::{
    AfterDeath, Claim, ClaimRequest, DeathReason, Entry, LaneFilter, LaneSettlement, OutboxStore,
    Outcome, Save, Settlement, Target,
};
use outbox_store_postgres::Relaying;
use outbox_store_postgres_sqlx::{Connection, PgDatabase, PostgresConfig, PostgresStore, WakeUp};

use crate::{
    counting::{Counted, Counting, Notes, Run},
    schema::TestSchema,
};

struct Scratch {
    schema: TestSchema,
    store: PostgresStore,
    counted: Counted,
    notes: Notes,
}

impl Scratch {
    async fn new() -> Self {
        let schema = TestSchema::new();
        PostgresStore::migrate_with(&schema.pool, &schema.name)
            .await
            .unwrap();
        let config = PostgresConfig {
            schema: schema.name.clone(),
            ..PostgresConfig::default()
        };
        let store = PostgresStore::open_with(schema.pool.clone(), config.clone()).await;
        let notes = Notes::default();
        let counting = Counting {
            inner: PgDatabase::new(schema.pool.clone(), Connection::Direct, WakeUp::Poll),
            notes: notes.clone(),
        };
        Self {
            store: store.unwrap(),
            counted: Relaying::new(counting, config),
            notes,
            schema,
        }
    }

    async fn save(&self, messages: &[Message]) {
        let saves: Vec<Save<'_>> = messages.iter().map(Save::from).collect();
        let mut tx = self.schema.pool.begin().await.unwrap();
        self.store.save_all(&mut tx, &saves).await.unwrap();
        tx.commit().await.unwrap();
    }

    fn run(&self) -> Run {
        self.notes.take(self.counted.statements())
    }

    async fn claim(&self, limit: usize) -> (Claim, Run) {
        let request = ClaimRequest {
            relay: Arc::from("relay"),
            limit,
            max_bytes: 16 << 20,
            max_lanes: 8,
            lease: Duration::from_secs(30),
            lanes: LaneFilter::All,
        };
        let claim = self.counted.claim(&request).await.unwrap();
        (claim, self.run())
    }

    async fn settle(&self, claim: &Claim, outcome: impl Fn(i64) -> Outcome) -> Run {
        let outcomes = |lane| {
            let mine = claim
                .entries
                .iter()
                .filter(move |entry| entry.lane() == lane);
            mine.map(|entry| match entry {
                Entry::Message(delivery) => Settlement {
                    target: Target::from(delivery),
                    outcome: outcome(delivery.position.0),
                },
                Entry::Unreadable(row) => panic!("a row cannot be read: {}", row.error),
            })
            .collect()
        };
        let lanes: Vec<LaneSettlement> = claim
            .lanes
            .iter()
            .map(|lease| LaneSettlement {
                token: lease.token.clone(),
                release: true,
                outcomes: outcomes(lease.token.lane),
            })
            .collect();
        let settled = self.counted.settle(&lanes).await.unwrap();
        assert!(
            settled
                .iter()
                .all(|lane| !lane.lost && lane.missed.is_empty())
        );
        self.run()
    }
}

/// Which keys messages have.
#[derive(Debug, Clone, Copy)]
enum Keys {
    None,
    One,
    Many,
}

fn messages(count: usize, keys: Keys) -> Vec<Message> {
    let message = |n: usize| {
        let message = Message::new("orders", n.to_string()).unwrap();
        match keys {
            Keys::None => message,
            Keys::One => message.with_key("one").unwrap(),
            Keys::Many => message.with_key(format!("key-{}", n % 50)).unwrap(),
        }
    };
    (0..count).map(message).collect()
}

fn run(statements: &[&str]) -> Run {
    Run {
        transactions: 1,
        statements: statements.iter().map(|name| (*name).to_owned()).collect(),
    }
}

#[tokio::test]
async fn p1_a_published_batch_costs_three_statements_in_two_transactions() {
    for keys in [Keys::None, Keys::One, Keys::Many] {
        let scratch = Scratch::new().await;
        for batch in [1, 10, 100, 500] {
            scratch.save(&messages(batch, keys)).await;
            let mut left = batch;
            while left > 0 {
                let (claim, claimed) = scratch.claim(batch).await;
                assert_eq!(claimed, run(&["lease", "read_line"]), "{keys:?}, {batch}");
                assert!(!claim.entries.is_empty());
                left -= claim.entries.len();
                let settled = scratch.settle(&claim, |_| Outcome::Published).await;
                assert_eq!(settled, run(&["fence"]), "{keys:?}, {batch}");
            }
        }
    }
}

#[tokio::test]
async fn p1_an_idle_store_costs_one_statement() {
    let scratch = Scratch::new().await;
    let (claim, claimed) = scratch.claim(100).await;
    assert!(claim.lanes.is_empty());
    assert_eq!(claimed, run(&["lease"]));
}

#[tokio::test]
async fn p1_failures_cost_the_same_whatever_their_number() {
    let retry = || Outcome::Retry {
        after: Some(Duration::from_mins(1)),
        error: "away".into(),
        counted: true,
    };
    let dead = |after| Outcome::Dead {
        reason: DeathReason::Permanent,
        error: "no".into(),
        after,
    };
    // A settlement: without keys, with keys. The claim that follows, when what failed is due again.
    let expected = [
        (
            Keys::None,
            &["fence", "count_failures", "schedule", "bury"][..],
            &["lease", "promote", "read_line"][..],
        ),
        (
            Keys::Many,
            &["fence", "count_failures", "set_aside", "bury", "block_keys"],
            &[
                "lease",
                "look_line",
                "set_aside",
                "read_waiting",
                "load",
                "leave_lanes",
            ],
        ),
    ];
    for (keys, settling, claiming) in expected {
        for size in [200, 1_600] {
            let scratch = Scratch::new().await;
            scratch.save(&messages(size, keys)).await;
            let (claim, claimed) = scratch.claim(size * 2).await;
            // Each kind of outcome for a quarter of the messages: of a key the first ones, and the rest goes back.
            let settled = scratch
                .settle(&claim, |position| match (position % 50 % 4, position) {
                    (0, _) => Outcome::Published,
                    (1, ..=50) => retry(),
                    (2, ..=50) => dead(AfterDeath::Hold),
                    (3, ..=50) => dead(AfterDeath::Skip),
                    _ => Outcome::Release,
                })
                .await;
            scratch
                .schema
                .run("UPDATE outbox.blocked_key SET until = now() WHERE reason = 'retry'; UPDATE outbox.scheduled SET due_at = now()")
                .await;
            // The same lanes again: rows are set aside, and what waited is read.
            scratch
                .schema
                .run("UPDATE outbox.lane SET turn = 1000 - turn")
                .await;
            let (_, again) = scratch.claim(size * 2).await;
            assert_eq!(claimed, run(&["lease", "read_line"]), "{keys:?}, {size}");
            assert_eq!(settled, run(settling), "{keys:?}, {size}");
            assert_eq!(again, run(claiming), "{keys:?}, {size}");
        }
    }
}
