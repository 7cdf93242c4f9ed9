//! A store that notes what it runs, and short words for what tests do with it.

use std::{sync::Arc, time::Duration};

use outbox_message::Message;
use outbox_migrations::POSTGRES;
use outbox_store::{
    Claim, ClaimRequest, Entry, LaneFilter, LaneSettlement, OutboxStore, Outcome, ReadOn, Save,
    Settlement, Target,
};
use outbox_store_postgres::Relaying;
use outbox_store_postgres_sqlx::{Connection, PgDatabase, PostgresConfig, PostgresStore, WakeUp};

use crate::{
    arguments,
    backlog::Samples,
    counting::{Counted, Counting, Notes, Run},
    explain::touched,
    place::Place,
    session::{Explaining, Planned},
};

/// A store that notes what it runs.
pub(crate) struct Scratch {
    pub(crate) place: Place,
    pub(crate) store: PostgresStore,
    pub(crate) counted: Counted,
    notes: Notes,
}

impl Scratch {
    pub(crate) async fn new(place: Place) -> Self {
        let config = PostgresConfig {
            schema: place.name.clone(),
            ..PostgresConfig::default()
        };
        let store = PostgresStore::open_with(place.pool.clone(), config.clone()).await;
        let notes = Notes::default();
        let counting = Counting {
            inner: PgDatabase::new(place.pool.clone(), Connection::Direct, WakeUp::Poll),
            notes: notes.clone(),
        };
        Self {
            store: store.unwrap(),
            counted: Relaying::new(counting, config),
            notes,
            place,
        }
    }

    pub(crate) async fn save(&self, messages: &[Message]) {
        let saves: Vec<Save<'_>> = messages.iter().map(Save::from).collect();
        let mut tx = self.place.pool.begin().await.unwrap();
        self.store.save_all(&mut tx, &saves).await.unwrap();
        tx.commit().await.unwrap();
    }

    /// What was run since the last call.
    pub(crate) fn run(&self) -> Run {
        self.notes.take(self.counted.statements())
    }

    pub(crate) async fn claim(&self, limit: usize) -> (Claim, Run) {
        self.claim_reading(limit, Vec::new()).await
    }

    pub(crate) async fn claim_reading(&self, limit: usize, read_on: Vec<ReadOn>) -> (Claim, Run) {
        let request = ClaimRequest {
            relay: Arc::from("relay"),
            limit,
            max_bytes: 16 << 20,
            max_lanes: 8,
            lease: Duration::from_secs(30),
            lanes: LaneFilter::All,
            read_on,
        };
        let claim = self.counted.claim(&request).await.unwrap();
        (claim, self.run())
    }

    /// Settles with an outcome for the number of each message in the claim, and its position.
    pub(crate) async fn settle(
        &self,
        claim: &Claim,
        outcome: impl Fn(usize, i64) -> Outcome,
    ) -> Run {
        let outcomes = |lane| {
            let mine = claim.entries.iter().enumerate();
            mine.filter(|(_, entry)| entry.lane() == lane)
                .map(|(n, entry)| match entry {
                    Entry::Message(delivery) => Settlement {
                        target: Target::from(delivery),
                        outcome: outcome(n, delivery.position.0),
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

    /// How many blocks the statements of a claim and a settlement touch.
    pub(crate) async fn round_touches(&self) -> f64 {
        let mut sum = 0.0;
        for name in ["lease", "read_line", "fence"] {
            sum += touched(&self.explained(name).await);
        }
        sum
    }

    /// The plan of a statement as it was run, for eight lanes.
    pub(crate) async fn explained(&self, name: &'static str) -> String {
        let mut connection = self.place.pool.acquire().await.unwrap();
        let mut explaining = Explaining {
            statements: self.counted.statements(),
            connection: &mut connection,
        };
        let arguments = arguments::of(name, &Samples::none(), POSTGRES.version());
        explaining
            .plan(name, "begin", Planned::Generic, arguments)
            .await
    }
}

/// Which keys messages have.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Keys {
    None,
    One,
    Many,
}

pub(crate) fn messages(count: usize, keys: Keys) -> Vec<Message> {
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
