//! The grants of docs/postgres.md are enough for what each role does, and for no more.

mod roles;

use std::{sync::Arc, time::Duration};

use outbox_message::{Message, MessageId};
use outbox_store::{
    AfterDeath, AuditPage, CircuitChange, Claim, Command, Consumer, DeadFilter, DeadPage,
    DeadPayload, DeathReason, DestinationStop, Due, Entry, Handled, LaneSettlement, OutboxOperator,
    OutboxStore, Outcome, PublishedFilter, Purge, PurgeMode, Replay, ReplayMode, Save, SaveOrder,
    Saved, Settlement, StoreError, Target,
};
use outbox_store_postgres_sqlx::{PostgresConfig, PostgresStore, WakeUp};
use sqlx::{AssertSqlSafe, Executor, PgPool, error::DatabaseError};

use crate::{
    grants::roles::Roles,
    scratch::{message, request},
};

const WRITER: &str = "outbox_writer";
const RELAY: &str = "outbox_relay";
const READER: &str = "outbox_reader";

/// The quiet of a new store.
const NOBODY_LISTENS: &str = "SELECT setval('outbox.quiet', 9223372036854775807)";

/// What the page says of the SQL function: all that it can do.
const SAVE_BY_SQL: [&str; 4] = [
    "SELECT outbox.save('orders', 'plain')",
    "SELECT outbox.save('orders', '\\x00ff'::bytea, key => 'a', headers => '{\"b\": \"c\"}', content_type => 'text/plain', in_commit_order => true, wake_up => true)",
    "SELECT outbox.save('orders', 'later', key => 'a', due => now() + interval '1 hour')",
    "SELECT outbox.save('orders', 'once', id => 'by-sql', once => interval '1 day')",
];

async fn run(pool: &PgPool, sql: &str) -> Result<(), sqlx::Error> {
    let sql = sqlx::raw_sql(AssertSqlSafe(sql));
    pool.execute(sql).await.map(drop)
}

async fn assert_forbidden(pool: &PgPool, statements: &[&str]) {
    for statement in statements {
        let refused = run(pool, statement).await.unwrap_err();
        let state = refused.as_database_error().and_then(DatabaseError::code);
        assert_eq!(state.as_deref(), Some("42501"), "{statement}: {refused}");
    }
}

fn orders() -> Vec<Message> {
    let keyed = (0..8).map(|n| message(Some(&format!("key-{n}")), "keyed"));
    let unkeyed = (0..8).map(|_| message(None, "unkeyed"));
    keyed.chain(unkeyed).collect()
}

/// Every way to save.
async fn save(store: &PostgresStore) {
    let mut tx = store.pool().begin().await.unwrap();
    for order in &orders() {
        store.save(&mut tx, order).await.unwrap();
    }
    let order = message(Some("a"), "a").with_id("once").unwrap();
    let plain = Save::from(&order);
    let saves = [
        Save {
            order: SaveOrder::Commit,
            ..plain
        },
        Save {
            due: Some(Due::After(Duration::from_mins(1))),
            ..plain
        },
        Save {
            once: Some(Duration::from_mins(1)),
            ..plain
        },
        Save {
            once: Some(Duration::from_mins(1)),
            ..plain
        },
    ];
    let stored = store.save_all(&mut tx, &saves).await.unwrap();
    assert_eq!(stored[3], Saved::Duplicate);
    for save in &saves[..3] {
        store.save(&mut tx, *save).await.unwrap();
    }
    tx.commit().await.unwrap();
}

/// Every outcome in turn; all lanes are given back.
fn settlements(claim: &Claim, retry: bool) -> Vec<LaneSettlement> {
    let failed = |after| Outcome::Retry {
        after,
        counted: true,
        error: "away".into(),
    };
    let dead = |after| Outcome::Dead {
        reason: DeathReason::Permanent,
        error: "no".into(),
        after,
        notice: Some(Box::new(Message::new("t.dlq", "told").unwrap())),
    };
    let outcome = |position: i64| match position % 6 {
        _ if !retry => Outcome::Published,
        0 => failed(None),
        1 => failed(Some(Duration::from_millis(1))),
        2 => dead(AfterDeath::Hold),
        3 => dead(AfterDeath::Skip),
        4 => Outcome::Release,
        _ => Outcome::Published,
    };
    let of = |entry: &Entry| match entry {
        Entry::Message(delivery) => Settlement {
            target: Target::from(delivery),
            outcome: outcome(delivery.position.0),
        },
        Entry::Unreadable(row) => panic!("a row cannot be read: {}", row.error),
    };
    let lane = |lease: &outbox_store::LaneLease| LaneSettlement {
        token: lease.token.clone(),
        release: true,
        outcomes: claim
            .entries
            .iter()
            .filter(|entry| entry.lane() == lease.token.lane)
            .map(of)
            .collect(),
    };
    claim.lanes.iter().map(lane).collect()
}

