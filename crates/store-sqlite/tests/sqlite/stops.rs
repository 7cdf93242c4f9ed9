//! Stopped topics in SQLite itself: the migration that brings them, and rows of other programs. What every store does with them is in the suite.

use std::time::Duration;

use outbox_message::{OrderingKey, PartitionKey, Topic};
use outbox_migrations::SQLITE;
use outbox_store::{Claim, DestinationStop, Due, Entry, OutboxOperator, OutboxStore, Save};
use outbox_store_sqlite::{SqliteStore, connect_options};
use sqlx::SqlitePool;

use crate::scratch::{Scratch, message, positions, request, retry, url};

fn orders() -> Topic {
    Topic::new("orders").unwrap()
}

fn ordering_key(key: &str) -> OrderingKey {
    OrderingKey {
        topic: orders(),
        key: PartitionKey::new(key).unwrap(),
    }
}

async fn free(store: &SqliteStore) {
    while store.free_topics().await.unwrap() > 0 {}
}

/// Claims until nothing is moved any more; the last claim.
async fn rest(scratch: &Scratch) -> Claim {
    loop {
        let claim = scratch.claim(100).await;
        if claim.moved == 0 || !claim.entries.is_empty() {
            return claim;
        }
    }
}

#[tokio::test]
async fn the_migration_keeps_blocked_keys_and_far_schedules() {
    let folder = tempfile::tempdir().unwrap();
    let options = connect_options(&url(&folder)).unwrap();
    let pool = SqlitePool::connect_with(options.create_if_missing(true))
        .await
        .unwrap();
    for migration in &SQLITE.migrations[..2] {
        sqlx::raw_sql(migration.sql).execute(&pool).await.unwrap();
    }
    sqlx::raw_sql(
        "INSERT INTO outbox_blocked_key (lane, topic, key, until, reason, position)
         VALUES (1, 't', 'a', 5, 'retry', 1), (2, 't', 'b', 9223372036854775807, 'dead', 2), (3, 't', 'c', 7, 'busy', 3);
         INSERT INTO outbox_scheduled (position, lane, id, topic, due_at, payload)
         VALUES (4, 1, 'm', 't', 9223372036854775807, x'00');",
    )
    .execute(&pool)
    .await
    .unwrap();
    SqliteStore::migrate(&pool).await.unwrap();
    let store = SqliteStore::open(pool.clone()).await.unwrap();
    store.pause(&Topic::new("t").unwrap(), None).await.unwrap();
    store.resume(&Topic::new("t").unwrap()).await.unwrap();
    free(&store).await;
    let kept = "SELECT count(*) FROM outbox_blocked_key
                WHERE (lane, key, until, reason, position) IN
                  (VALUES (1, 'a', 5, 'retry', 1), (2, 'b', 9223372036854775807, 'dead', 2), (3, 'c', 7, 'busy', 3))";
    let kept: i64 = sqlx::query_scalar(kept).fetch_one(&pool).await.unwrap();
    assert_eq!(kept, 3);
    let status = store.status().await.unwrap();
    assert_eq!(
        (status.scheduled, status.later),
        (1, 1),
        "it stays for later"
    );
}

#[tokio::test]
async fn the_migration_back_frees_what_was_set_aside() {
    let scratch = Scratch::new().await;
    scratch
        .save(&[
            message(Some("k"), "a"),
            message(None, "b"),
            message(Some("k"), "c"),
        ])
        .await;
    scratch.store.pause(&orders(), None).await.unwrap();
    rest(&scratch).await;
    let undone = &SQLITE.migrations[2..];
    for migration in undone.iter().rev() {
        scratch.sql(migration.down).await;
    }
    let error = scratch.store.claim(&request(10)).await.unwrap_err();
    assert!(error.to_string().contains("version 2"), "{error}");
    for migration in undone {
        scratch.sql(migration.sql).await;
    }
    assert_eq!(scratch.drain(10).await.len(), 3);
}

