//! Long and short runs of one key.

use std::time::Duration;

use outbox::{
    RelayConfig, Save,
    postgres_sqlx::{PostgresConfig, PostgresStore},
    store::{
        ClaimRequest, Entry, LaneFilter, LaneSettlement, OutboxStore, Outcome, Settlement, Target,
    },
};
use sqlx::postgres::PgPoolOptions;

use crate::shop::{Shop, message};

#[tokio::test(flavor = "multi_thread")]
async fn o10_case_2_messages_saved_together_go_out_in_the_order_of_saving_whatever_their_times() {
    let shop = Shop::open().await;
    let mut saved = Vec::new();
    for n in 0..1_000 {
        let pair = [1, 2].map(|place| message("order-1", &format!("{n}.{place}")));
        saved.extend(pair.iter().map(|message| message.id.to_string()));
        let mut tx = shop.begin().await;
        if n % 2 == 0 {
            for message in &pair {
                shop.store.save(&mut tx, message).await.unwrap();
            }
        } else {
            let both = [Save::from(&pair[0]), Save::from(&pair[1])];
            shop.store.save_all(&mut tx, &both).await.unwrap();
        }
        tx.commit().await.unwrap();
    }
    shop.schema
        .run("UPDATE outbox.message SET saved_at = saved_at - random() * interval '1 hour'")
        .await;
    let report = shop.drain(RelayConfig::default()).await;
    assert_eq!(report.published, 2_000);
    assert!(
        shop.broker.received() == saved,
        "not in the order of saving"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn o3_case_4_of_a_batch_of_one_key_one_message_at_a_time_is_in_flight() {
    let shop = Shop::open().await;
    let messages: Vec<_> = (0..10)
        .map(|n| message("order-1", &format!("{n}")))
        .collect();
    shop.save(&messages).await;
    shop.broker.hold_all();
    let config = |name: &str| RelayConfig {
        name: name.into(),
        concurrency: 8,
        batch: 10,
        publish_timeout: Duration::from_secs(19),
        ..RelayConfig::default()
    };
    let holder = shop.start(config("holder")).await;
    shop.begun(1).await;
    for name in ["one", "two"] {
        shop.drain(config(name)).await;
    }
    for n in 0..10 {
        assert_eq!(shop.broker.handed().len(), n + 1, "one at a time");
        shop.broker.let_go(&format!("{n}"));
        shop.begun((n + 2).min(10)).await;
    }
    assert_eq!(holder.stop().await.published, 10);
    assert_eq!(shop.broker.most_in_flight(), 1);
    assert_eq!(shop.broker.received().len(), 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn p2_case_9_a_message_of_a_long_key_costs_no_more_rows_than_one_of_a_short_key() {
    let (short, long) = (long_key(1_000).await, long_key(20_000).await);
    // In turn, so that whatever else is open on the server keeps as many dead rows of both.
    let both = [&short, &long];
    // What stands behind a long key is looked at once, ten thousand rows a claim, to find out whether somebody waits there.
    for round in 0..3 {
        for (_, store) in both {
            publish_a_hundred(store, round).await;
        }
    }
    let mut rows = [0, 0];
    for (rows, (shop, store)) in rows.iter_mut().zip(both) {
        *rows -= rows_read(shop, store).await;
    }
    for round in 3..8 {
        for (_, store) in both {
            publish_a_hundred(store, round).await;
        }
    }
    for (rows, (shop, store)) in rows.iter_mut().zip(both) {
        *rows += rows_read(shop, store).await;
        assert_eq!(shop.status().await.waiting, 0, "none was ever moved");
    }
    let [short, long] = rows;
    // One that looks at everything behind would read twenty times as many.
    assert!(long > 0 && long <= short * 2, "{short} and {long} rows");
}

/// A store with so many messages of one key.
async fn long_key(backlog: usize) -> (Shop, PostgresStore) {
    let shop = Shop::open().await;
    let messages: Vec<_> = (0..backlog)
        .map(|n| message("order-1", &format!("{n}")))
        .collect();
    for messages in messages.chunks(1_000) {
        shop.save(messages).await;
    }
    // On one connection, which can be told to report what it read.
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .connect_lazy_with((*shop.schema.pool.connect_options()).clone());
    let config = PostgresConfig {
        schema: shop.schema.name.clone(),
        ..PostgresConfig::default()
    };
    let store = PostgresStore::open_with(pool, config).await.unwrap();
    (shop, store)
}

/// How many rows and entries of indexes were read in the schema so far.
async fn rows_read(shop: &Shop, store: &PostgresStore) -> i64 {
    let told = sqlx::query("SELECT pg_stat_force_next_flush()").execute(store.pool());
    told.await.unwrap();
    let read = sqlx::query_scalar(
        "SELECT (SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) FROM pg_stat_user_tables WHERE schemaname = $1)::bigint
            + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE schemaname = $1)::bigint",
    );
    let read = read
        .bind(shop.schema.name.as_str())
        .fetch_one(&shop.schema.pool);
    read.await.unwrap()
}

/// Claims and settles the next hundred messages of the key.
async fn publish_a_hundred(store: &PostgresStore, round: usize) {
    let request = ClaimRequest {
        relay: "by hand".into(),
        limit: 100,
        max_bytes: 1 << 20,
        max_lanes: 8,
        lease: Duration::from_mins(1),
        lanes: LaneFilter::All,
        read_on: Vec::new(),
    };
    let claim = store.claim(&request).await.unwrap();
    assert_eq!((claim.lanes.len(), claim.moved), (1, 0));
    let outcomes = claim.entries.iter().enumerate().map(|(n, entry)| {
        let Entry::Message(delivery) = entry else {
            panic!("{entry:?}");
        };
        let id = (round * 100 + n).to_string();
        assert_eq!(delivery.message.id.as_str(), id);
        Settlement {
            target: Target::from(delivery),
            outcome: Outcome::Published,
        }
    });
    let outcomes: Vec<_> = outcomes.collect();
    assert_eq!(outcomes.len(), 100);
    let lane = LaneSettlement {
        token: claim.lanes[0].token.clone(),
        outcomes,
        release: true,
    };
    let settled = store.settle(&[lane]).await.unwrap();
    assert!(!settled[0].lost && settled[0].missed.is_empty());
}