/// What a consumer does in its transaction.
async fn handle(store: &PostgresStore) {
    let consumer = Consumer::new("billing").unwrap();
    let mut tx = store.pool().begin().await.unwrap();
    for id in ["kept", "forgotten"] {
        let id = MessageId::new(id).unwrap();
        let handled = store.once(&mut tx, &consumer, &id).await.unwrap();
        assert_eq!(handled, Handled::First);
    }
    let id = MessageId::new("forgotten").unwrap();
    assert!(store.forget(&mut tx, &consumer, &id).await.unwrap());
    tx.commit().await.unwrap();
}

/// What a relay does, until nothing is due.
async fn relay(store: &PostgresStore) {
    for round in 0..1_000 {
        let claim = store.claim(&request(10)).await.unwrap();
        if claim.entries.is_empty() && claim.moved == 0 {
            return;
        }
        let tokens: Vec<_> = claim.lanes.iter().map(|lane| lane.token.clone()).collect();
        let lost = store.extend(&tokens, Duration::from_mins(1)).await;
        assert!(lost.unwrap().is_empty());
        if let (Some(token), Some(Entry::Message(first))) = (tokens.first(), claim.entries.first())
        {
            assert!(store.starting(token, first.position).await.unwrap());
        }
        let settled = store.settle(&settlements(&claim, round < 20)).await;
        assert!(settled.unwrap().iter().all(|lane| !lane.lost));
    }
    panic!("a relay comes to no end");
}

fn all_dead() -> DeadPage {
    DeadPage {
        filter: DeadFilter::default(),
        after: None,
        upto: None,
        limit: 3,
    }
}

/// What people do with a relay's rights.
async fn operate(store: &PostgresStore) {
    assert!(store.redrive(&all_dead()).await.unwrap().count > 0);
    assert!(store.discard(&all_dead()).await.unwrap().count > 0);
    let key = message(Some("a"), "a").ordering_key().unwrap();
    store.retry_now(&key).await.unwrap();
    let operator = store.audited(&Command::new("ann", "{}"));
    for mode in [ReplayMode::Count, ReplayMode::Save] {
        let replay = Replay {
            filter: PublishedFilter::default(),
            after: None,
            upto: None,
            limit: 10,
            mode,
        };
        let replayed = operator.replay(&replay).await.unwrap();
        assert_eq!(replayed.count > 0, store.config().retain.is_some());
    }
    for mode in [PurgeMode::Count, PurgeMode::Delete] {
        let purge = Purge {
            older_than: Duration::ZERO,
            inbox_older_than: Some(Duration::MAX),
            limit: 10,
            mode,
        };
        store.purge(&purge).await.unwrap();
    }
    stop_and_start(store).await;
    for open in [Some((Duration::from_secs(1), "away".to_owned())), None] {
        let change = CircuitChange {
            destination: "broker".to_owned(),
            relay: Arc::from("relay"),
            open,
        };
        store.record_circuit(&change).await.unwrap();
    }
}

/// A topic is stopped by a relay, then paused by an operator; what that sets aside is let through and freed.
async fn stop_and_start(store: &PostgresStore) {
    let topic = message(None, "").topic;
    let stop = DestinationStop {
        topics: vec![topic.clone()],
        destination: "broker".to_owned(),
        relay: Arc::from("relay"),
        lease: Duration::from_mins(1),
        error: "away".to_owned(),
    };
    store.stop_topics(&stop).await.unwrap();
    while store.claim(&request(10)).await.unwrap().moved > 0 {}
    assert!(store.probe_topic(&topic).await.unwrap());
    store.start_topics(&stop.topics).await.unwrap();
    store.pause(&topic, None).await.unwrap();
    assert!(store.resume(&topic).await.unwrap());
    assert!(store.free_topics().await.unwrap() > 0);
}

/// What people do with a reader's rights.
async fn look(store: &PostgresStore) {
    let status = store.status().await.unwrap();
    assert!(status.dead > 0);
    let (dead, _) = store.count_dead(&DeadFilter::default()).await.unwrap();
    assert!(dead > 0);
    let letters = store.dead_letters(&all_dead(), DeadPayload::Include).await;
    assert!(letters.unwrap()[0].payload.is_some());
    let page = AuditPage {
        before: None,
        limit: 10,
    };
    store.audit(&page).await.unwrap();
}

