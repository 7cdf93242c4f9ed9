//! Wake-up: who is told what, and what a lost connection does.

use std::{
    future::Future,
    pin::pin,
    task::{Context, Waker},
};

use outbox_store::{OutboxStore, Save};
use outbox_store_postgres_sqlx::{Connection, PostgresConfig, WakeUp};
use sqlx::postgres::PgListener;

use crate::scratch::{Scratch, message};

async fn scratch(wake_up: WakeUp, connection: Connection) -> Scratch {
    let config = PostgresConfig {
        wake_up,
        connection,
        ..PostgresConfig::default()
    };
    Scratch::with(config, 2, |options| options).await
}

/// As a relay does that listens and falls asleep.
async fn end_quiet(scratch: &Scratch) {
    scratch.schema.run("SELECT setval('outbox.quiet', 1)").await;
}

/// How many sessions of the store listen.
async fn listening(scratch: &Scratch) -> i64 {
    let count = sqlx::query_scalar(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1 AND query LIKE 'LISTEN %'",
    );
    let name = format!("{}-store", scratch.schema.application);
    count
        .bind(name)
        .fetch_one(&scratch.schema.pool)
        .await
        .unwrap()
}

/// Waits until so many sessions of the store listen, as the server sees it.
async fn until_listening(scratch: &Scratch, sessions: i64) {
    for _ in 0..100_000 {
        if listening(scratch).await == sessions {
            return;
        }
    }
    panic!("{sessions} sessions should listen");
}

async fn notify(scratch: &Scratch, payload: &str) {
    let sent = sqlx::query("SELECT pg_notify('outbox', $1)").bind(payload);
    sent.execute(&scratch.schema.pool).await.unwrap();
}

/// Whether a future ends without waiting.
fn is_ready(work: impl Future<Output = ()>) -> bool {
    pin!(work)
        .poll(&mut Context::from_waker(Waker::noop()))
        .is_ready()
}

/// The notifications for this schema, up to the one that is sent here.
async fn told(scratch: &Scratch, listener: &mut PgListener) -> usize {
    let last = format!("last of {}", scratch.schema.application);
    notify(scratch, &last).await;
    let mut told = 0;
    loop {
        let notification = listener.recv().await.unwrap();
        if notification.payload() == last {
            return told;
        }
        if notification.payload() == scratch.schema.name.as_str() {
            told += 1;
        }
    }
}

async fn save_three(scratch: &Scratch) -> sqlx::Transaction<'static, sqlx::Postgres> {
    let order = message(Some("a"), "1");
    let mut tx = scratch.pool().begin().await.unwrap();
    scratch.store.save(&mut tx, &order).await.unwrap();
    let both = [Save::from(&order), Save::from(&order)];
    scratch.store.save_all(&mut tx, &both).await.unwrap();
    tx
}

#[tokio::test]
async fn a_transaction_notifies_once_whatever_it_saves() {
    let scratch = scratch(WakeUp::Notify, Connection::Direct).await;
    end_quiet(&scratch).await;
    let mut listener = PgListener::connect_with(&scratch.schema.pool)
        .await
        .unwrap();
    listener.listen("outbox").await.unwrap();
    save_three(&scratch).await.commit().await.unwrap();
    assert_eq!(told(&scratch, &mut listener).await, 1);
    save_three(&scratch).await.rollback().await.unwrap();
    assert_eq!(told(&scratch, &mut listener).await, 0);
}

#[tokio::test]
async fn nobody_is_notified_unless_it_is_asked_for() {
    let scratch = scratch(WakeUp::Poll, Connection::Direct).await;
    end_quiet(&scratch).await;
    let mut listener = PgListener::connect_with(&scratch.schema.pool)
        .await
        .unwrap();
    listener.listen("outbox").await.unwrap();
    save_three(&scratch).await.commit().await.unwrap();
    assert_eq!(told(&scratch, &mut listener).await, 0);
    assert!(!is_ready(scratch.store.wake_up()));
    assert_eq!(listening(&scratch).await, 0);
}