/// F7: a row of a stopped topic in the wrong lane, or with a key that is no text, is no message and dies by itself; it blocks no key.
#[tokio::test]
async fn f7_an_unreadable_row_of_a_stopped_topic_is_not_set_aside() {
    let scratch = Scratch::new().await;
    scratch
        .save(&[
            message(Some("k"), "a"),
            message(Some("l"), "b"),
            message(Some("m"), "c"),
        ])
        .await;
    scratch
        .sql(
            "UPDATE outbox_message SET lane = (lane + 1) % 8 WHERE position = 1;
             UPDATE outbox_message SET key = CAST(x'FF' AS TEXT) WHERE position = 2;",
        )
        .await;
    scratch.store.pause(&orders(), None).await.unwrap();
    let mut unreadable = Vec::new();
    loop {
        let claim = scratch.claim(100).await;
        if claim.entries.is_empty() && claim.moved == 0 {
            break;
        }
        assert!(
            claim
                .entries
                .iter()
                .all(|entry| matches!(entry, Entry::Unreadable(_)))
        );
        unreadable.extend(positions(&claim));
    }
    unreadable.sort_unstable();
    assert_eq!(unreadable, [1, 2]);
    assert_eq!(
        scratch
            .count("SELECT position FROM outbox_blocked_key")
            .await,
        3
    );
    assert_eq!(
        scratch.count("SELECT position FROM outbox_waiting").await,
        3
    );
}

/// Times beyond any clock neither overflow nor end at once.
#[tokio::test]
async fn any_time_of_a_pause_and_any_lease_is_taken() {
    let scratch = Scratch::new().await;
    scratch
        .store
        .pause(&orders(), Some(Duration::MAX))
        .await
        .unwrap();
    let stop = DestinationStop {
        topics: vec![Topic::new("mail").unwrap()],
        destination: "broker".to_owned(),
        relay: "relay".into(),
        lease: Duration::MAX,
        error: "refused".to_owned(),
    };
    scratch.store.stop_topics(&stop).await.unwrap();
    let status = scratch.store.status().await.unwrap();
    let year = Duration::from_hours(365 * 24);
    assert_eq!(status.stopped.len(), 2);
    assert!(
        status
            .stopped
            .iter()
            .all(|stopped| stopped.until > Some(year))
    );
    scratch
        .store
        .pause(&orders(), Some(Duration::ZERO))
        .await
        .unwrap();
    free(&scratch.store).await;
    assert_eq!(scratch.store.status().await.unwrap().stopped.len(), 1);
}

/// No schedule is mistaken for what a stop set aside, and a retry of a message without a key is freed by its own time only.
#[tokio::test]
async fn s15_only_what_was_set_aside_is_freed() {
    let scratch = Scratch::new().await;
    let far = message(None, "far");
    let mut tx = scratch.pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
    let save = Save {
        due: Some(Due::AtUnixMs(i64::MAX)),
        ..Save::from(&far)
    };
    scratch.store.save(&mut tx, save).await.unwrap();
    tx.commit().await.unwrap();
    scratch.save(&[message(None, "retried")]).await;
    let claim = scratch.claim(10).await;
    scratch.settle(&claim, &retry(600)).await;
    scratch.save(&[message(None, "aside")]).await;
    scratch.store.pause(&orders(), None).await.unwrap();
    rest(&scratch).await;
    let aside = "SELECT count(*) FROM outbox_scheduled WHERE due_at = 9223372036854775807";
    assert_eq!(scratch.count(aside).await, 1);
    scratch.store.resume(&orders()).await.unwrap();
    free(&scratch.store).await;
    assert_eq!(scratch.drain(10).await, [b"aside"]);
}

/// S14, F3: of a lane the message that was tried least is let through, so that one that fails alone keeps no other from showing that the destination is up.
#[tokio::test]
async fn s14_the_next_probe_of_a_lane_is_another_message() {
    let scratch = Scratch::new().await;
    let lane = ordering_key("k0").lane(scratch.store.lanes());
    let keys = (0..).map(|n| format!("k{n}"));
    let keys = keys.filter(|key| ordering_key(key).lane(scratch.store.lanes()) == lane);
    let messages: Vec<_> = keys.take(3).map(|key| message(Some(&key), "x")).collect();
    scratch.save(&messages).await;
    let stop = DestinationStop {
        topics: vec![orders()],
        destination: "broker".to_owned(),
        relay: "relay".into(),
        lease: Duration::from_hours(1),
        error: "refused".to_owned(),
    };
    let mut probed = Vec::new();
    for _ in 0..3 {
        scratch.store.stop_topics(&stop).await.unwrap();
        rest(&scratch).await;
        assert!(scratch.store.probe_topic(&orders()).await.unwrap());
        let claim = rest(&scratch).await;
        probed.extend(positions(&claim));
        scratch.settle(&claim, &retry(600)).await;
        scratch
            .sql("UPDATE outbox_blocked_key SET until = 1 WHERE reason = 'retry'")
            .await;
    }
    assert_eq!(probed, [1, 2, 3]);
}
