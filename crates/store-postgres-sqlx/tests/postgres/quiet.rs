//! Quiet: savers notify only while a relay sleeps.

use outbox_migrations::POSTGRES;
use outbox_store::{Claim, OutboxStore};
use outbox_store_postgres::Statements;
use outbox_store_postgres_sqlx::{Connection, PostgresConfig, PostgresStore, WakeUp};
use sqlx::{AssertSqlSafe, Row, postgres::PgListener};

use crate::{
    schema::pool,
    scratch::{Scratch, message, published, request},
};

/// What a new store says: nobody listens.
const NOBODY: i64 = i64::MAX;

async fn scratch() -> Scratch {
    let config = PostgresConfig {
        wake_up: WakeUp::Notify,
        ..PostgresConfig::default()
    };
    Scratch::with(config, 3, |options| options).await
}

/// A store of another relay.
async fn another(scratch: &Scratch, wake_up: WakeUp, connection: Connection) -> PostgresStore {
    let config = PostgresConfig {
        wake_up,
        connection,
        ..scratch.store.config().clone()
    };
    let options = (*scratch.pool().connect_options()).clone();
    let store = PostgresStore::open_with(pool(options), config).await;
    store.unwrap()
}

/// Until when it is quiet, and the time of the server.
async fn quiet(scratch: &Scratch) -> (i64, i64) {
    let until = scratch.schema.count("SELECT last_value FROM outbox.quiet");
    (until.await, scratch.schema.now_ms().await)
}

async fn until(scratch: &Scratch) -> i64 {
    quiet(scratch).await.0
}

async fn say(scratch: &Scratch, ms: &str) {
    let now = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    let said = format!("SELECT setval('outbox.quiet', {now} + {ms})");
    scratch.schema.run(&said).await;
}

async fn claim(store: &PostgresStore) -> Claim {
    store.claim(&request(10)).await.unwrap()
}

/// Saves a message in each way, and returns how many of the three transactions notified.
async fn told(scratch: &Scratch, listener: &mut PgListener) -> usize {
    let mut tx = scratch.pool().begin().await.unwrap();
    let order = message(None, "one");
    scratch.store.save(&mut tx, &order).await.unwrap();
    tx.commit().await.unwrap();
    scratch.save(&[order.clone(), order]).await;
    scratch
        .schema
        .run("SELECT outbox.save('orders', 'by sql', wake_up => true)")
        .await;
    let last = format!("last of {}", scratch.schema.application);
    let end = sqlx::query("SELECT pg_notify('outbox', $1)").bind(&last);
    end.execute(&scratch.schema.pool).await.unwrap();
    let mut told = 0;
    loop {
        let notification = listener.recv().await.unwrap();
        if notification.payload() == last {
            return told;
        }
        told += usize::from(notification.payload() == scratch.schema.name.as_str());
    }
}

async fn listener(scratch: &Scratch) -> PgListener {
    let listener = PgListener::connect_with(&scratch.schema.pool).await;
    let mut listener = listener.unwrap();
    listener.listen("outbox").await.unwrap();
    listener
}

/// Has the relay of a store find something in each claim, until it says that nobody need notify.
async fn make_busy(scratch: &Scratch, store: &PostgresStore) {
    for n in 0..100_000 {
        scratch.save(&[message(None, n.to_string())]).await;
        let found = claim(store).await;
        assert!(!found.entries.is_empty());
        store.settle(&published(&found)).await.unwrap();
        let (until, now) = quiet(scratch).await;
        if until > now {
            assert!(until <= now + 1_000, "{until} at {now}");
            return;
        }
    }
    panic!("a busy relay says nothing");
}

/// Claims in vain, as often as the store asks for it, until the quiet is over.
async fn fall_asleep(scratch: &Scratch, store: &PostgresStore) {
    for _ in 0..1_000 {
        assert!(claim(store).await.entries.is_empty());
        // Be it because it is over, or to look again soon.
        store.wake_up().await;
        let (until, now) = quiet(scratch).await;
        if until <= now {
            return;
        }
    }
    panic!("a relay finds nothing and stays quiet");
}

#[tokio::test]
async fn savers_notify_nobody_until_a_relay_that_listens_found_nothing() {
    let scratch = scratch().await;
    let mut listener = listener(&scratch).await;
    assert_eq!(until(&scratch).await, NOBODY);
    assert_eq!(told(&scratch, &mut listener).await, 0);
    scratch.drain().await;
    assert_eq!(until(&scratch).await, NOBODY, "it did not listen");
    scratch.store.wake_up().await;
    claim(&scratch.store).await;
    assert_eq!(until(&scratch).await, 1);
    assert_eq!(told(&scratch, &mut listener).await, 3);
}

#[tokio::test]
async fn savers_notify_nobody_in_the_quiet_and_again_when_its_time_is_over() {
    let scratch = scratch().await;
    let mut listener = listener(&scratch).await;
    say(&scratch, "60000").await;
    assert_eq!(told(&scratch, &mut listener).await, 0);
    say(&scratch, "-1").await;
    assert_eq!(told(&scratch, &mut listener).await, 3);
}

#[tokio::test]
async fn an_idle_look_writes_nothing_when_savers_notify_anyway() {
    let scratch = scratch().await;
    scratch.store.wake_up().await;
    claim(&scratch.store).await;
    // Over just as well, but not what a look would write.
    scratch.schema.run("SELECT setval('outbox.quiet', 5)").await;
    for _ in 0..3 {
        claim(&scratch.store).await;
    }
    assert_eq!(until(&scratch).await, 5);
}