#[tokio::test]
async fn d3_nobody_listens_through_a_pooler() {
    let scratch = scratch(WakeUp::Notify, Connection::Pooler).await;
    end_quiet(&scratch).await;
    let mut listener = PgListener::connect_with(&scratch.schema.pool)
        .await
        .unwrap();
    listener.listen("outbox").await.unwrap();
    save_three(&scratch).await.commit().await.unwrap();
    assert_eq!(told(&scratch, &mut listener).await, 1);
    assert!(!is_ready(scratch.store.wake_up()));
    assert_eq!(listening(&scratch).await, 0);
}

#[tokio::test]
async fn a_relay_is_woken_once_after_the_connect_and_then_by_each_save() {
    let scratch = scratch(WakeUp::Notify, Connection::Direct).await;
    end_quiet(&scratch).await;
    scratch.store.wake_up().await;
    assert!(!is_ready(scratch.store.wake_up()));
    for _ in 0..3 {
        save_three(&scratch).await.commit().await.unwrap();
        scratch.store.wake_up().await;
    }
    assert_eq!(listening(&scratch).await, 1);
}

#[tokio::test]
async fn what_is_heard_while_nobody_waits_is_kept() {
    let scratch = scratch(WakeUp::Notify, Connection::Direct).await;
    end_quiet(&scratch).await;
    scratch.store.wake_up().await;
    let heard = async {
        // Whoever waits may give up and wait again.
        while !is_ready(scratch.store.wake_up()) {
            tokio::task::yield_now().await;
        }
    };
    save_three(&scratch).await.commit().await.unwrap();
    heard.await;
}

#[tokio::test]
async fn another_outbox_of_the_database_wakes_nobody() {
    let scratch = scratch(WakeUp::Notify, Connection::Direct).await;
    end_quiet(&scratch).await;
    scratch.store.wake_up().await;
    let mut listener = PgListener::connect_with(&scratch.schema.pool)
        .await
        .unwrap();
    listener.listen("outbox").await.unwrap();
    notify(&scratch, "another").await;
    // The server sends to one session after the other: when this one has it, give that one time to hear too, by a message of its own.
    assert_eq!(told(&scratch, &mut listener).await, 0);
    assert!(!is_ready(scratch.store.wake_up()));
    save_three(&scratch).await.commit().await.unwrap();
    scratch.store.wake_up().await;
    assert!(!is_ready(scratch.store.wake_up()));
}

#[tokio::test]
async fn a_lost_connection_is_made_again_and_wakes_once() {
    let scratch = scratch(WakeUp::Notify, Connection::Direct).await;
    end_quiet(&scratch).await;
    scratch.store.wake_up().await;
    let end = sqlx::query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1 AND query LIKE 'LISTEN %'",
    );
    let name = format!("{}-store", scratch.schema.application);
    let ended = end.bind(name).execute(&scratch.schema.pool).await.unwrap();
    assert_eq!(ended.rows_affected(), 1);
    scratch.store.wake_up().await;
    assert_eq!(listening(&scratch).await, 1);
    save_three(&scratch).await.commit().await.unwrap();
    scratch.store.wake_up().await;
}

#[tokio::test]
async fn listening_ends_with_the_pool_and_with_the_store() {
    let scratch = scratch(WakeUp::Notify, Connection::Direct).await;
    scratch.store.wake_up().await;
    scratch.pool().close().await;
    until_listening(&scratch, 0).await;

    let config = scratch.store.config().clone();
    let options = (*scratch.pool().connect_options()).clone();
    let pool = crate::schema::pool(options);
    let store = outbox_store_postgres_sqlx::PostgresStore::open_with(pool, config);
    let store = store.await.unwrap();
    store.wake_up().await;
    assert_eq!(listening(&scratch).await, 1);
    drop(store);
    until_listening(&scratch, 0).await;
}
