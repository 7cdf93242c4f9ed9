//! What an outbox asks of the server: notifications, connections, and no word about time zones.

use std::time::Duration;

use outbox::{
    RelayConfig, Save,
    backoff::Backoff,
    postgres_sqlx::{PostgresConfig, PostgresStore, WakeUp},
    publisher::PublishErrorKind::{Rejected, TooLarge},
    store::{DeadFilter, DeadPage, DeadPayload, Due, OutboxOperator},
};
use outbox_testkit::Reply;
use sqlx::{
    Executor,
    postgres::{PgListener, PgPoolOptions},
};

use crate::shop::{Running, Shop, message, until};

async fn waking(wake_up: WakeUp) -> Shop {
    Shop::open_with(PostgresConfig {
        wake_up,
        ..PostgresConfig::default()
    })
    .await
}

/// How many notifications of this outbox were sent since the last look.
async fn notified(shop: &Shop, listener: &mut PgListener) -> usize {
    let end = format!("end of {}", shop.schema.application);
    let tell = sqlx::query("SELECT pg_notify('outbox', $1)").bind(&end);
    tell.execute(&shop.schema.pool).await.unwrap();
    let mut count = 0;
    loop {
        let notification = listener.recv().await.unwrap();
        if notification.payload() == end {
            return count;
        }
        count += usize::from(notification.payload() == shop.schema.name.as_str());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d3_case_25_five_thousand_saves_of_a_transaction_are_one_notification() {
    for (wake_up, told) in [(WakeUp::Notify, 1), (WakeUp::Poll, 0)] {
        let shop = waking(wake_up).await;
        let mut listener = PgListener::connect_with(&shop.schema.pool).await.unwrap();
        listener.listen("outbox").await.unwrap();
        // As a relay says that listens and sleeps.
        shop.schema.count("SELECT setval('outbox.quiet', 1)").await;
        let mut tx = shop.begin().await;
        for n in 0..5_000 {
            let message = message(n % 100, &n.to_string());
            shop.store.save(&mut tx, &message).await.unwrap();
        }
        assert_eq!(
            notified(&shop, &mut listener).await,
            0,
            "not before it commits"
        );
        tx.commit().await.unwrap();
        assert_eq!(notified(&shop, &mut listener).await, told);
        for n in 0..20 {
            let more = ["a", "b", "c"].map(|id| message(id, &format!("{id}{n}")));
            shop.save(&more).await;
        }
        assert_eq!(notified(&shop, &mut listener).await, 20 * told, "one each");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn case_26_relays_have_as_many_server_connections_as_the_page_says() {
    const RELAYS: usize = 4;
    // Each has one connection beside its pool while it listens.
    for (wake_up, beside) in [(WakeUp::Poll, 0), (WakeUp::Notify, 1)] {
        // A relay has something to do for three at a time.
        for (pool, least, most) in [(1, 1, 1), (3, 1, 3)] {
            let shop = waking(wake_up).await;
            let mut relays = Vec::new();
            for n in 0..RELAYS {
                let config = RelayConfig {
                    name: format!("relay-{n}").into(),
                    batch: 10,
                    ..RelayConfig::default()
                };
                let store = shop.store_with(&config.name, pool).await;
                relays.push(Running::start(shop.relay_on(store, config)));
            }
            for round in 0..10 {
                let messages = (0..100).map(|n| message(n, &format!("{round}.{n}")));
                shop.save(&messages.collect::<Vec<_>>()).await;
            }
            shop.begun(1_000).await;
            let sessions = |what: &str| {
                format!(
                    "SELECT count(*) FROM pg_stat_activity WHERE starts_with(application_name, '{}-relay') AND {what}",
                    shop.schema.application
                )
            };
            until("all of them listen that do", async || {
                let listening = shop.schema.count(&sessions("query LIKE 'LISTEN%'")).await;
                listening == i64::try_from(RELAYS * beside).unwrap()
            })
            .await;
            let count = shop.schema.count(&sessions("true")).await;
            let count = usize::try_from(count).unwrap();
            let allowed = RELAYS * (least + beside)..=RELAYS * (most + beside);
            assert!(
                allowed.contains(&count),
                "{count} not in {allowed:?}, {wake_up:?}"
            );
            for relay in relays {
                relay.stop().await;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn case_31_the_time_zone_of_a_relays_sessions_moves_no_time() {
    let shop = Shop::open().await;
    let pool = PgPoolOptions::new()
        .max_connections(4)
        .after_connect(|connection, _| {
            Box::pin(async move {
                connection
                    .execute("SET TIME ZONE 'Pacific/Chatham'")
                    .await?;
                Ok(())
            })
        })
        .connect_lazy_with((*shop.schema.pool.connect_options()).clone());
    let zone: String = sqlx::query_scalar("SHOW TIME ZONE")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert_eq!(zone, "Pacific/Chatham");
    let config = PostgresConfig {
        schema: shop.schema.name.clone(),
        ..PostgresConfig::default()
    };
    let store = PostgresStore::open_with(pool.clone(), config)
        .await
        .unwrap();

    let before = shop.schema.now_ms().await;
    let later = message("later", "later");
    let due = before + 3_600_000;
    let later = Save {
        due: Some(Due::AtUnixMs(due)),
        ..Save::from(&later)
    };
    let (refused, dead) = (message("refused", "refused"), message("dead", "dead"));
    let mut tx = pool.begin().await.unwrap();
    let saves = [later, Save::from(&refused), Save::from(&dead)];
    store.save_all(&mut tx, &saves).await.unwrap();
    tx.commit().await.unwrap();
    shop.broker.on("refused", [Reply::Fail(Rejected)]);
    shop.broker.on("dead", [Reply::Fail(TooLarge)]);
    let relay = RelayConfig {
        backoff: Backoff::fixed(Duration::from_mins(1)),
        ..RelayConfig::default()
    };
    let report = shop
        .relay_on(store.clone(), relay.clone())
        .drain()
        .await
        .unwrap();
    let after = shop.schema.now_ms().await;
    assert_eq!((report.retried, report.dead, report.published), (1, 1, 0));

    // Milliseconds are rounded: one more or less.
    let within = |time: i64, delay: i64| (before + delay - 1..=after + delay + 1).contains(&time);
    let ms = |column: &str, table: &str| {
        format!("SELECT (extract(epoch FROM {column}) * 1000)::bigint FROM outbox.{table}")
    };
    assert_eq!(shop.schema.count(&ms("due_at", "scheduled")).await, due);
    assert!(within(
        shop.schema.count(&ms("until", "blocked_key")).await,
        60_000
    ));
    let page = DeadPage {
        filter: DeadFilter::default(),
        after: None,
        upto: None,
        limit: 10,
    };
    let letters = store.dead_letters(&page, DeadPayload::Omit).await.unwrap();
    assert!(within(letters[0].saved_at_ms, 0) && within(letters[0].died_at_ms, 0));
    let next_due = store.status().await.unwrap().next_due.unwrap();
    assert!(next_due <= Duration::from_mins(1), "{next_due:?}");

    shop.schema.advance(Duration::from_secs(61)).await;
    shop.relay_on(store.clone(), relay.clone())
        .drain()
        .await
        .unwrap();
    assert_eq!(shop.broker.received(), ["refused"]);
    shop.schema.advance(Duration::from_hours(1)).await;
    shop.relay_on(store, relay).drain().await.unwrap();
    assert_eq!(shop.broker.received(), ["refused", "later"]);
}
