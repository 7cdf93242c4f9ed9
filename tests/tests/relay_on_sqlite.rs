//! The whole way in one process: writers, some of which roll back, and two relays on one SQLite file, with a broker whose
//! answers get lost. What one crate promises alone is tested there.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

use std::collections::{BTreeMap, BTreeSet, HashSet};

use outbox::{
    Message, Outbox, Relay, RelayConfig,
    backoff::Backoff,
    publisher::PublishErrorKind,
    sqlite::{SqliteStore, connect_options},
    store::{OutboxOperator, Save},
};
use outbox_testkit::{Reply, ScriptedPublisher};
use sqlx::SqlitePool;

const WRITERS: usize = 3;
const KEYS_OF_A_WRITER: usize = 5;
const ROUNDS: usize = 20;

/// Saves a message for each of its keys and one without a key in each transaction, and rolls every fourth of them back.
/// Returns the ids of what it committed.
async fn write(pool: SqlitePool, outbox: Outbox<SqliteStore>, writer: usize) -> Vec<String> {
    let mut committed = Vec::new();
    for round in 0..ROUNDS {
        let keys = (0..KEYS_OF_A_WRITER).map(|key| Some(format!("{writer}.{key}")));
        let messages: Vec<Message> = keys
            .chain([None])
            .map(|key| {
                let of = key.as_deref().unwrap_or("none");
                let id = format!("{writer}-{of}/{round:02}");
                let message = Message::new("orders", id.clone()).unwrap();
                message.with_id(id).unwrap().with_key(key).unwrap()
            })
            .collect();
        let saves: Vec<Save<'_>> = messages.iter().map(Save::from).collect();
        let mut tx = pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
        outbox.save_all(&mut tx, &saves).await.unwrap();
        if round % 4 == 3 {
            tx.rollback().await.unwrap();
        } else {
            tx.commit().await.unwrap();
            committed.extend(messages.iter().map(|message| message.id.to_string()));
        }
    }
    committed
}

/// A relay that tries again at once and gives up on nothing.
fn relay(store: SqliteStore, broker: ScriptedPublisher) -> Relay {
    let config = RelayConfig {
        batch: 20,
        backoff: Backoff::fixed(std::time::Duration::ZERO),
        max_attempts: u32::MAX,
        ..RelayConfig::default()
    };
    Relay::with_config(store, broker, config).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn c1_d1_o11_what_was_committed_arrives_in_order_though_answers_get_lost() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("shop.db").display());
    let options = connect_options(&url).unwrap().create_if_missing(true);
    let pool = SqlitePool::connect_with(options).await.unwrap();
    SqliteStore::migrate(&pool).await.unwrap();
    let store = SqliteStore::open(pool.clone()).await.unwrap();
    let outbox = Outbox::new(store.clone());

    let broker = ScriptedPublisher::new();
    // The broker has the message, the relay is told that it was refused: it comes again.
    broker.chance(7, 20, Reply::Lose(PublishErrorKind::Rejected));

    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| tokio::spawn(write(pool.clone(), outbox.clone(), writer)))
        .collect();
    let relays = [(); 2].map(|()| relay(store.clone(), broker.clone()));
    let mut committed = BTreeSet::new();
    for writer in writers {
        relays[0].drain().await.unwrap();
        committed.extend(writer.await.unwrap());
    }
    while store.status().await.unwrap().pending() > 0 {
        let (one, two) = tokio::join!(relays[0].drain(), relays[1].drain());
        assert_eq!((one.unwrap().dead, two.unwrap().dead), (0, 0));
    }

    let received = broker.received();
    let mut seen = HashSet::new();
    let first: Vec<&String> = received.iter().filter(|id| seen.insert(*id)).collect();
    assert!(received.len() > first.len(), "no answer was lost");
    assert_eq!(
        first.iter().copied().cloned().collect::<BTreeSet<_>>(),
        committed
    );
    let mut last: BTreeMap<&str, &str> = BTreeMap::new();
    for id in first.iter().filter(|id| !id.contains("none")) {
        let (key, round) = id.split_once('/').unwrap();
        let before = last.insert(key, round);
        assert!(
            before.is_none_or(|before| before < round),
            "{before:?} before {id}"
        );
    }
    assert_eq!(last.len(), WRITERS * KEYS_OF_A_WRITER);
}