#[tokio::test]
async fn d3_a_relay_that_does_not_listen_says_nothing() {
    let scratch = scratch().await;
    for (wake_up, connection) in [
        (WakeUp::Poll, Connection::Direct),
        (WakeUp::Notify, Connection::Pooler),
    ] {
        let store = another(&scratch, wake_up, connection).await;
        claim(&store).await;
        assert_eq!(until(&scratch).await, NOBODY);
        store.pool().close().await;
    }
}

#[tokio::test]
async fn a_busy_relay_makes_it_quiet_and_ends_that_when_it_falls_asleep() {
    let scratch = scratch().await;
    scratch.store.wake_up().await;
    make_busy(&scratch, &scratch.store).await;
    scratch.drain().await;
    fall_asleep(&scratch, &scratch.store).await;
    let mut listener = listener(&scratch).await;
    assert_eq!(told(&scratch, &mut listener).await, 3);
    scratch.store.wake_up().await;
    assert_eq!(scratch.drain().await.len(), 4);
}

#[tokio::test]
async fn a_relay_that_sleeps_leaves_the_quiet_of_another_alone() {
    let scratch = scratch().await;
    let sleeper = another(&scratch, WakeUp::Notify, Connection::Direct).await;
    sleeper.wake_up().await;
    claim(&sleeper).await;
    assert_eq!(until(&scratch).await, 1);
    scratch.store.wake_up().await;
    make_busy(&scratch, &scratch.store).await;
    let said = until(&scratch).await;
    claim(&sleeper).await;
    assert_eq!(until(&scratch).await, said);
    fall_asleep(&scratch, &scratch.store).await;
    sleeper.pool().close().await;
}

#[tokio::test]
async fn a_quiet_that_no_relay_can_have_said_is_ended_by_any_that_looks() {
    let scratch = scratch().await;
    scratch.store.wake_up().await;
    claim(&scratch.store).await;
    // The server's clock was set back, or a crash took the first word of a relay back.
    for far in ["60000", "1e15::bigint"] {
        say(&scratch, far).await;
        claim(&scratch.store).await;
        assert_eq!(until(&scratch).await, 1);
    }
}

/// A claim that says this of the quiet, and is given back: what it set it to, and how it commits.
async fn says(
    scratch: &Scratch,
    quiet_ms: Option<i64>,
    most_ms: Option<i64>,
    ends: Option<i64>,
) -> (Option<i64>, String) {
    let statements = Statements::new(&scratch.schema.name);
    let all = statements.all();
    let lease = all.iter().find(|(name, _)| *name == "lease").unwrap();
    let lease = sqlx::query(AssertSqlSafe(lease.1.to_string()));
    let lease = lease.bind(POSTGRES.version()).bind(-1_i64).bind(8_i64);
    let lease = lease.bind("relay").bind(30_000_i64).bind(100_i64);
    let lease = lease.bind(quiet_ms).bind(most_ms).bind(ends);
    let mut tx = scratch.pool().begin().await.unwrap();
    let row = lease.fetch_one(&mut *tx).await.unwrap();
    let commits = sqlx::query_scalar("SHOW synchronous_commit");
    let commits = commits.fetch_one(&mut *tx).await.unwrap();
    tx.commit().await.unwrap();
    let back = format!(
        "UPDATE \"{}\".lane SET epoch = epoch + 1, holder = NULL, relay = NULL, lease_until = '-infinity' WHERE holder IS NOT NULL",
        scratch.schema.name
    );
    let back = sqlx::query(AssertSqlSafe(back));
    back.execute(scratch.pool()).await.unwrap();
    (row.get("quiet"), commits)
}

#[tokio::test]
async fn only_a_look_that_ends_a_quiet_does_not_wait_for_the_disk() {
    let scratch = scratch().await;
    let on = || "on".to_owned();
    say(&scratch, "60000").await;
    let said = until(&scratch).await;
    let ended = says(&scratch, None, None, Some(said)).await;
    assert_eq!(ended, (Some(1), "off".to_owned()));
    let again = says(&scratch, None, None, Some(said)).await;
    assert_eq!(again, (None, on()));
    say(&scratch, "60000").await;
    let said = until(&scratch).await;
    scratch.save(&[message(None, "leased")]).await;
    let ended = says(&scratch, None, None, Some(said)).await;
    assert_eq!(ended, (Some(1), on()));
    scratch.save(&[message(None, "leased")]).await;
    let (set, commits) = says(&scratch, Some(60_000), None, None).await;
    assert_eq!((set, commits), (Some(until(&scratch).await), on()));
}

#[tokio::test]
async fn a_quiet_that_another_relay_said_since_is_left_to_it() {
    let scratch = scratch().await;
    say(&scratch, "60000").await;
    let said = until(&scratch).await;
    let other = says(&scratch, None, None, Some(said - 1)).await;
    assert_eq!((other.0, until(&scratch).await), (None, said));
}

#[tokio::test]
async fn a_quiet_is_said_again_only_when_half_of_it_is_over() {
    let scratch = scratch().await;
    for (left, moves) in [("30000", false), ("15000", false), ("-1", true)] {
        scratch.save(&[message(None, "leased")]).await;
        say(&scratch, left).await;
        let (set, _) = says(&scratch, Some(20_000), Some(40_000), None).await;
        assert_eq!(set.is_some(), moves, "{left}");
    }
    // What finds nothing says nothing.
    scratch.drain().await;
    say(&scratch, "-1").await;
    let (set, _) = says(&scratch, Some(20_000), Some(40_000), None).await;
    assert_eq!(set, None);
}