#[tokio::test]
async fn the_grants_of_the_page_are_enough() {
    let roles = Roles::new().await;
    let told = PostgresConfig {
        wake_up: WakeUp::Notify,
        ..PostgresConfig::default()
    };
    let writer = roles.store(WRITER, told).await;
    save(&writer).await;
    handle(&writer).await;
    for statement in SAVE_BY_SQL {
        run(writer.pool(), statement).await.unwrap();
    }
    for retain in [None, Some(Duration::from_hours(1))] {
        let config = PostgresConfig {
            retain,
            retain_inbox: retain,
            wake_up: WakeUp::Notify,
            ..PostgresConfig::default()
        };
        run(&roles.owner, NOBODY_LISTENS).await.unwrap();
        let relaying = roles.store(RELAY, config).await;
        relaying.wake_up().await;
        save(&writer).await;
        relay(&relaying).await;
        let quiet = sqlx::query_scalar::<_, i64>("SELECT last_value FROM outbox.quiet");
        assert!(quiet.fetch_one(&roles.owner).await.unwrap() < i64::MAX);
        let reader = roles.store(READER, PostgresConfig::default()).await;
        look(&reader).await;
        look(&relaying).await;
        operate(&relaying).await;
        run(
            &roles.owner,
            "UPDATE outbox.upkeep SET done_at = '-infinity'",
        )
        .await
        .unwrap();
        relaying.maintain().await.unwrap();
        for view in ["pending", "backlog", "blocked", "dead_letters", "stopped"] {
            let sql = format!("SELECT * FROM outbox.{view}");
            run(reader.pool(), &sql).await.unwrap();
        }
    }
}

#[tokio::test]
async fn the_grants_of_the_page_are_not_too_many() {
    let roles = Roles::new().await;
    let reads = [
        "SELECT payload FROM outbox.message",
        "SELECT key FROM outbox.scheduled",
        "SELECT FROM outbox.waiting",
        "SELECT FROM outbox.dead",
        "SELECT FROM outbox.published",
        "SELECT FROM outbox.lane",
        "SELECT FROM outbox.pending",
        "SELECT FROM outbox.audit",
    ];
    let changes = [
        "DELETE FROM outbox.message",
        "DELETE FROM outbox.saved_id",
        "UPDATE outbox.inbox SET handled_at = now()",
        "DELETE FROM outbox.dead",
        "UPDATE outbox.message SET topic = 'other'",
        "UPDATE outbox.lane SET holder = NULL",
        "INSERT INTO outbox.topic_state (topic, cause, stopped_at, until) VALUES ('a', 'paused', now(), now())",
        "UPDATE outbox.schema_version SET version = 0",
        "INSERT INTO outbox.message (lane, id, topic, attempts, payload) VALUES (0, 'a', 'a', 9, '')",
        "SELECT setval('outbox.position', 1)",
        "SELECT setval('outbox.quiet', 1)",
    ];
    let schema = [
        "TRUNCATE outbox.message",
        "DROP TABLE outbox.message",
        "CREATE TABLE outbox.mine ()",
        "ALTER TABLE outbox.message DISABLE TRIGGER ALL",
        "SELECT setval('outbox.position', 1)",
        "UPDATE outbox.schema_version SET version = 0",
        "INSERT INTO outbox.saved_id VALUES ('a', now())",
        "INSERT INTO outbox.inbox (consumer, message_id) VALUES ('a', 'b')",
        "DELETE FROM outbox.audit",
    ];
    let writer = roles.pool(WRITER);
    assert_forbidden(&writer, &reads).await;
    assert_forbidden(&writer, &changes).await;
    assert_forbidden(&writer, &schema[..6]).await;
    assert_forbidden(&roles.pool(RELAY), &schema).await;
    let reader = roles.pool(READER);
    assert_forbidden(&reader, &changes).await;
    assert_forbidden(&reader, &schema).await;
    assert_forbidden(&reader, &SAVE_BY_SQL).await;
}

#[tokio::test]
async fn a_role_without_the_grants_is_told_so() {
    let roles = Roles::new().await;
    let writer = roles.store(WRITER, PostgresConfig::default()).await;
    let refused = writer.claim(&request(10)).await.unwrap_err();
    assert!(matches!(refused, StoreError::Unusable { .. }), "{refused}");
    assert!(
        refused.to_string().contains("docs/postgres.md"),
        "{refused}"
    );
}
